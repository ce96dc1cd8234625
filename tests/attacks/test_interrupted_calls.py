"""Attacks 81 and 82: a call that was under way when the daemon was killed goes out again as another call.

One daemon is killed twice. Every source of it is a part of one bank that takes the first request of each and never
answers it, so that all calls are under way at the moment of the kill.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon

ALICE, MALLORY = "Tok3n-ALICE-9f8e7d6c5b", "Tok3n-MALLORY-000000"
KEY = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
BODY = {"content": {"application/json": {"schema": {"type": "object", "properties": {"to": {"type": "string"}}}}}}
DONE = {"200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}}
CODE = {
    "typescript": "return await tools.%s.m.%s({to: 'bob'})",
    "python": "return await tools.%s.m.%s(to='bob')",
}


class Bank:
    """`moved` namespaces are served at another address from then on."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.taken: list[tuple[str, str, str]] = []  # namespace and operation, token, idempotency key
        self.moved: set[str] = set()
        self.open = threading.Event()

    def __call__(self, got: Got, handler: Handler) -> Reply | None:
        namespace, _, rest = got.target.strip("/").removeprefix("elsewhere/").partition("/")
        if rest == "openapi.json":
            return as_json(self.document(namespace))
        token = got.headers.get("authorization", "").removeprefix("Bearer ")
        self.taken.append((f"{namespace}.{rest.partition('?')[0]}", token, got.headers.get("idempotency-key", "")))
        if self.count(namespace) == 1 and not self.open.is_set():
            self.open.wait(120)
            return None
        return as_json({"done": self.count(namespace)})

    def count(self, namespace: str) -> int:
        return sum(what.startswith(f"{namespace}.") for what, _, _ in self.taken)

    def document(self, namespace: str) -> dict[str, Any]:
        base = f"{self.upstream.url}/elsewhere/{namespace}" if namespace in self.moved else self.url_of(namespace)

        def operation(name: str, **more: Any) -> dict[str, Any]:
            return {"tags": ["m"], "operationId": name, "responses": DONE, "security": [{"token": []}], **more}

        to = {"name": "to", "in": "query", "schema": {"type": "string"}}
        return {
            "openapi": "3.1.0",
            "info": {"title": namespace, "version": "1"},
            "servers": [{"url": base}],
            "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
            "paths": {
                "/transfer": {"post": operation("transfer", requestBody=BODY, parameters=[KEY])},
                "/entry": {"post": operation("entry", requestBody=BODY)},
                "/balance": {"get": operation("balance", parameters=[to])},
            },
        }

    def url_of(self, namespace: str) -> str:
        return f"{self.upstream.url}/{namespace}"


class Scene:
    def __init__(self, daemon: Daemon, bank: Bank) -> None:
        self.daemon = daemon
        self.bank = bank
        self.executions: dict[str, str] = {}

    def connect(self, namespace: str) -> None:
        location = f"{self.bank.url_of(namespace)}/openapi.json"
        self.daemon.post("/v1/sources", {"location": location, "namespace": namespace, "kind": "openapi"})
        self.daemon.post("/v1/connections", {"source": namespace, "values": {"token": ALICE}})

    def replace_credential(self, namespace: str) -> None:
        self.daemon.post("/v1/connections", {"source": namespace, "values": {"token": MALLORY}, "replace": True})

    def allow(self, pattern: str) -> str:
        return str(self.daemon.post("/v1/policies", {"pattern": pattern, "action": "allow"})["id"])

    def begin(self, calls: dict[str, str], *, python: tuple[str, ...] = ()) -> None:
        """All at once, until the bank has every call and answers none."""
        for namespace, operation in calls.items():
            language = "python" if namespace in python else "typescript"
            body = {"code": CODE[language] % (namespace, operation), "language": language, "wait": 0}
            self.executions[namespace] = str(self.daemon.post("/v1/executions", body)["executionId"])
        for namespace in calls:
            wait_for(lambda name=namespace: self.bank.count(name) or self.pending_interactions(name), seconds=120)
            for interaction in self.pending_interactions(namespace):
                self.daemon.post(f"/v1/interactions/{interaction['id']}/approve")
        wait_for(lambda: all(self.bank.count(namespace) for namespace in calls), seconds=120)

    def pending_interactions(self, namespace: str) -> list[Any]:
        page = self.daemon.get(f"/v1/interactions?status=pending&executionId={self.executions[namespace]}")
        return list(page["items"])

    def restart(self) -> None:
        self.daemon.kill()
        self.daemon.start()

    def wait_until_settled(self, namespace: str) -> Any:
        """The execution once it has ended or asks."""

        def look() -> Any:
            found = self.daemon.get(f"/v1/executions/{self.executions[namespace]}")
            return found if found["status"] not in ("running", "queued") else None

        return wait_for(look)

    def kind_of_interaction(self, namespace: str) -> str:
        found = self.wait_until_settled(namespace)
        assert found["status"] == "paused", (namespace, found, self.bank.taken)
        return str(self.pending_interactions(namespace)[0]["kind"])


@contextmanager
def scene(root: Path) -> Iterator[Scene]:
    daemon = Daemon(root, EXECUTOR_WORKERS="1", EXECUTOR_TYPECHECK="off")
    with serving() as upstream:
        bank = Bank(upstream)
        upstream.otherwise = bank
        daemon.start()
        try:
            yield Scene(daemon, bank)
        finally:
            bank.open.set()
            daemon.stop()


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """After a kill during which credentials and destinations changed, and no policy."""
    with scene(tmp_path_factory.mktemp("killed")) as played:
        names = ("same", "other", "python", "moved", "ruled", "entry", "rules", "reads", "readsame", "readmoved")
        for namespace in names:
            played.connect(namespace)
        for pattern in ("rules.**", "ruled.**"):
            played.allow(pattern)
        writes = dict.fromkeys(("same", "other", "python", "moved", "ruled", "rules"), "transfer")
        reads = dict.fromkeys(("reads", "readsame", "readmoved"), "balance")
        played.begin({**writes, "entry": "entry", **reads}, python=("python", "reads"))
        for namespace in ("other", "python", "ruled", "reads"):
            played.replace_credential(namespace)
        for namespace in ("moved", "readmoved"):
            played.bank.moved.add(namespace)
            played.daemon.post(f"/v1/sources/{namespace}/refresh")
        played.restart()
        yield played


@pytest.mark.parametrize("namespace", ["same", "rules", "readsame"])
def test_81_a_call_that_is_still_the_same_goes_on_under_its_key(after: Scene, namespace: str) -> None:
    """What the defence must not break: an idempotent write, approved or allowed, and a read."""
    assert after.wait_until_settled(namespace)["status"] == "completed"
    sent = [one for one in after.bank.taken if one[0].startswith(f"{namespace}.")]
    assert len(sent) == 2
    assert sent[0] == sent[1]


@pytest.mark.parametrize("namespace", ["other", "python", "moved", "ruled", "entry"])
def test_81_a_write_is_not_sent_again_as_another_call(after: Scene, namespace: str) -> None:
    """Defence: `ApprovalRequests.judge_sent` compares the binding, or the journalled route of what no human
    approved."""
    assert after.kind_of_interaction(namespace) == "unknown_outcome"
    assert after.bank.count(namespace) == 1


def test_81_a_read_is_asked_about_before_it_goes_out_with_another_credential(after: Scene) -> None:
    """Defence: the route in `ApprovalRequests._is_same`."""
    assert after.kind_of_interaction("reads") == "approval"
    assert after.bank.count("reads") == 1
    assert MALLORY not in json.dumps(after.bank.taken)


def test_81_a_read_of_a_tool_that_has_moved_is_not_sent_again(after: Scene) -> None:
    """Defence: the digest of the tool, which holds its address."""
    assert after.wait_until_settled("readmoved")["error"]["code"] == "tool_changed"
    assert after.bank.count("readmoved") == 1


def test_81_a_result_or_another_try_settles_what_was_lost(after: Scene) -> None:
    """Sent again only because a human says so; or not at all, with the result that the human knows."""
    assert after.kind_of_interaction("entry") == "unknown_outcome"
    asked = after.pending_interactions("entry")[0]
    after.daemon.post(f"/v1/interactions/{asked['id']}/approve", {"result": {"done": "seen at the bank"}})
    assert after.wait_until_settled("entry")["result"] == {"done": "seen at the bank"}
    assert after.bank.count("entry") == 1


def test_82_policies_that_became_stricter_hold_for_calls_under_way(tmp_path: Path) -> None:
    """Defence: the policy revision in the binding, and `Admissions.admit` for what a policy allowed."""
    with scene(tmp_path) as played:
        for namespace in ("approved", "allowed", "reads", "denied"):
            played.connect(namespace)
        allowing = played.allow("allowed.**")
        calls = {"approved": "transfer", "allowed": "transfer", "reads": "balance", "denied": "balance"}
        played.begin(calls, python=("allowed",))
        played.daemon.request("DELETE", f"/v1/policies/{allowing}")
        for pattern in ("approved.**", "reads.**"):
            played.daemon.post("/v1/policies", {"pattern": pattern, "action": "require_approval"})
        played.daemon.post("/v1/policies", {"pattern": "denied.**", "action": "deny"})
        played.restart()
        assert played.kind_of_interaction("approved") == "unknown_outcome"
        assert played.kind_of_interaction("allowed") == "unknown_outcome"
        assert played.kind_of_interaction("reads") == "approval"
        assert played.wait_until_settled("denied")["error"]["code"] == "denied"
        assert len(played.bank.taken) == 4
