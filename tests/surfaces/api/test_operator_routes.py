"""Sources, tools, policies, status: what an operator sets up and everyone looks at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.surfaces.api.daemon_server import DOCUMENT, Daemon, running_upstream


def test_a_source_is_added_shown_refreshed_and_removed(daemon: Daemon) -> None:
    with running_upstream() as (address, _):
        added = daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "other"})
        assert added.status == 201
        assert added.json["toolCount"] == 2
        assert added.json["status"] == "connected"
        for name in (added.json["id"], "other"):
            assert daemon.get(f"/v1/sources/{name}").json["id"] == added.json["id"]
        assert "other" in [item["namespace"] for item in daemon.get("/v1/sources").json["items"]]
        assert daemon.post("/v1/sources/other/refresh").status == 200
        again = daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "other"})
        assert (again.status, again.json["code"]) == (409, "namespace_taken")
    removed = daemon.request("DELETE", "/v1/sources/other")
    assert removed.json["id"] == added.json["id"]
    assert daemon.get("/v1/sources/other").status == 404


def test_a_document_can_be_uploaded(daemon: Daemon) -> None:
    document = {**DOCUMENT, "servers": [{"url": "http://127.0.0.1:9/"}]}
    body = {"document": json.dumps(document), "namespace": "uploaded", "baseUrl": "http://127.0.0.1:9"}
    added = daemon.post("/v1/sources", body)
    assert added.status == 201, added.body
    assert daemon.request("DELETE", "/v1/sources/uploaded").status == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_request"),
        ({"document": "{}"}, "document_invalid"),
        ({"document": "<html></html>"}, "document_invalid"),
        ({"location": "http://127.0.0.1:9/nothing.json"}, "source_unreachable"),
        ({"document": json.dumps(DOCUMENT), "kind": "carrier-pigeon"}, "invalid_request"),
    ],
)
def test_a_source_that_makes_no_sense_is_refused_with_a_reason(daemon: Daemon, body: Any, code: str) -> None:
    answer = daemon.post("/v1/sources", body)
    assert answer.json["code"] == code
    assert answer.json["detail"]
    assert answer.json["hint"]


def test_tools_are_listed_found_and_described(daemon: Daemon, shop: list[Any]) -> None:
    listed = daemon.get("/v1/tools?prefix=shop", role="agent").json["items"]
    assert [item["path"] for item in listed] == ["shop.things.createThing", "shop.things.listThings"]
    page = daemon.get("/v1/tools?source=shop&limit=1").json
    assert page["next"] == "shop.things.createThing"
    assert daemon.get(f"/v1/tools?source=shop&after={page['next']}").json["items"] == listed[1:]
    found = daemon.get("/v1/tools/search?query=shop+create+thing", role="agent").json
    assert found["bestPath"] == "shop.things.createThing"
    tool = daemon.get("/v1/tools/shop.things.createThing?includeSchemas=true", role="agent").json
    assert tool["effect"] == "write"
    assert "name" in tool["signature"]
    assert tool["inputSchema"]["required"] == ["name"]
    assert "inputSchema" not in daemon.get("/v1/tools/shop.things.createThing").json


def test_an_unknown_tool_suggests_the_nearest(daemon: Daemon, shop: list[Any]) -> None:
    answer = daemon.get("/v1/tools/shop.things.createThng")
    assert answer.status == 404
    assert "shop.things.createThing" in answer.json["hint"]


def test_status_counts_what_there_is(daemon: Daemon, shop: list[Any]) -> None:
    daemon.execute("return 1")
    status = daemon.get("/v1/status", role="agent").json
    assert status["workspace"]["name"] == "default"
    assert status["executions"]["completed"] >= 1
    assert status["sources"] >= 1
    assert status["tools"] >= 2
    assert status["address"] == daemon.url
    assert status["uptimeSeconds"] > 0
    assert status["sandbox"]["runtime"] == "typescript"
    assert status["sandbox"]["workers"] == 1


def test_the_doctor_names_every_check_with_its_state(daemon: Daemon) -> None:
    checks = daemon.get("/v1/doctor").json["checks"]
    assert len(checks) > 3
    for check in checks:
        assert check.keys() == {"name", "status", "message", "hint"}
        assert check["status"] in ("ok", "warning", "failure")
