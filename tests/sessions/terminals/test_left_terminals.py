"""Terminals that no one is attached to end, and their process with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.terminals.terminals import Patience
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_daemon

pytestmark = pytest.mark.timeout(300)


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
