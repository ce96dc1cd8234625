"""`executor mcp-host` as people run it: what it says, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.support.conditions import wait_for
from tests.support.processes import is_alive
from tests.surfaces.mcp.host.conftest import SCRIPTED

ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(tmp_path / "state")}


def run(environment: dict[str, str], *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "executor", "mcp-host", "--json", *words]
    return subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True, timeout=240)


class Started:
    """A host in a process of its own, with a session whose command has left a process behind and then hangs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.about = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        token = Path(self.about["tokenFile"]).read_text().strip()
        self.http = httpx2.Client(headers={**ACCEPT, "Authorization": f"Bearer {token}"}, timeout=120, trust_env=False)
        answer = self.post("initialize")
        self.http.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        self.server = answer.json()["result"]["serverInfo"]["pid"]
        self.orphan = self.post("do/fork").json()["result"]
        self.post("do/hang")

    def post(self, method: str) -> httpx2.Response:
        answer = self.http.post(self.about["address"], json={"jsonrpc": "2.0", "id": method, "method": method})
        assert answer.status_code == 200, answer.text
        return answer

    @property
    def is_gone(self) -> bool:
        return not any(is_alive(pid) for pid in (self.process.pid, self.server, self.orphan))


@pytest.fixture
def run_host(environment: dict[str, str]) -> Iterator[Started]:
    command = [sys.executable, "-m", "executor", "mcp-host", "--json", "--port", "0", "--no-check", "--", *SCRIPTED]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            found = Started(process)
            yield found
            found.http.close()
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_whatever_a_command_has_started_ends_with_the_host(run_host: Started, number: signal.Signals) -> None:
    assert is_alive(run_host.server) and is_alive(run_host.orphan)
    run_host.process.send_signal(number)
    status = run_host.process.wait(timeout=120)
    assert status == (-number if number == signal.SIGKILL else 0)
    wait_for(lambda: run_host.is_gone, "the end of everything")


def test_the_token_is_in_a_private_file_and_nowhere_else(run_host: Started) -> None:
    path = Path(run_host.about["tokenFile"])
    token = path.read_text().strip()
    assert path.stat().st_mode & 0o777 == 0o600
    assert token not in json.dumps(run_host.about)
    host = psutil.Process(run_host.process.pid)
    for process in (host, *host.children(recursive=True)):
        assert token not in " ".join(process.cmdline())
        assert token not in str(process.environ())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Missing argument"),
        (("--", "no-such-command-here"), "the command `no-such-command-here` was not found"),
        (("--port", "0", "--", "sh", "-c", "echo broken >&2; exit 3"), "the command `sh` ended with status 3: broken"),
        (("--env", "TOKEN=value", "--", "cat"), "--env takes a name and no value"),
        (("--env", "SURELY_NOT_SET", "--", "cat"), "no SURELY_NOT_SET on standard input"),
        (("--host", "192.0.2.1", "--no-token", "--", "cat"), "--no-token needs a loopback address"),
        (("--max-sessions", "0", "--", "cat"), "Invalid value for '--max-sessions'"),
    ],
)
def test_a_mistake_is_named_before_anything_is_served(
    environment: dict[str, str], words: tuple[str, ...], said: str
) -> None:
    done = run(environment, *words)
    assert done.returncode in (1, 2) and said in done.stderr, done.stderr
    assert said in json.loads(done.stdout)["error"]["message"] or not words


def test_a_port_that_is_taken_is_named_with_the_option_for_another(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(environment, "--port", str(port), "--", *SCRIPTED)
    assert f"port {port} on 127.0.0.1 is already in use" in done.stderr and "--port" in done.stderr


def test_a_value_from_standard_input_reaches_the_command(environment: dict[str, str]) -> None:
    """The command ends at once and prints what it got, so that nothing has to be stopped."""
    script = 'echo "got $FROM_INPUT" >&2; exit 1'
    done = run(environment, "--port", "0", "--env", "FROM_INPUT", "--", "sh", "-c", script, stdin="the value\n")
    assert "got the value" in done.stderr
