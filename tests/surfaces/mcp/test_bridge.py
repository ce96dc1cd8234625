"""`executor mcp` line by line: who it is, whom it reaches, and what it answers by itself."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any, ClassVar

import pytest

from executor.daemon import control as process
from executor.identity.local_tokens import save_agent_token
from executor.settings import Settings
from executor.surfaces.mcp import stdio
from executor.surfaces.mcp.handshake import HANDSHAKE_VERSIONS, MODERN_VERSION, opening_result
from executor.surfaces.mcp.stdio_request import Request
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_upstream
from tests.surfaces.mcp.conftest import operator

META = "io.modelcontextprotocol/"
CLIENT = {"name": "test", "version": "1"}
MODERN = {
    "_meta": {f"{META}protocolVersion": MODERN_VERSION, f"{META}clientInfo": CLIENT, f"{META}clientCapabilities": {}}
}
COMMAND = [sys.executable, "-P", "-m", "executor", "mcp"]
HEAVY = ("asyncio", "mcp", "mcp_types", "pydantic", "httpx2", "starlette", "fastapi", "sqlalchemy", "orjson")


def message(method: str, number: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def initialize(version: str = "2025-11-25", number: Any = 1) -> dict[str, Any]:
    return message("initialize", number, protocolVersion=version, capabilities={}, clientInfo=CLIENT)


def execute(code: str, number: Any = 1, **params: Any) -> dict[str, Any]:
    return message("tools/call", number, name="execute", arguments={"code": code}, **params)


@dataclass
class Bridge:
    process: subprocess.Popen[bytes]

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for one in messages:
            self.process.stdin.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the bridge ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, sent: dict[str, Any]) -> dict[str, Any]:
        self.send(sent)
        answer = self.receive()
        assert answer["id"] == sent["id"]
        return answer

    def rest(self) -> list[dict[str, Any]]:
        """Everything that is still answered after the input has ended."""
        out, _ = self.process.communicate(timeout=60)
        return [json.loads(line) for line in out.splitlines()]


@contextmanager
def bridge(environment: dict[str, str], *options: str) -> Iterator[Bridge]:
    with subprocess.Popen([*COMMAND, *options], env=environment, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as started:
        try:
            yield Bridge(started)
        finally:
            started.kill()


def newest(environment: dict[str, str]) -> dict[str, Any]:
    shown: dict[str, Any] = operator(environment, "executions", "list", "--limit", "1")["items"][0]
    return shown


def who_runs(environment: dict[str, str], client: Bridge) -> tuple[str, str]:
    """As which actor, and through what, according to the daemon of `environment`."""
    mark = secrets.token_hex(8)
    assert client.ask(execute(f'return "{mark}"'))["result"]["content"][0]["text"] == f'"{mark}"'
    ran = newest(environment)
    assert mark in ran["preview"]
    return ran["actor"], ran["through"]


@pytest.fixture
def running(environment: dict[str, str]) -> dict[str, str]:
    operator(environment, "up")
    return environment


@pytest.fixture
def nobody(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """An installation without a daemon, and none that could be started."""
    return {**environment, "EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(tmp_path / "state")}


def test_the_handshake_imports_nothing_heavy_and_starts_no_daemon(nobody: dict[str, str]) -> None:
    opening = [
        initialize(number=1),
        message("server/discover", 2, **MODERN),
        message("tools/list", 3),
        message("ping", 4),
    ]
    lines = "".join(json.dumps(one) + "\n" for one in opening)
    command = [sys.executable, "-X", "importtime", *COMMAND[1:]]
    done = subprocess.run(command, env=nobody, input=lines, capture_output=True, text=True, timeout=60, check=False)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {answer["id"] for answer in map(json.loads, done.stdout.splitlines())} == {1, 2, 3, 4}
    assert "executor.surfaces.mcp.stdio" in imported
    assert not imported & set(HEAVY)
    assert not Path(nobody["EXECUTOR_DATA_DIR"]).exists()


def test_the_handshake_with_a_running_daemon_imports_nothing_heavy(running: dict[str, str]) -> None:
    lines = json.dumps(initialize()) + "\n" + json.dumps(execute("return 1", 2)) + "\n"
    command = [sys.executable, "-X", "importtime", *COMMAND[1:]]
    done = subprocess.run(command, env=running, input=lines, capture_output=True, text=True, timeout=60, check=False)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert len(done.stdout.splitlines()) == 2
    assert not imported & set(HEAVY)


@pytest.mark.parametrize("version", [HANDSHAKE_VERSIONS[0], HANDSHAKE_VERSIONS[-1]])
def test_initialize_is_accepted_after_server_discover(
    running: dict[str, str], nobody: dict[str, str], version: str
) -> None:
    for environment in (nobody, running):
        with bridge(environment) as client:
            probed = client.ask(message("server/discover", "probe", **MODERN))
            opened = client.ask(initialize(version, 0))
            client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            listed = client.ask(message("tools/list", 2))
        assert probed["result"]["supportedVersions"] == [MODERN_VERSION]
        assert opened["result"]["protocolVersion"] == version
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["execute", "resume"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        *(("initialize", initialize(version)["params"]) for version in (*HANDSHAKE_VERSIONS, "2020-01-01")),
        ("server/discover", MODERN),
        ("tools/list", MODERN),
        ("tools/list", {}),
        ("ping", {}),
    ],
)
def test_the_bridge_opens_as_the_daemon_does(daemon: Daemon, method: str, params: dict[str, Any]) -> None:
    """But for the instructions, which may name what is connected when a daemon gives them."""
    sent = Request(json.dumps(message(method, 1, **params)).encode())
    agreed = "" if method == "initialize" else "2025-11-25"
    answer = daemon.post("/mcp", sent.body, headers=sent.headers(agreed)).json["result"]
    opening = sent.opening(agreed)
    assert opening is not None
    assert {**answer, "instructions": ""} == {**opening, "instructions": ""}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", {}),
        ("initialize", {"protocolVersion": 7}),
        ("initialize", MODERN),
        ("ping", MODERN),
        ("server/discover", {"_meta": {f"{META}protocolVersion": "2099-01-01"}}),
        ("tools/list", {"_meta": {f"{META}protocolVersion": None}}),
        ("tools/call", {"name": "execute"}),
        ("resources/list", {}),
    ],
)
def test_what_only_a_daemon_can_judge_is_left_to_it(method: str, params: dict[str, Any]) -> None:
    assert opening_result(method, params) is None


def test_a_daemon_that_hangs_does_not_keep_a_client_from_its_tools(running: dict[str, str]) -> None:
    daemon = process.find(Settings.load(running))
    assert daemon is not None
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        with bridge(running) as client:
            opened = client.ask(initialize())
            listed = client.ask(message("tools/list", 2))
            client.send(execute("return 5", 3))
            os.kill(daemon.pid, signal.SIGCONT)
            ran = client.receive()
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    assert opened["result"]["serverInfo"]["name"] == "executor"
    assert len(listed["result"]["tools"]) == 2
    assert ran["result"]["content"][0]["text"] == "5"


@pytest.mark.parametrize(
    "strange",
    [
        {},
        {"HOME": "/nonexistent", "XDG_STATE_HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"},
        {"EXECUTOR_DATA_DIR": "/nonexistent", "EXECUTOR_STATE_DIR": "/nonexistent", "EXECUTOR_PORT": "no port"},
        {"EXECUTOR_CONFIG": "/nonexistent/config.toml"},
    ],
)
def test_the_options_name_the_daemon_whatever_the_environment_is(
    running: dict[str, str], strange: dict[str, str]
) -> None:
    settings = Settings.load(running)
    options = ["--data-dir", str(settings.data_dir), "--state-dir", str(settings.state_dir)]
    started = process.find(settings)
    with bridge(strange, *options, "--config", str(settings.config_file), "--port", "0") as client:
        assert who_runs(running, client) == ("agent", "mcp")
    assert process.find(settings) == started


def test_a_daemon_that_must_be_started_gets_the_port_of_the_options(nobody: dict[str, str]) -> None:
    data = Path(nobody["EXECUTOR_DATA_DIR"])
    bare = {name: value for name, value in nobody.items() if not name.startswith("EXECUTOR_")}
    bare["EXECUTOR_WORKERS"] = "1"
    others = dict.fromkeys(("EXECUTOR_STATE_DIR", "EXECUTOR_CONFIG", "EXECUTOR_DATA_DIR"), "/nonexistent/of-another")
    try:
        with bridge({**bare, **others, "EXECUTOR_PORT": "8788"}, "--data-dir", str(data), "--port", "0") as client:
            assert client.ask(execute("return 1"))["result"]["isError"] is False
        record = json.loads((data / "state" / "daemon.json").read_text())
        assert record["dataDir"] == str(data)
        assert record["port"] != 8788
    finally:
        process.stop(Settings.load({**bare, "EXECUTOR_DATA_DIR": str(data)}))


def test_a_token_in_the_environment_is_who_it_acts_as(running: dict[str, str]) -> None:
    made = operator(running, "agents", "create", "codex")
    with bridge({**running, "EXECUTOR_TOKEN": made["token"]}) as client:
        assert who_runs(running, client) == ("codex", "mcp")


def test_a_named_agent_acts_with_the_token_that_is_kept_for_it(running: dict[str, str]) -> None:
    data = Path(running["EXECUTOR_DATA_DIR"])
    save_agent_token(data, "claude-code", operator(running, "agents", "create", "claude-code")["token"])
    with bridge({**running, "EXECUTOR_TOKEN": "exa_of-somebody-else"}, "--agent", "claude-code") as client:
        assert who_runs(running, client) == ("claude-code", "mcp")


@pytest.mark.parametrize("name", ["stranger", "../operator", "a/b", "", ".", "x" * 65, "open"])
def test_an_agent_without_a_token_of_its_own_is_nobody(running: dict[str, str], name: str) -> None:
    """It does not act as another one instead."""
    readable = Path(running["EXECUTOR_DATA_DIR"]) / "agents" / "open.token"
    save_agent_token(readable.parents[1], "open", "exa_" + "x" * 43)
    readable.chmod(0o644)
    command = [*COMMAND, "--agent", name]
    done = subprocess.run(
        command, env=running, input=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n', capture_output=True, check=False
    )
    assert done.returncode != 0
    assert done.stdout == b""
    assert b"hint: " in done.stderr


def test_a_token_that_was_revoked_runs_nothing_and_says_what_to_do(running: dict[str, str]) -> None:
    made = operator(running, "agents", "create", "gone")
    operator(running, "agents", "revoke", made["id"])
    with bridge({**running, "EXECUTOR_TOKEN": made["token"]}) as client:
        answer = client.ask(execute("return 1"))
        other = client.ask(message("resources/list", 2))
    assert answer["result"]["isError"] is True
    assert "unauthorized: " in answer["result"]["content"][0]["text"]
    assert "executor connect" in answer["result"]["content"][0]["text"]
    assert "executor connect" in other["error"]["data"]["hint"]


def test_a_cancelled_request_is_not_answered(running: dict[str, str]) -> None:
    with running_upstream() as (address, _), bridge(running) as client:
        operator(running, "sources", "add", f"{address}/openapi.json", "--namespace", "cancelled")
        client.ask(execute('return await tools.cancelled.things.createThing({name: "lamp"})'))
        waiting = {"executionId": newest(running)["executionId"]}
        client.send(
            message("tools/call", "7", name="resume", arguments=waiting),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "7"}},
            message("ping", 8),
        )
        assert [answer["id"] for answer in client.rest()] == [8]


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "await new Promise(done => setTimeout(done, 55000)); return 1"),
        ("python", "import asyncio\nawait asyncio.sleep(55)\nreturn 1"),
    ],
)
def test_a_call_reports_progress_and_ends_when_it_is_cancelled(
    running: dict[str, str], language: str, code: str
) -> None:
    arguments = {"code": code, "language": language}
    with bridge(running) as client, bridge(running) as other:
        client.send(message("tools/call", 2, name="execute", arguments=arguments, _meta={"progressToken": "p"}))
        assert client.receive()["params"]["progressToken"] == "p"
        other.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        assert newest(running)["status"] == "running"
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        wait_for(lambda: newest(running)["status"] == "cancelled")
        client.send(message("ping", 3))
        rest = client.rest()
    assert [one["id"] for one in rest if "id" in one] == [3]


class Recorder(BaseHTTPRequestHandler):
    """A daemon that reports progress on a call until the call is cancelled."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, str | None]]] = []
    cancelled: ClassVar[threading.Event] = threading.Event()

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((sent["method"], self.headers["Mcp-Session-Id"]))
        if sent["method"] == "notifications/cancelled":
            self.cancelled.set()
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}})
        self.cancelled.wait(60)
        self._event({"jsonrpc": "2.0", "id": sent["id"], "result": {}})
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, sent: dict[str, Any]) -> None:
        data = f"event: message\ndata: {json.dumps(sent)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *args: Any) -> None: ...


def test_a_cancellation_reaches_the_daemon_in_the_session_of_the_call(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    daemon = process.Running(1, "127.0.0.1", server.server_port, "start", "0")
    monkeypatch.setattr(process, "ensure", lambda *_: daemon)
    reader, writer = os.pipe()

    def lines() -> Iterator[bytes]:
        yield json.dumps(execute("return 1", 7, _meta={"progressToken": 1})).encode()
        with os.fdopen(reader, "rb", closefd=False) as output:
            assert json.loads(output.readline())["method"] == "notifications/progress"
        for number in ("7", 8, 7):  # the first two are others' numbers
            told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            yield json.dumps(told).encode()

    with server, os.fdopen(writer, "wb") as output:
        stdio.Bridge(Settings.load(environment), dict, output).serve(lines())
        wait_for(Recorder.cancelled.is_set)
        server.shutdown()
    (first, session), *others = Recorder.seen
    assert (first, others) == ("tools/call", [("notifications/cancelled", session)])
    assert session
    with os.fdopen(reader, "rb") as rest:
        assert rest.read() == b"", "a cancelled request has no answer"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json\n", -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "\\ud800"}}\n', -32700),
        (b'{"jsonrpc": "2.0", "id": 4, "method": "no/such"}\n', -32601),
    ],
)
def test_every_line_is_answered_and_the_next_one_is_read(running: dict[str, str], line: bytes, code: int) -> None:
    with bridge(running) as client:
        client.ask(initialize())
        client.send(line)
        refused = client.receive()
        assert refused["error"]["code"] == code
        assert refused["id"] == (4 if b'"id": 4' in line else None)
        assert client.ask(message("ping", 5))["result"] == {}


@pytest.mark.parametrize("params", [{}, {"_meta": None}, {"_meta": {"progressToken": 1}}])
def test_a_call_is_named_so_that_it_can_be_sent_again(params: dict[str, Any]) -> None:
    line = json.dumps(execute("return 1", **params)).encode()
    first, second = (json.loads(Request(line).body)["params"]["_meta"] for _ in range(2))
    assert first["executor/idempotencyKey"] != second["executor/idempotencyKey"]
    named = execute("return 1", _meta={"idempotencyKey": "mine"})
    assert json.loads(Request(json.dumps(named).encode()).body) == named


def test_a_stream_of_events_is_written_as_messages_until_the_answer() -> None:
    request = Request(json.dumps(message("tools/call", "a", name="resume")).encode())
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    asked = {"jsonrpc": "2.0", "id": "a", "method": "elicitation/create", "params": {}}
    answer = {"jsonrpc": "2.0", "id": "a", "result": {}}
    stream = [b": still here", b"", b"event: message"]
    stream += [b"data: " + line for line in json.dumps(progress, indent=1).encode().splitlines()]
    stream += [b"", f"data:{json.dumps(asked)}".encode(), b"\r", f"data: {json.dumps(answer)}\r".encode(), b"\r"]
    stream += [b"data: {}", b""]
    assert [json.loads(reply) for reply in request.replies_in(iter(stream))] == [progress, asked, answer]


def test_what_is_under_way_when_the_input_ends_is_still_answered(running: dict[str, str]) -> None:
    with bridge(running) as client:
        client.send(initialize(number=1), execute("return 2", 2), execute("return 3", 3))
        assert {answer["id"] for answer in client.rest()} == {1, 2, 3}


def test_it_ends_when_nobody_is_left_to_answer(running: dict[str, str]) -> None:
    with running_upstream() as (address, _), bridge(running) as client:
        operator(running, "sources", "add", f"{address}/openapi.json", "--namespace", "left")
        client.ask(execute('return await tools.left.things.createThing({name: "lamp"})'))
        waiting = {"executionId": newest(running)["executionId"]}
        client.send(message("tools/call", 2, name="resume", arguments=waiting))
        client.ask(message("ping", 3))
        assert client.process.stdin is not None and client.process.stdout is not None
        client.process.stdout.close()
        client.process.stdin.close()
        wait_for(lambda: client.process.poll() is not None)
