"""The demo that the daemon runs itself: one for each workspace, back after a restart, gone with its source."""

from __future__ import annotations

import socket
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.conditions import wait_for
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon

READ = "return (await tools.demo.invoices.listInvoices({})).length"


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/openapi.json", timeout=60):
            return True
    except OSError:
        return False


def call_demo(daemon: Daemon) -> object:
    view = daemon.execute(READ)
    return view["result"] if view["status"] == "completed" else view


def test_it_is_made_once_however_often_it_is_asked_for_and_ends_with_its_source(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda _: daemon.post("/v1/sources/demo"), range(4)))
        assert sorted(one.status for one in made) == [200, 200, 200, 201]
        assert len({one.json["id"] for one in made}) == 1
        source = made[0].json
        assert (source["hosted"], source["toolCount"]) == ("demo", 7)
        assert source["baseUrl"].startswith("http://127.0.0.1:")
        assert call_demo(daemon) == 4
        added = [one for one in daemon.get("/v1/audit").json["items"] if one["type"] == "source.added"]
        assert len(added) == 1 and added[0]["actorId"]
        assert daemon.request("DELETE", "/v1/sources/demo").status == 200
        wait_for(lambda: not answers(source["baseUrl"]))
        assert daemon.post("/v1/sources/demo").status == 201 and call_demo(daemon) == 4


def test_it_comes_back_with_the_daemon_at_the_same_port_or_is_found_at_another(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        first = daemon.post("/v1/sources/demo").json["baseUrl"]
    assert not answers(first)
    with running_daemon(tmp_path) as daemon:
        assert daemon.get("/v1/sources/demo").json["baseUrl"] == first
        assert call_demo(daemon) == 4
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(first.rpartition(":")[2])))
        other.listen()
        with running_daemon(tmp_path) as daemon:
            moved = daemon.get("/v1/sources/demo").json["baseUrl"]
            assert moved != first
            wait_for(lambda: call_demo(daemon) == 4)
            assert daemon.post("/v1/sources/demo").json["status"] == "connected"


def test_each_workspace_has_invoices_of_its_own(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        ours = daemon.post("/v1/sources/demo").json
        theirs = identities.stranger(daemon).post("/v1/sources/demo").json
        assert ours["baseUrl"] != theirs["baseUrl"]


def test_someone_elses_demo_is_left_alone_and_no_one_can_pass_for_it(tmp_path: Path) -> None:
    document = '{"openapi": "3.1.0", "info": {"title": "D", "version": "1"}, "paths": {"/a": {"get": {}}}}'
    body = {"document": document, "location": "http://127.0.0.1:9/openapi.json", "namespace": "demo"}
    with running_daemon(tmp_path) as daemon:
        refused = daemon.post("/v1/sources", {**body, "options": {"hosted": "demo"}})
        assert refused.json["code"] == "invalid_request"
        assert daemon.post("/v1/sources", body).status == 201
        taken = daemon.post("/v1/sources/demo")
        assert taken.json["code"] == "conflict" and "sources remove demo" in taken.json["hint"]


@pytest.mark.parametrize("role", ["agent"])
def test_an_agent_can_not_ask_for_it(tmp_path: Path, role: str) -> None:
    with running_daemon(tmp_path) as daemon:
        assert daemon.post("/v1/sources/demo", role=role).status == 403
