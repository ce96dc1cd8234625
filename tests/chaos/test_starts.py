"""`kill -9` right after outcomes were reported that only the start log has: every one of them is found again."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused

KILLS = 4
CLIENTS = 4
ENOUGH = 40  # outcomes between two kills
CODE = "return [Math.random(), Date.now(), crypto.randomUUID()]"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    daemon.start()
    yield daemon
    daemon.stop()


class Client(threading.Thread):
    """Runs code until the daemon is gone, and keeps what it was told."""

    def __init__(self, daemon: Daemon) -> None:
        super().__init__(daemon=True)
        self._daemon = daemon
        self.reported: dict[str, Any] = {}

    def run(self) -> None:
        with suppress(OSError, HTTPException, Refused):
            while True:
                view = self._daemon.post("/v1/executions", {"code": CODE, "wait": 60})
                if view["status"] == "completed":
                    self.reported[view["executionId"]] = view["result"]


def find_ended(daemon: Daemon, execution_id: str) -> Any:
    found = daemon.get(f"/v1/executions/{execution_id}")
    return found if found["status"] != "running" else None


@pytest.mark.chaos
def test_whatever_was_reported_before_a_kill_is_there_after_it(daemon: Daemon, tmp_path: Path) -> None:
    reported: dict[str, Any] = {}
    recovered: set[str] = set()
    for _ in range(KILLS):
        wait_for(lambda: list(tmp_path.rglob("*-starts")), "the start log")
        clients = [Client(daemon) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        enough = random.randint(ENOUGH, 2 * ENOUGH)
        wait_for(lambda: sum(len(client.reported) for client in clients) >= enough, "outcomes")  # noqa: B023 - called here
        daemon.kill()
        for client in clients:
            client.join(60)
            reported |= client.reported
        daemon.start()
        for execution_id, result in reported.items():
            found = wait_for(lambda: find_ended(daemon, execution_id), execution_id)  # noqa: B023 - called here
            assert (found["status"], found["result"]) == ("completed", result)
        events = daemon.get("/v1/audit?type=execution.recovered&limit=100")["items"]
        recovered |= {event["executionId"] for event in events} & reported.keys()
    assert recovered  # some were in the start log alone
