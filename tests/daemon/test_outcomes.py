"""One outcome each on several replicas: of decisions made at once, and of commits whose answer is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.commit_proxy import CommitProxy
from tests.support.conditions import wait_for
from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.decisions import contest
from tests.support.ledger import running_ledger

ENTRY = "await tools.ledger.entries.addEntry({key: '%s'}); return 'done'"
TRANSFER = "await tools.ledger.transfers.transfer({key: '%s'}); return 'done'"


@pytest.fixture(scope="module")
def proxy() -> Iterator[CommitProxy]:
    made = CommitProxy(postgres.server())
    yield made
    made.close()


@pytest.fixture(scope="module")
def effects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("upstream") / "effects"
    file.touch()
    return file


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, proxy: CommitProxy, effects: Path) -> Iterator[Cluster]:
    """Three replicas that also run code."""
    root, execute = tmp_path_factory.mktemp("cluster"), {"EXECUTOR_SERVER_AUTO_EXECUTE": "true"}
    made = Cluster(root, proxy, apis=3, workers=0, lease=15, **execute)  # type: ignore[arg-type]
    with running_ledger(effects) as address:
        try:
            made.start()
            made.apis[0].post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "ledger"})
            made.apis[0].post("/v1/policies", {"pattern": "ledger.entries.*", "action": "allow"})
            yield made
        finally:
            made.stop()


def test_of_decisions_and_expiry_at_once_one_counts(cluster: Cluster, effects: Path) -> None:
    effects.write_text("")
    outcomes = contest(cluster, 30, effects, random.Random(5))
    assert outcomes["interaction.approved"] + outcomes["interaction.denied"] > 0


def insist(api: Daemon, path: str, body: Any, key: str = "") -> Any:
    """Again, until there is an answer that says what is."""

    def answer() -> Any:
        try:
            return api.request("POST", path, body, key=key)
        except Refused as error:
            assert error.status in (409, 500, 503), error
            return error.problem if error.status == 409 else None
        except DOWN:
            return None

    return wait_for(answer, f"an answer to {path}")


def count(effects: Path, key: str) -> int:
    return effects.read_text().count(f'"{key}"')


def outcome(api: Daemon, execution_id: str) -> Any:
    """Once it has ended or is paused."""

    def look() -> Any:
        found = api.get(f"/v1/executions/{execution_id}?wait=60")
        return found if found["status"] in ("paused", "completed", "failed") else None

    return wait_for(look, "an outcome")


@pytest.mark.parametrize("reaches", [True, False])
def test_a_submission_whose_commit_was_not_answered_runs_once(
    cluster: Cluster, proxy: CommitProxy, reaches: bool
) -> None:
    api, name = cluster.apis[0], f"submitted-{reaches}"
    proxy.lose(f"key-{name}", reaches=reaches)
    made = insist(
        api, "/v1/executions", {"code": f"const name = '{name}'; return 'done'", "wait": 0}, key=f"key-{name}"
    )
    assert proxy.lost.is_set()
    assert outcome(cluster.apis[1], made["executionId"])["result"] == "done"
    alike = cluster.query(f"SELECT count(*) FROM executions WHERE code LIKE '%{name}%'")  # noqa: S608 - own names
    assert alike == [(1,)]


@pytest.mark.parametrize("reaches", [True, False])
def test_an_approval_whose_commit_was_not_answered_counts_once(
    cluster: Cluster, proxy: CommitProxy, effects: Path, reaches: bool
) -> None:
    api, name = cluster.apis[0], f"approved-{reaches}"
    paused = api.post("/v1/executions", {"code": TRANSFER % name, "wait": 60})
    [asked] = paused["interactions"]
    proxy.lose(asked["id"], reaches=reaches)
    insist(cluster.apis[1], f"/v1/interactions/{asked['id']}/approve", {})
    assert proxy.lost.is_set()
    assert outcome(cluster.apis[2], paused["executionId"])["result"] == "done"
    assert count(effects, name) == 1


@pytest.mark.parametrize("reaches", [True, False])
@pytest.mark.parametrize("text", ['"key":"%s"', '"kind": "entries", "key": "%s"'], ids=["started", "answered"])
def test_a_write_whose_journal_was_not_answered_is_sent_once_or_asked_about(
    cluster: Cluster, proxy: CommitProxy, effects: Path, text: str, reaches: bool
) -> None:
    """A start that was not committed was not sent, and is sent then; an answer that was committed is known."""
    api, is_answer = cluster.apis[0], "kind" in text
    name = f"written-{is_answer}-{reaches}"
    proxy.lose(text % name, reaches=reaches)
    execution_id = insist(api, "/v1/executions", {"code": ENTRY % name, "wait": 0}, key=name)["executionId"]
    wait_for(proxy.lost.is_set, "the answer is lost")
    found = outcome(api, execution_id)
    if is_answer == reaches:
        assert (found["status"], count(effects, name)) == ("completed", 1)
    else:
        assert [one["kind"] for one in found["interactions"]] == ["unknown_outcome"], found
        assert count(effects, name) == int(is_answer)
        api.post(f"/v1/executions/{execution_id}/cancel")
