"""An MCP server that wants a login: the SDK's own, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.connections.oauth.test_login import with_cookie
from tests.support.conditions import wait_for
from tests.support.login_harness import visit
from tests.surfaces.api.daemon_server import Daemon, running_daemon

CODE = "return await tools.guarded.whoami({})"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).parent / "login_server.py")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, server: str) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


def state(server: str) -> Any:
    with urllib.request.urlopen(f"{server}/test/state") as answer:
        return json.load(answer)


def test_a_server_that_asks_for_a_login_is_read_and_called_after_it(daemon: Daemon, server: str) -> None:
    added = daemon.post("/v1/sources", {"location": f"{server}/mcp", "namespace": "guarded"})
    assert added.status == 201, added.body
    daemon.post("/v1/policies", {"pattern": "guarded.*", "action": "allow"})
    assert (added.json["status"], added.json["toolCount"]) == ("failing", 0)
    started = daemon.post("/v1/connections/oauth/start", {"source": "guarded"})
    assert started.status == 200, started.body
    link = urlsplit(started.json["authorizationUrl"]).path
    gone = daemon.get(f"{link}/go", role=None)
    back = visit(gone.headers["location"]).headers["Location"]
    page = daemon.get(back.removeprefix(daemon.url), role=None, headers=with_cookie(gone))
    assert page.status == 200, page.body
    wait_for(lambda: daemon.get("/v1/sources/guarded").json["toolCount"] == 1)
    view = daemon.execute(CODE)
    assert (view["status"], view["result"]) == ("completed", "ann"), view
    assert state(server)["resources"] == [f"{server}/mcp"]


def test_a_token_refused_on_a_live_session_is_renewed_once_and_the_call_goes_through(
    daemon: Daemon, server: str
) -> None:
    assert daemon.execute(CODE)["status"] == "completed"
    urllib.request.urlopen(urllib.request.Request(f"{server}/test/forget", method="POST")).close()
    view = daemon.execute(CODE)
    assert (view["status"], view["result"]) == ("completed", "ann"), view
    assert state(server)["refreshes"] == 1
    assert state(server)["clients"] == 1
