"""The scenarios that every runtime passes, through the engine, on a sandbox host in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from executor.runtime.remote.live_runs import LiveRuns
from executor.settings import Settings
from tests.execution import test_runtime_parity
from tests.execution.conftest import harness, ledger, reopen, shared_state
from tests.execution.test_runtime_parity import RuntimeCase
from tests.runtime.remote.host_process import Callback, HostProcess, serve_app

__all__ = ["harness", "ledger", "reopen"]
LEFT_OUT = {
    "test_both_languages_see_the_same_fields_of_an_error": "compares runtimes with each other",
    "test_workers_killed_in_the_middle_lose_no_execution": "would kill the host for good; see test_processes",
    "test_an_execution_goes_on_after_kill_9_of_the_daemon": "has a daemon of its own; see test_processes",
}

globals().update({name: value for name, value in vars(test_runtime_parity).items() if name.startswith("test_")})
for name in LEFT_OUT:
    del globals()[name]


@pytest.fixture(params=["typescript", "python"])
def case(request: pytest.FixtureRequest) -> RuntimeCase:
    return RuntimeCase("remote", request.param)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    process = HostProcess(tmp_path_factory.mktemp("host"))
    process.start()
    yield process
    process.stop()


@pytest.fixture
async def settings(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, host: HostProcess, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Settings]:
    """Every Executor that is opened shares the live runs that the server here lets in."""
    callback = Callback(LiveRuns())
    monkeypatch.setattr("executor.daemon.wiring.runtimes.LiveRuns", lambda: callback.runs)
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    local = Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"})
    async with serve_app(callback) as url:
        yield replace(local, remote_url=host.url, remote_token_file=host.token_file, remote_callback_url=url)
