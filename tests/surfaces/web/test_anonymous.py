"""A browser without an account: it opens a workspace, hands its agent a key, and decides there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.public_network import public_address
from tests.support.tool_results import about, value_of
from tests.surfaces.api.daemon_server import Daemon, running_daemon, running_upstream
from tests.surfaces.api.identities import Caller
from tests.surfaces.web.conftest import Open

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
CONTINUE = "Continue without an account"


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[str, list[Any]]]:
    with public_address() as host, running_upstream(host) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, service: tuple[str, list[Any]]) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("visitors"), anonymous_sources=2) as daemon:
        yield daemon


def enter(visit: Open, daemon: Daemon, path: str = "/", **options: Any) -> Any:
    daemon.executor.anonymous.starts.clear()
    page = visit(path, signed_in=False, **options)
    page.get_by_role("button", name=CONTINUE).click()
    expect(page.get_by_label("Anonymous workspace")).to_contain_text("It is deleted, with everything in it, on")
    return page


def agent_of(page: Any, daemon: Daemon) -> Caller:
    """With the key that the page shows, as the text to paste has it."""
    bar = page.get_by_label("Anonymous workspace")
    bar.get_by_role("button", name="Agent key").click()
    dialog = page.get_by_role("dialog", name="Connect your agent")
    dialog.get_by_role("button", name="Create a key").click()
    server = json.loads(dialog.get_by_text("mcpServers").inner_text())["mcpServers"]["executor"]
    assert server["url"] == f"{daemon.url}/mcp/anonymous"
    dialog.get_by_role("button", name="Close").click()
    return Caller(daemon, "agent", server["headers"]["Authorization"].removeprefix("Bearer "))


def call(agent: Caller, tool: str, **arguments: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return agent.post("/mcp/anonymous", message, **HEADERS).json["result"]


def allow(page: Any, url: str) -> None:
    page.goto(url)
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("status").filter(has_text="Allowed by you")).to_be_visible()


def test_its_agent_asks_over_mcp_and_the_browser_allows(
    visit: Open, daemon: Daemon, service: tuple[str, list[Any]]
) -> None:
    address, made = service
    page = enter(visit, daemon)
    agent = agent_of(page, daemon)
    code = f'return await tools.executor.sources.add({{url: "{address}/openapi.json", namespace: "shop"}})'
    asked = about(call(agent, "execute", code=code))
    assert asked["status"] == "paused"
    link = next(iter(re.findall(r"http\S+?/approvals/int_\w+", json.dumps(asked))))
    page.goto(link)
    expect(page.get_by_text("only if it is a public address")).to_be_visible()
    allow(page, link)
    assert value_of(call(agent, "resume", executionId=asked["executionId"]))["toolCount"] == 2

    write = 'return await tools.shop.things.createThing({name: "kettle"})'
    asked = about(call(agent, "execute", code=write))
    page.get_by_role("link", name="Approvals").first.click()
    expect(page.get_by_role("article", name="The request")).to_contain_text("createThing")
    expect(page.get_by_role("button", name="Always allow")).to_have_count(0)
    page.get_by_role("button", name="Allow once").click()
    assert value_of(call(agent, "resume", executionId=asked["executionId"])) == {"id": 1, "name": "kettle"}
    assert made == [{"name": "kettle"}]
    page.goto("/")
    expect(page.get_by_role("list", name="Connected sources")).to_contain_text("shop")


def test_only_pages_that_it_can_use_are_offered(visit: Open, daemon: Daemon) -> None:
    page = enter(visit, daemon, "/executions")
    expect(page.get_by_role("heading", level=1, name="Executions")).to_be_visible()
    offered = page.get_by_role("navigation", name="Main").first.get_by_role("link")
    assert offered.all_inner_texts() == ["Sources", "Tools", "Executions", "Approvals", "Playground", "Audit"]
    page.goto("/")
    expect(page.get_by_role("heading", name="Nothing is connected yet")).to_be_visible()
    expect(page.get_by_role("link", name="Add a source")).to_have_count(0)
    page.get_by_role("button", name="Account and appearance").first.click()
    expect(page.get_by_role("menuitem", name="Settings")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("secrets")
    expect(page.get_by_role("option").filter(has_text="Secrets")).to_have_count(0)
    assert page.evaluate("document.cookie") == ""


def test_the_same_browser_comes_back_and_leaving_deletes_everything(visit: Open, daemon: Daemon) -> None:
    page = enter(visit, daemon, viewport={"width": 390, "height": 780})
    workspace = page.request.get("/v1/auth/whoami").json()["workspace"]["id"]
    page.goto("/sign-in")
    page.get_by_role("button", name=CONTINUE).click()
    bar = page.get_by_label("Anonymous workspace")
    expect(bar).to_be_visible()
    assert page.request.get("/v1/auth/whoami").json()["workspace"]["id"] == workspace
    bar.get_by_role("button", name="Leave").click()
    page.get_by_role("button", name="Leave and delete").click()
    page.wait_for_url("**/sign-in*")
    assert page.request.get("/v1/auth/whoami").status == 401
    kept = daemon.get("/v1/anonymous").json["items"]
    assert workspace not in [one["workspaceId"] for one in kept]


def test_another_browser_sees_nothing_of_it(visit: Open, daemon: Daemon) -> None:
    page = enter(visit, daemon)
    agent = agent_of(page, daemon)
    code = 'return await tools.executor.sources.add({url: "https://example.com/openapi.json", namespace: "x"})'
    asked = about(call(agent, "execute", code=code))
    [interaction] = page.request.get("/v1/interactions").json()["items"]
    assert interaction["executionId"] == asked["executionId"]
    other = enter(visit, daemon, f"/approvals/{interaction['id']}")
    expect(other.get_by_text("there is no interaction", exact=False).first).to_be_visible()
    page.goto(f"/approvals/{interaction['id']}")
    page.get_by_role("button", name="Deny").first.click()
    page.get_by_role("textbox", name="Reason").fill("not now")
    page.get_by_role("button", name="Deny").first.click()
    assert "not now" in str(call(agent, "resume", executionId=asked["executionId"]))
