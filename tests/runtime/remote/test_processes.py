"""A daemon and a sandbox host, each a real process: whatever becomes of the host, nothing is lost or done twice."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.daemon.doctor.runtimes import check_runtimes
from executor.settings import Settings
from tests.runtime.remote.host_process import HostProcess
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.ledger import Ledger, effects

WRITES = """
const out = [];
for (let n = 0; n < 12; n++) {
  const [a, b] = await Promise.all([
    tools.ledger.entries.addEntry({key: `a${n}`}),
    tools.ledger.entries.addEntry({key: `b${n}`}),
  ]);
  out.push(a.key + b.key);
}
return out
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    server = Ledger(tmp_path / "effects", delay_ms=20)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(120)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    process = HostProcess(tmp_path)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def daemon(tmp_path: Path, host: HostProcess, ledger: Ledger) -> Iterator[Daemon]:
    process = Daemon(
        tmp_path, EXECUTOR_WORKERS="1", EXECUTOR_ALLOW_PRIVATE_HOSTS="true", EXECUTOR_TYPECHECK="off", **host.variables
    )
    process.start()
    process.post("/v1/sources", {"location": f"{ledger.url}/openapi.json", "namespace": "ledger"})
    process.post("/v1/policies", {"pattern": "ledger.**", "action": "allow"})
    yield process
    process.stop()


def begin(daemon: Daemon, code: str, wait: float = 0) -> Any:
    return daemon.post("/v1/executions", {"code": code, "runtime": "remote", "wait": wait})


def wait_for_end(daemon: Daemon, execution: Any) -> Any:
    path = f"/v1/executions/{execution['executionId']}"
    return wait_for(lambda: view if (view := daemon.get(path))["status"] not in ("running", "queued") else None)


def test_code_runs_on_the_host_and_calls_the_daemon_s_tools(daemon: Daemon) -> None:
    view = begin(daemon, "console.log('there'); return (await tools.ledger.entries.listEntries({key: 'k'})).key", 30)
    assert (view["status"], view["result"]) == ("completed", "k")
    assert view["runtime"] == "remote"


def test_a_host_that_is_killed_and_restarted_loses_nothing_and_does_nothing_twice(
    daemon: Daemon, host: HostProcess, ledger: Ledger
) -> None:
    execution = begin(daemon, WRITES)
    for reached in (4, 10):
        wait_for(lambda reached=reached: len(effects(ledger.effects)) >= reached)  # type: ignore[misc]
        host.kill()
        host.start()
    view = wait_for_end(daemon, execution)
    assert view["status"] == "completed", view
    assert view["result"] == [f"a{n}b{n}" for n in range(12)]
    assert set(Counter(effects(ledger.effects)).values()) == {1}
    assert len(effects(ledger.effects)) == 24


def test_a_host_that_was_silent_and_comes_back_can_do_no_harm(
    daemon: Daemon, host: HostProcess, ledger: Ledger
) -> None:
    """Stopped, not killed: its connections stand, so only its silence tells. It wakes up with answers to give."""
    execution = begin(daemon, WRITES)
    wait_for(lambda: len(effects(ledger.effects)) >= 4)
    host.signal(signal.SIGSTOP)
    wait_for(lambda: "is lost: it stopped answering" in (daemon.state_dir / "daemon.log").read_text())
    host.signal(signal.SIGCONT)
    view = wait_for_end(daemon, execution)
    assert view["status"] == "completed", view
    assert len(effects(ledger.effects)) == 24
    assert set(Counter(effects(ledger.effects)).values()) == {1}


def test_an_execution_whose_host_is_away_goes_on_when_it_is_back(daemon: Daemon, host: HostProcess) -> None:
    host.kill()
    execution = begin(daemon, "return 6 * 7")
    assert daemon.get(f"/v1/executions/{execution['executionId']}")["status"] == "running"
    host.start()
    assert wait_for_end(daemon, execution)["result"] == 42


def test_a_daemon_that_is_killed_leaves_no_run_behind_on_the_host(daemon: Daemon, host: HostProcess) -> None:
    execution = begin(daemon, "return (await tools.ledger.slow.wait({ms: 1500})).waited")
    wait_for(lambda: ask(host)["runs"] == 1)
    daemon.kill()
    wait_for(lambda: ask(host)["runs"] == 0)
    daemon.start()
    view = wait_for_end(daemon, execution)
    assert (view["status"], view["result"]) == ("completed", "1500"), view


def test_the_doctor_tells_of_the_host_whether_it_answers_or_not(tmp_path: Path, host: HostProcess) -> None:
    settings = Settings.load({**host.variables, "EXECUTOR_DATA_DIR": str(tmp_path), "EXECUTOR_CONFIG": os.devnull})
    found = {check.name: check for check in check_runtimes(settings)}["runtime: remote"]
    assert found.status == "ok"
    assert "typescript" in found.message
    assert "seccomp" in found.message
    host.stop()
    found = {check.name: check for check in check_runtimes(settings)}["runtime: remote"]
    assert (found.status, "does not answer" in found.message) == ("warning", True)


def ask(host: HostProcess, token: str | None = None, **headers: str) -> Any:
    token = host.token_file.read_text().strip() if token is None else token
    connection = http.client.HTTPConnection(host.host, host.port, timeout=120)
    try:
        connection.request("GET", "/host", headers={"Authorization": f"Bearer {token}", **headers})
        response = connection.getresponse()
        return {"status": response.status, **json.loads(response.read())}
    finally:
        connection.close()


def test_a_host_tells_nothing_without_its_token(host: HostProcess) -> None:
    assert ask(host)["status"] == 200
    assert "typescript" in ask(host)["runtimes"]
    for refused in (ask(host, "exh_" + "x" * 43), ask(host, ""), ask(host, Origin="http://evil.example")):
        assert refused["status"] == 401
        assert "runtimes" not in refused
    assert host.token_file.stat().st_mode & 0o077 == 0


def test_a_wrong_token_fails_the_execution_with_what_to_check(tmp_path: Path, host: HostProcess) -> None:
    wrong = tmp_path / "wrong.token"
    wrong.touch(mode=0o600)
    wrong.write_text("exh_" + "w" * 43)
    daemon = Daemon(tmp_path, **{**host.variables, "EXECUTOR_REMOTE_TOKEN_FILE": str(wrong)})
    daemon.start()
    try:
        view = wait_for_end(daemon, begin(daemon, "return 1"))
    finally:
        daemon.stop()
    assert (view["status"], view["error"]["code"]) == ("failed", "remote_refused")
    assert "remote_token_file" in view["error"]["hint"]
