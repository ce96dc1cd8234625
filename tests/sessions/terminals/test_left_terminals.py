"""Terminals that no one is attached to end, and their process with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.tasks.runner import Runner
from executor.sessions.terminals.terminals import Patience
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("left")) as daemon:
        daemon.executor.sessions.terminals._patience = Patience(0.2, 0.2)
        yield daemon


def test_a_terminal_that_no_one_attaches_to_ends(daemon: Daemon, tmp_path: Path) -> None:
    body = {"agent": "fake", "cwd": str(tmp_path), "isolation": "simple"}
    session = daemon.post("/v1/sessions", body).json["id"]
    opened = daemon.post(f"/v1/sessions/{session}/terminals", {})
    assert opened.status == 201, opened.body
    wait_for(lambda: daemon.get(f"/v1/sessions/{session}/terminals").json["items"] == [])

    def endings() -> list[Any]:
        found = daemon.get("/v1/events?limit=500").json["items"]
        return [one for one in found if one["type"] == "agent_session.terminal_ended"]

    assert wait_for(endings)[0]["data"]["reason"] == "no one was attached"


def test_a_terminal_that_is_opened_while_the_daemon_stops_is_refused_and_leaves_no_process(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, released, converse = threading.Event(), threading.Event(), Runner._converse

    async def converse_later(runner: Runner) -> Any:
        begun.set()
        await asyncio.to_thread(released.wait, 120)
        return await converse(runner)

    monkeypatch.setattr(Runner, "_converse", converse_later)
    with running_daemon(tmp_path_factory.mktemp("stopping")) as daemon, ThreadPoolExecutor(1) as threads:
        body = {"agent": "fake", "cwd": str(tmp_path), "isolation": "simple"}
        session = daemon.post("/v1/sessions", body).json["id"]
        path = f"/v1/sessions/{session}/terminals"
        opening = threads.submit(daemon.post, path, {})
        assert begun.wait(120)
        sessions = daemon.executor.sessions
        closing = threading.Thread(target=daemon.run, args=(sessions.close(),))
        closing.start()
        try:
            refused = wait_for(lambda: opening.done() and opening.result(), "it is refused while it is under way")
        finally:
            released.set()
            closing.join(240)
        assert refused.status == 503 and "stopping" in refused.json["detail"], refused.body
        assert daemon.post(path, {}).status == 503
        assert sessions.terminals._open == {}
        runner = sessions._runners.get(session)
        assert runner is None or runner._conversation is None
