"""Browsers without an account: the human of an anonymous workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.public_network import public_address
from tests.support.tool_results import about, value_of
from tests.surfaces.api.daemon_server import Daemon, running_daemon, running_upstream
from tests.surfaces.api.identities import Caller, agent_of, visitor

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[str, list[Any]]]:
    with public_address() as host, running_upstream(host) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, service: tuple[str, list[Any]]) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("visitors"), anonymous_sources=2) as daemon:
        yield daemon


def call(caller: Caller, tool: str, **arguments: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return caller.post("/mcp/anonymous", message, **HEADERS).json["result"]


def add_code(address: str, namespace: str = "shop") -> str:
    return f'return await tools.executor.sources.add({{url: "{address}/openapi.json", namespace: "{namespace}"}})'


def pending(caller: Caller) -> list[Any]:
    return list(caller.get("/v1/interactions?status=pending").json["items"])


def test_a_browser_opens_a_workspace_and_finds_it_again(daemon: Daemon) -> None:
    human = visitor(daemon)
    who = human.get("/v1/auth/whoami").json
    assert (who["via"], who["kind"], who["role"]) == ("anonymous_browser", "human", None)
    assert who["permissions"] == ["discover", "execute", "read", "decide", "extend"]
    again = visitor(daemon, human.cookie)
    assert again.cookie == human.cookie
    assert again.get("/v1/auth/whoami").json["workspace"] == who["workspace"]
    about_it = human.get("/v1/auth/anonymous/workspace").json
    assert about_it["mcpUrl"].endswith("/mcp/anonymous")
    assert (about_it["agentKey"], about_it["sources"]) == (None, 2)
    assert visitor(daemon).get("/v1/auth/whoami").json["workspace"] != who["workspace"]


def test_the_browser_runs_code_of_its_own(daemon: Daemon) -> None:
    body = {"code": 'return (await tools.discover({query: "thing"})).total', "wait": 60}
    view = visitor(daemon).post("/v1/executions", body).json
    assert (view["status"], view["result"]) == ("completed", 0), view


def test_its_agent_asks_and_the_browser_decides(daemon: Daemon, service: tuple[str, list[Any]]) -> None:
    address, made = service
    human = visitor(daemon)
    agent = agent_of(human)
    asked = about(call(agent, "execute", code=add_code(address)))
    assert asked["status"] == "paused"
    [interaction] = pending(human)
    assert interaction["id"] in str(asked)
    assert "only if it is a public address" in interaction["host"]
    assert human.post(f"/v1/interactions/{interaction['id']}/approve").status == 200
    added = call(agent, "resume", executionId=asked["executionId"])
    assert value_of(added)["toolCount"] == 2

    code = 'return await tools.shop.things.createThing({name: "kettle"})'
    asked = about(call(agent, "execute", code=code))
    assert asked["status"] == "paused"
    [interaction] = pending(human)
    assert made == []
    assert human.post(f"/v1/interactions/{interaction['id']}/approve").status == 200
    assert value_of(call(agent, "resume", executionId=asked["executionId"])) == {"id": 1, "name": "kettle"}
    assert made == [{"name": "kettle"}]
    types = [event["type"] for event in human.get("/v1/audit?limit=100").json["items"]]
    assert {"session.started", "key.created", "source.added", "interaction.approved"} <= set(types)
    assert human.get("/v1/executions").json["items"][0]["executionId"] == asked["executionId"]
