"""What was accepted is found again: the client always gets its id, and sending it twice does not run it twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from executor.daemon.control import Running
from executor.settings import Settings
from executor.surfaces.cli import follow
from executor.surfaces.cli.client import Client
from tests.support import daemon as processes
from tests.support.conditions import wait_for
from tests.support.tool_results import about
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon
from tests.surfaces.api.identities import Caller, agent, anonymous, operator

LIMIT = 60.0
SAME = ("executionId", "status", "result", "createdAt")
CHANGES: list[dict[str, Any]] = [
    {"code": "return 2"},
    {"language": "python"},
    {"timeoutMs": 5000},
    {"typecheck": "off"},
]
CODES = {"typescript": "console.log('once'); return 1 + 1", "python": "print('once')\nreturn 1 + 1"}
SLOW = {
    "typescript": "await new Promise(done => setTimeout(done, 250000)); return 1",
    "python": "import asyncio\nawait asyncio.sleep(250)\nreturn 1",
}


def submit(caller: Caller, code: str, key: str, **body: Any) -> Answer:
    return caller.post("/v1/executions", {"code": code, **body}, **{"Idempotency-Key": key})


def submit_over_mcp(caller: Caller, code: str, meta: dict[str, Any], version: str = "2025-11-25", **more: str) -> Any:
    """Without a version the SDK answers, with one the daemon itself."""
    headers = {"Accept": "application/json, text/event-stream"}
    if version:
        headers["MCP-Protocol-Version"] = version
    params = {"name": "execute", "arguments": {"code": code, **more}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answered = caller.post("/mcp", message, **headers)
    assert answered.status == 200, answered.body
    return about(answered.json["result"])


def count_executions(daemon: Daemon) -> int:
    return len(operator(daemon).get("/v1/executions?limit=500").json["items"])


@pytest.mark.parametrize("language", CODES)
def test_the_same_key_finds_the_same_execution(daemon: Daemon, language: str) -> None:
    caller = agent(daemon, f"again in {language}")
    before = count_executions(daemon)
    first, second = (submit(caller, CODES[language], "one", language=language) for _ in range(2))
    assert (first.status, second.status) == (201, 201)
    assert [second.json[name] for name in SAME] == [first.json[name] for name in SAME]
    assert (first.headers.get("idempotent-replayed"), second.headers["idempotent-replayed"]) == (None, "true")
    assert submit(caller, CODES[language], "two", language=language).json["executionId"] != first.json["executionId"]
    assert count_executions(daemon) == before + 2


@pytest.mark.parametrize("name", ["executor/idempotencyKey", "idempotencyKey"])
@pytest.mark.parametrize("version", ["2025-11-25", ""], ids=["plain", "sdk"])
def test_a_key_holds_over_mcp_and_over_http(daemon: Daemon, name: str, version: str) -> None:
    caller = agent(daemon, f"over mcp {name} {version}")
    first = submit_over_mcp(caller, "return 5", {name: "k1"}, version)
    assert submit_over_mcp(caller, "return 5", {name: "k1"}, version)["executionId"] == first["executionId"]
    assert submit(caller, "return 5", "k1").json["executionId"] == first["executionId"]
    reused = submit_over_mcp(caller, "return 6", {name: "k1"}, version)
    assert (reused["error"]["code"], reused["executionId"]) == ("idempotency_key_reused", first["executionId"])
    wrong = submit_over_mcp(caller, "return 5", {name: 7}, version)
    assert wrong["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_is_for_one_submission_only(daemon: Daemon, change: dict[str, Any]) -> None:
    caller = agent(daemon, f"reuses {change}")
    first = submit(caller, "return 1", "same")
    refused = caller.post("/v1/executions", {"code": "return 1", **change}, **{"Idempotency-Key": "same"})
    assert (refused.status, refused.json["code"]) == (422, "idempotency_key_reused")
    assert refused.json["executionId"] == first.json["executionId"]
    assert submit(caller, "return 1", "same", wait=1, result="preview").json["executionId"] == first.json["executionId"]


def test_a_key_belongs_to_the_actor_who_used_it(daemon: Daemon) -> None:
    """Nobody finds another's execution by guessing its key."""
    mine = submit(agent(daemon, "owner of a key"), "return 'MINE'", "shared").json
    for other in (agent(daemon, "guesser"), anonymous(daemon), operator(daemon)):
        theirs = submit(other, "return 'MINE'", "shared").json
        assert theirs["executionId"] != mine["executionId"]


@pytest.mark.parametrize("key", ["", "a b", "k" * 256, "naïve"])
def test_a_key_that_is_none_is_refused(daemon: Daemon, key: str) -> None:
    refused = submit(agent(daemon, f"odd {key[:9]}"), "return 1", key)
    assert (refused.status, refused.json["code"]) == (400, "invalid_request")


def test_many_at_once_with_one_key_start_one_execution(daemon: Daemon) -> None:
    caller = agent(daemon, "impatient")
    before = count_executions(daemon)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: submit(caller, "return 1", "raced"), range(24)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.json["executionId"] for answer in answers}) == 1
    assert count_executions(daemon) == before + 1


def test_a_key_survives_a_kill(tmp_path: Path) -> None:
    """Written in the transaction that makes the execution: never one without the other."""
    process = processes.Daemon(tmp_path, EXECUTOR_WORKERS="1")

    def submit_all() -> list[str]:
        bodies = [{"code": code, "language": language, "wait": 0} for language, code in SLOW.items()]
        submitted = [process.request("POST", "/v1/executions", body, key=body["language"]) for body in bodies]
        return [view["executionId"] for view in submitted]

    try:
        process.start()
        first = submit_all()
        process.kill()
        process.start()
        assert submit_all() == first
        assert len(process.get("/v1/executions")["items"]) == len(SLOW)
    finally:
        process.kill()


def test_anyone_who_waits_when_the_daemon_stops_gets_the_id(tmp_path: Path) -> None:
    answers: dict[str, Any] = {}
    with running_daemon(tmp_path) as daemon:
        caller = Caller(daemon, "agent", daemon.tokens.agent)
        asks: dict[str, Callable[[], Any]] = {
            "http": lambda: caller.post("/v1/executions", {"code": SLOW["typescript"], "wait": 600}).json,
            "python": lambda: (
                caller.post("/v1/executions", {"code": SLOW["python"], "language": "python", "wait": 600}).json
            ),
            "mcp": lambda: submit_over_mcp(caller, SLOW["typescript"], {}),
            "sdk": lambda: submit_over_mcp(caller, SLOW["typescript"], {}, ""),
            "keyed": lambda: submit(caller, SLOW["typescript"], "k", wait=600).json,
        }
        threads = [
            threading.Thread(target=lambda name=name, ask=ask: answers.update({name: ask()}))  # type: ignore[misc]
            for name, ask in asks.items()
        ]
        for thread in threads:
            thread.start()
        wait_for(lambda: daemon.app.state.streams.waits.count == len(asks), LIMIT)
    for thread in threads:
        thread.join(LIMIT)
    assert {name: answer["status"] for name, answer in answers.items()} == dict.fromkeys(asks, "running")
    assert len({answer["executionId"] for answer in answers.values()}) == len(asks)


class Forgetful(BaseHTTPRequestHandler):
    """Drops the connection after the first submission, as a daemon that is killed does."""

    keys: list[str | None]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(self.headers.get("Idempotency-Key"))
        if len(self.keys) == 1:
            self.close_connection = True
            return
        body = json.dumps({"executionId": "exec_1", "status": "completed", "result": 2}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def forgetful() -> Iterator[ThreadingHTTPServer]:
    Forgetful.keys = []
    Forgetful.protocol_version = "HTTP/1.1"
    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join(LIMIT)


def test_the_command_line_asks_again_with_the_same_key(
    forgetful: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(1, "127.0.0.1", forgetful.server_port, "", "")

    def connect(settings: Settings) -> Client:
        return Client(settings, running, "exo_none")

    monkeypatch.setattr(follow, "connect", connect)
    follower = follow.ExecutionFollower(connect(Settings.load({})), as_json=True, ask=False)
    assert follower.run({"code": "return 2"})["executionId"] == "exec_1"
    follower.client.close()
    assert len(Forgetful.keys) == 2
    assert Forgetful.keys[0] and Forgetful.keys[0] == Forgetful.keys[1]
