"""A sandbox host that means harm to its daemon, and strangers who mean harm to a sandbox host."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.runtime.remote.host_process import HostProcess
from tests.support.daemon import Daemon

TOKEN = "exh_" + "h" * 43
RESULT = "v2\n"  # as a sandbox says that its program returned 2


@dataclass
class Run:
    """What the daemon handed to the host for one run."""

    id: str
    token: str
    callback: str

    def say(self, message: Any, *, token: str = "", run: str = "") -> tuple[int, Any]:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection = http.client.HTTPConnection(self.callback.removeprefix("http://"), timeout=60)
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"/internal/runs/{run or self.id}/tool-call", body, headers)
            answer = connection.getresponse()
            said = answer.read()
            return answer.status, json.loads(said) if said else None
        finally:
            connection.close()

    def step(self, number: int, output: str = RESULT, **more: Any) -> tuple[int, Any]:
        return self.say({"steps": [{"number": number, "cpuUs": 1, "output": output, **more}]})

    def fetch_program(self) -> None:
        while "program" not in self.say({})[1]:
            pass


class Hostile(ThreadingHTTPServer):
    """Does `misdeed` with its first run, and gives the right answer with every other."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.runs: list[Run] = []
        self.misdeed: Callable[[Run, Handler], None] = lambda run, handler: None
        self.sent = 0

    def begin(self, misdeed: Callable[[Run, Handler], None]) -> None:
        self.runs, self.misdeed, self.sent = [], misdeed, 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The daemon hangs up: that is what is tested."""


@dataclass
class Noise:
    """Bytes without end, beside the run."""

    part: bytes
    before: bytes = b"ready\n"
    mosts: int = field(default=200_000_000)

    def __call__(self, run: Run, handler: Handler) -> None:
        handler.wfile.write(self.before)
        while handler.server.sent < self.mosts:
            handler.wfile.write(self.part)
            handler.server.sent += len(self.part)


class Handler(BaseHTTPRequestHandler):
    server: Hostile

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        run = Run(body["run"], body["token"], body["callback"])
        self.server.runs.append(run)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        if len(self.server.runs) == 1:
            self.server.misdeed(run, self)
            return
        self.wfile.write(b"ready\n")
        run.fetch_program()
        run.step(0)
        self.rfile.read(1)

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hostile]:
    server = Hostile()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def daemon(hostile: Hostile, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    root = tmp_path_factory.mktemp("hosts")
    (root / "host.token").write_text(TOKEN)
    (root / "host.token").chmod(0o600)
    url = f"http://127.0.0.1:{hostile.server_address[1]}"
    variables = {"EXECUTOR_REMOTE_URL": url, "EXECUTOR_REMOTE_TOKEN_FILE": str(root / "host.token")}
    made = Daemon(root, EXECUTOR_WORKERS="1", EXECUTOR_TYPECHECK="off", **variables)
    made.start()
    yield made
    made.stop()


def run(daemon: Daemon) -> Any:
    body = {"code": "return 1 + 1", "runtime": "remote", "wait": 60}
    return daemon.request("POST", "/v1/executions", body, timeout=120)


@pytest.mark.parametrize("noise", [Noise(b"x" * 50_000), Noise(b"\n" * 50_000), Noise(b"\n" * 50_000, before=b"")])
def test_106_a_host_that_talks_without_end_loses_its_run(daemon: Daemon, hostile: Hostile, noise: Noise) -> None:
    """Defence: `lines_of` in runtime/remote/runtime.py. The execution goes on elsewhere: here, with the next run."""
    hostile.begin(noise)
    assert daemon.process is not None
    before = psutil.Process(daemon.process.pid).memory_info().rss
    ended = run(daemon)
    assert (ended["status"], ended["result"]) == ("completed", 2), ended
    assert hostile.sent < noise.mosts
    assert psutil.Process(daemon.process.pid).memory_info().rss - before < 200_000_000
    assert hostile.runs[0].step(0)[0] == 401  # its token died with the run


def test_106_tokens_are_good_for_one_living_run(daemon: Daemon, hostile: Hostile) -> None:
    """Defence: `LiveRuns.authenticate`: address and token must name the same run, and it must be alive."""
    seen: list[Any] = []

    def try_all(run: Run, handler: Handler) -> None:
        handler.wfile.write(b"ready\n")
        run.fetch_program()
        seen.append(run.say({}, token="exr_" + "x" * 43)[0])
        seen.append(run.say({}, token=TOKEN)[0])
        seen.append(run.say({}, token=daemon.token("operator"))[0])
        seen.append(run.say({}, token=daemon.token("agent"))[0])
        seen.append(run.say({}, run="run_" + "0" * 32)[0])
        seen.append(run.say({}, run="../../v1/executions?")[0])

    hostile.begin(try_all)
    assert run(daemon)["result"] == 2
    first, second = hostile.runs[0], hostile.runs[-1]
    assert seen and set(seen) <= {400, 401, 404}, seen
    assert first.say({}, run=second.id)[0] == second.say({}, run=first.id)[0] == 401
    assert first.step(0)[0] == second.step(0)[0] == 401


MISDEEDS: dict[str, Callable[[Run], tuple[int, Any]]] = {
    "a step before its turn": lambda run: run.step(5),
    "a step below zero": lambda run: run.step(-1),
    "a step that is no number": lambda run: run.step(0, number=True),
    "an unreadable step": lambda run: run.step(0, "not a line of ours"),
    "two results": lambda run: run.step(0, RESULT + RESULT),
    "a call of no tool": lambda run: run.step(0, 'c1 "x"\n'),
    "a body that is too large": lambda run: run.say(b'{"steps":["' + b"x" * 40_000_000 + b'"]}'),
    "no object": lambda run: run.say(b"[1]"),
    "too deep": lambda run: run.say(b'{"steps":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "lost, in no words": lambda run: run.say({"lost": 5}),
    "a thousand steps": lambda run: run.say({"steps": [{"number": 0, "cpuUs": 0, "output": ""}] * 20_000}),
}


@pytest.mark.parametrize("misdeed", MISDEEDS)
def test_106_messages_out_of_order_or_shape_end_their_run_alone(daemon: Daemon, hostile: Hostile, misdeed: str) -> None:
    """Defence: `LiveRun._take`, `Reader` and the bounds of the body."""
    told: list[int] = []

    def misbehave(run: Run, handler: Handler) -> None:
        handler.wfile.write(b"ready\n")
        run.fetch_program()
        told.append(MISDEEDS[misdeed](run)[0])

    hostile.begin(misbehave)
    ended = run(daemon)
    assert ended["status"] in ("completed", "failed"), ended
    assert ended["status"] == "completed" or ended["error"]["code"] in ("sandbox_lost", "protocol", "result"), ended
    assert all(status < 500 for status in told)
    assert daemon.get("/healthz")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    process = HostProcess(tmp_path_factory.mktemp("host"))
    process.start()
    yield process
    process.stop()


def ask(host: HostProcess, token: str, body: bytes, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
    try:
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
        connection.request("POST", "/runs", body, sent)
        return connection.getresponse().status
    except (ConnectionError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def test_106_a_live_host_takes_nothing_from_strangers(host: HostProcess, tmp_path: Path) -> None:
    """Defence: `SandboxHost._authenticate`, `_body` and `address.check_url`."""
    good = host.token_file.read_text().strip()
    body = {"run": "run_" + "0" * 32, "token": "exr_x", "callback": "http://127.0.0.1:9"}
    plain = json.dumps(body).encode()
    for token in ("", "x", good[:-1], good + "x", "exr_" + "x" * 43, "exo_" + "x" * 43):
        assert ask(host, token, plain) == 401
    assert ask(host, good, plain, Origin="http://127.0.0.1") == 401
    bad = [
        {**body, "callback": "http://public.example"}, {**body, "callback": "ftp://127.0.0.1"},
        {**body, "callback": "http://u:p@127.0.0.1"}, {**body, "run": "../x"}, {**body, "run": "a b"}, {"run": "x"},
    ]  # fmt: skip
    assert {ask(host, good, json.dumps(one).encode()) for one in bad} == {400}
    assert ask(host, good, b"x" * 100_000) in (0, 400)
    assert ask(host, good, b"[" * 10_000) in (0, 400)
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
    connection.request("GET", "/host", headers={"Authorization": f"Bearer {good}"})
    assert json.loads(connection.getresponse().read())["runs"] == 0
    connection.close()


def test_106_a_daemon_that_answers_without_end_is_left(host: HostProcess) -> None:
    """Defence: `guest.whole`. Whoever has the token of the host can't make it hold more than an execution may."""
    sent = 0

    class Endless(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal sent
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"program": "')
            while sent < 1_000_000_000:
                self.wfile.write(b"x" * 1_000_000)
                sent += 1_000_000

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    callback = f"http://127.0.0.1:{server.server_address[1]}"
    body = json.dumps({"run": "run_" + "0" * 32, "token": "exr_x", "callback": callback}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=120)
    headers = {"Authorization": f"Bearer {host.token_file.read_text().strip()}", "Content-Type": "application/json"}
    connection.request("POST", "/runs", body, headers)
    connection.getresponse().read()  # until the host has had enough
    connection.close()
    assert sent < 1_000_000_000
    server.shutdown()
    server.server_close()
