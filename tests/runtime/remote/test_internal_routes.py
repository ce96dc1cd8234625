"""`/internal`: open to the token of a live run, for that run, and to nothing and nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.runtime.remote.live_runs import LiveRun
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("internal"), remote_callback_url="https://daemon.example") as running:
        yield running


@pytest.fixture
def live(daemon: Daemon) -> Iterator[tuple[LiveRun, str]]:
    async def begin() -> tuple[LiveRun, str]:
        return daemon.executor.remote_runs.begin()

    async def end() -> None:
        daemon.executor.remote_runs.end(run)

    run, token = daemon.run(begin())
    yield run, token
    daemon.run(end())


def ask(daemon: Daemon, run: LiveRun, token: str | None, body: Any = None, **options: Any) -> Answer:
    message = {"steps": [{"number": 9, "cpuUs": 0, "output": ""}]} if body is None else body
    return daemon.request(options.pop("method", "POST"), address(run), message, role=token, **options)


def address(run: LiveRun) -> str:
    return f"/internal/runs/{run.id}/tool-call"


def test_the_token_of_a_run_opens_it(daemon: Daemon, live: tuple[LiveRun, str]) -> None:
    answer = ask(daemon, *live)
    assert (answer.status, answer.json) == (200, {"ended": True})  # for a step that nobody expects


@pytest.mark.parametrize("role", [None, "operator", "agent", "exr_" + "x" * 43])
def test_no_other_token_opens_it(daemon: Daemon, live: tuple[LiveRun, str], role: str | None) -> None:
    assert ask(daemon, live[0], role).status == 401


def test_the_token_of_a_run_opens_nothing_else(daemon: Daemon, live: tuple[LiveRun, str]) -> None:
    run, token = live
    for method, path in (("GET", "/v1/executions"), ("POST", "/mcp"), ("GET", "/v1/openapi.json")):
        assert daemon.request(method, path, role=token).status == 401
    for path in (f"/internal/runs/{run.id}", "/internal/", "/internal/runs/", f"{address(run)}/x"):
        assert daemon.post(path, {}, role=token).status == 401


def test_an_operator_finds_nothing_under_internal(daemon: Daemon) -> None:
    assert daemon.get("/internal/runs").status == 401


def test_pages_and_other_names_are_refused_whatever_token_they_show(daemon: Daemon, live: tuple[LiveRun, str]) -> None:
    assert ask(daemon, *live, headers={"Origin": daemon.url}).status == 403
    assert ask(daemon, *live, headers={"Host": "evil.example"}).status == 421
    assert ask(daemon, *live, headers={"Content-Type": "text/plain"}).status == 415
    assert ask(daemon, *live, method="GET").status in (405, 415)


def test_the_name_the_host_calls_the_daemon_by_holds_here_only(daemon: Daemon, live: tuple[LiveRun, str]) -> None:
    assert ask(daemon, *live, headers={"Host": "daemon.example"}).status == 200
    assert daemon.get("/v1/executions", headers={"Host": "daemon.example"}).status == 421


def test_a_body_too_large_or_unreadable_is_refused(daemon: Daemon, live: tuple[LiveRun, str]) -> None:
    assert ask(daemon, *live, body=b'{"steps": "' + b"x" * 100_000 + b'"}').status == 413
    assert ask(daemon, *live, body=b"[1]").status == 400
    assert ask(daemon, *live, body=b"{").status == 400


def test_a_dead_run_s_token_is_dead(daemon: Daemon, tmp_path: Path) -> None:
    async def end_run() -> tuple[LiveRun, str]:
        run, token = daemon.executor.remote_runs.begin()
        daemon.executor.remote_runs.end(run)
        return run, token

    answer = ask(daemon, *daemon.run(end_run()))
    assert answer.status == 401
    assert "run" in json.loads(answer.body)["detail"]
