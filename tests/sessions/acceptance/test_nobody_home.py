"""A permission request that no one answers, or that several answer, or whose answer is on its way when the daemon is
killed: one outcome, and nothing waits for ever."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.acceptance.sizes import size
from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.sessions import ENDED, Session, wait_for

ANSWER_SECONDS = 2


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "daemon").mkdir()
    (tmp_path / "work").mkdir()
    daemon = Daemon(
        tmp_path / "daemon",
        EXECUTOR_SESSION_PROMPTS_PER_MINUTE="9999",
        EXECUTOR_SESSION_ANSWER_SECONDS=str(ANSWER_SECONDS),
    )
    daemon.start()
    yield daemon
    daemon.stop()


def test_several_requests_at_once_one_of_a_subagent_expire_and_the_task_ends(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path / "work", unattended="deny")
    task = session.send({"parallel": 3}, {"say": "still here"})
    wait_for(lambda: len(session.messages("permission")) == 3, "three requests")
    assert session.end_of(task)["status"] == "completed"
    assert "still here" in session.text().replace("  ", " ")
    assert [one["data"]["status"] for one in session.messages("permission")] == ["expired"] * 3
    assert "chosen=['no',  'no',  'no']" in session.text() or "once" not in session.text()
    for record in session.messages("permission"):
        for answer in ("approve", "deny"):
            with pytest.raises(Refused, match="has expired"):
                daemon.post(f"/v1/interactions/{record['id']}/{answer}")


def test_an_answer_at_the_moment_of_expiry_counts_or_is_refused_and_never_both(
    daemon: Daemon, tmp_path: Path, record_property: Any
) -> None:
    """Two clients answer around the end of its time: the agent, transcript and audit log agree on one outcome."""
    work, outcomes = tmp_path / "work", Counter[str]()
    for number in range(size(4, 20)):
        session = Session(daemon, work, unattended="deny")
        task = session.send({"bash": f"echo x >> times-{number}"})
        asked = session.asked()
        due = asked["expiresAt"] if isinstance(asked["expiresAt"], int | float) else None
        ends = due / 1000 if due else time.time() + ANSWER_SECONDS
        ends += random.Random(number).uniform(-0.3, 0.1)
        wait_for(lambda ends=ends: time.time() > ends, "the moment")

        def answer(verb: str, asked: Any = asked) -> int:
            try:
                daemon.post(f"/v1/interactions/{asked['id']}/{verb}")
            except Refused:
                return 0
            return 1

        with ThreadPoolExecutor(2) as clients:
            counted = sum(clients.map(answer, ("approve", "deny")))
        assert session.end_of(task)["status"] == "completed"
        decided = daemon.get(f"/v1/interactions/{asked['id']}")
        [record] = session.messages("permission")
        assert record["data"]["status"] == decided["status"] in ("approved", "denied", "expired")
        assert counted == (decided["status"] != "expired")
        assert (work / f"times-{number}").exists() == (decided["status"] == "approved")
        events = daemon.get("/v1/events?limit=1000")["items"]
        settled = [one for one in events if (one.get("data") or {}).get("interactionId") == asked["id"]]
        assert len([one for one in settled if not one["type"].endswith("requested")]) <= 1
        outcomes[decided["status"]] += 1
        daemon.post(f"{session.path}/stop")
    record_property("outcomes", dict(outcomes))


def test_a_daemon_killed_between_an_answer_and_its_delivery_grants_at_most_once(
    daemon: Daemon, tmp_path: Path, record_property: Any
) -> None:
    work, chance, outcomes = tmp_path / "work", random.Random(5), Counter[str]()
    for number in range(size(3, 20)):
        session = Session(daemon, work)
        task = session.send({"bash": f"echo x >> times-{number}"}, {"hang": True})
        asked = session.asked()
        with ThreadPoolExecutor(1) as client:
            answering = client.submit(approve, daemon, asked["id"])
            time.sleep(chance.uniform(0, 0.03))
            daemon.kill()
            answering.result()
        daemon.start()
        wait_for(lambda session=session, task=task: session.task(task)["status"] in ENDED, "the end of the task")
        decided = daemon.get(f"/v1/interactions/{asked['id']}")["status"]
        [record] = session.messages("permission")
        assert record["data"]["status"] == decided in ("approved", "cancelled", "expired")
        made = work / f"times-{number}"
        assert not made.exists() or (made.read_text() == "x\n" and decided == "approved")
        with pytest.raises(Refused):
            daemon.post(f"/v1/interactions/{asked['id']}/approve")
        assert session.prompt("continue")["status"] == "completed"
        outcomes[f"{decided}, {'run' if made.exists() else 'not run'}"] += 1
        daemon.post(f"{session.path}/stop")
    record_property("outcomes", dict(outcomes))


def approve(daemon: Daemon, interaction: str) -> None:
    with suppress(Refused, *DOWN):
        daemon.post(f"/v1/interactions/{interaction}/approve")
