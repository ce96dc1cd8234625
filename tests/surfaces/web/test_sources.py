"""The pages of sources: from an empty page to a first call, tools, the form, documents, changes, settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from executor.identity.local_tokens import read_agent_token
from executor.surfaces.clients.snippets import bridge_command, snippets
from tests.sources.openapi.documents import answers, document, json_body
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.people import guest

KEY = "canary-71be-key"
ADDRESS = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"type": "string", "description": "Where it goes."}, "zip": {"type": "string"}},
}
ORDER = {
    "type": "object",
    "required": ["customer", "size", "address"],
    "properties": {
        "customer": {"type": "string", "minLength": 2},
        "size": {"enum": ["small", "large"], "description": "How much fits in."},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "gift": {"type": "boolean"},
        "due": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"$ref": "#/components/schemas/Address"},
        "extra": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"deep": {"type": "number"}}}]},
        "parent": {"$ref": "#/components/schemas/Order"},
    },
}
COMPONENTS = {
    "schemas": {"Order": ORDER, "Address": ADDRESS},
    "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
}


def paths(**more: Any) -> dict[str, Any]:
    listed = {
        "operationId": "listOrders",
        "tags": ["orders"],
        "summary": "List orders",
        "description": "Newest first.\n\n- one\n- two `code`",
        "responses": answers({"type": "array", "items": {"$ref": "#/components/schemas/Order"}}),
    }
    make = {
        "operationId": "createOrder",
        "tags": ["orders"],
        "summary": "Place an order",
        "requestBody": json_body({"$ref": "#/components/schemas/Order"}, required=True),
        "responses": answers({"type": "object"}, "201"),
    }
    files = {
        f"/files/{index}": {"get": {"operationId": f"readFile{index}", "tags": ["files"], "summary": f"Read {index}"}}
        for index in range(40)
    }
    locked = {"get": {"operationId": "openVault", "tags": ["vault"], "security": [{"key": []}]}}
    return {"/orders": {"get": listed, "post": make}, "/vault": locked, **files, **more}


def serve(upstream: Upstream, **more: Any) -> None:
    told = document(paths(**more), components=COMPONENTS, servers=[{"url": upstream.url}])
    upstream.routes["/openapi.json"] = as_json(told)


def vault(got: Got, handler: Handler) -> Reply:
    return as_json({"open": True}) if got.headers.get("x-key") == KEY else as_json({"error": "no key"}, 401)


def orders(got: Got, handler: Handler) -> Reply:
    return as_json({"placed": got.json}, 201) if got.method == "POST" else as_json([])


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("sources")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def store(daemon: Daemon) -> Iterator[Upstream]:
    """A source `store`: orders to place, files to read, and a vault that wants a key."""
    with serving() as upstream:
        serve(upstream)
        upstream.routes |= {"/orders": orders, "/vault": vault}
        upstream.otherwise = as_json({"text": "content"})
        added = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "store"})
        assert added.status == 201, added.body
        yield upstream


def test_an_empty_page_leads_to_a_first_call_and_to_one_that_asks(visit: Open, daemon: Daemon) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", name="Nothing is connected yet")).to_be_visible()
    other = visit("/", within=page.context)
    expect(other.get_by_text("Live", exact=True).first).to_be_visible()
    page.get_by_role("button", name="Connect the demo").click()
    steps = page.get_by_role("region", name="First steps")
    expect(steps).to_be_visible()
    expect(other.get_by_role("region", name="First steps")).to_be_visible()  # by the live stream
    other.close()
    steps.get_by_role("link", name="List the invoices").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("Ada Lovelace")
    page.goto("/")
    expect(steps.get_by_text("done").first).to_be_attached()
    steps.get_by_role("link", name="Refund an invoice").click()
    expect(page.get_by_label("id", exact=True)).to_have_value("inv_1001")
    page.get_by_label("amount", exact=True).fill("0")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("more than 0")
    page.get_by_label("amount", exact=True).fill("5")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("button", name="Allow once")).to_be_visible()
    [approval] = daemon.get("/v1/interactions?status=pending").json["items"]
    assert daemon.post(f"/v1/interactions/{approval['id']}/approve").status == 200
    expect(page.get_by_role("region", name="Result")).to_contain_text("ref_1")  # it went on by itself
    assert daemon.get("/v1/sources/demo").json["hosted"] == "demo"


def test_the_tree_of_tools_is_walked_with_the_keyboard(visit: Open, store: Upstream) -> None:
    page = visit("/sources/store")
    tools = page.get_by_role("list", name="Tools")
    tools.get_by_role("button", name="files").focus()
    focused = page.locator(":focus")
    page.keyboard.press("ArrowDown")
    expect(focused).to_contain_text("readFile0")
    page.keyboard.press("End")
    expect(focused).to_contain_text("openVault")
    page.keyboard.press("Home")
    expect(focused).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowLeft")
    expect(focused).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowDown")
    expect(focused).to_contain_text("orders")
    page.keyboard.type("creat")
    expect(focused).to_contain_text("createOrder")
    page.keyboard.press("ArrowLeft")
    expect(focused).to_contain_text("orders")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("store.orders.createOrder")
    page.keyboard.press("/")
    page.keyboard.type("place an order")
    first = tools.get_by_role("button").first
    expect(first).to_contain_text("Place an order")
    page.keyboard.press("ArrowDown")
    expect(focused).to_contain_text("store.orders.createOrder")


def test_a_tool_is_shown_as_fields_that_open_without_end(visit: Open, store: Upstream) -> None:
    page = visit("/sources/store?tool=store.orders.createOrder")
    fields = page.get_by_role("region", name="Input fields")
    expect(fields).to_contain_text("required")
    expect(fields).to_contain_text("How much fits in.")
    expect(fields).to_contain_text('"small"')
    expect(fields).to_contain_text("default 1")
    expect(fields.get_by_text("Where it goes.").first).to_be_visible()
    fields.get_by_role("button", name="Fields of parent").click()
    seen = fields.get_by_text("customer", exact=True).count()
    for deeper in range(1, 4):  # an order within an order within an order
        fields.get_by_role("button", name="Fields of parent").last.click()
        expect(fields.get_by_text("customer", exact=True)).to_have_count(seen + deeper)
    page.goto("/sources/store?tool=store.orders.listOrders")
    expect(page.get_by_role("article").get_by_role("listitem").filter(has_text="two code")).to_be_visible()
    page.get_by_role("tab", name="Python").click()
    expect(page.get_by_role("region", name="Python signature")).to_contain_text("list")
    page.get_by_role("tab", name="JSON").click()
    expect(page.get_by_role("region", name="tool as JSON")).to_contain_text("outputSchema")


def test_the_form_follows_the_schema_and_says_what_is_wrong_before_anything_is_sent(
    visit: Open, daemon: Daemon, store: Upstream
) -> None:
    daemon.post("/v1/policies", {"pattern": "store.orders.createOrder", "action": "allow"})
    page = visit("/sources/store?tool=store.orders.createOrder&tab=try")
    expect(page.get_by_label("customer", exact=True)).to_have_value("")
    page.get_by_label("customer", exact=True).fill("A")
    page.get_by_label("count (optional)").fill("12")
    before = len(store.requests)
    page.get_by_role("button", name="Run").click()
    form = page.get_by_role("tabpanel", name="Try it")
    for problem in ("at least 2 characters", "at most 9", "This is required"):
        expect(form).to_contain_text(problem)
    expect(page.get_by_label("customer", exact=True)).to_be_focused()
    assert len(store.requests) == before
    page.get_by_label("customer", exact=True).fill("Ada")
    page.get_by_label("size", exact=True).select_option("large")
    page.get_by_label("count (optional)").fill("2")
    page.get_by_label("gift (optional)").select_option("true")
    page.get_by_label("due (optional)").fill("2030-01-31")
    page.get_by_label("city", exact=True).first.fill("Paris")
    page.get_by_role("button", name="Give tags").click()
    page.get_by_role("button", name="Add an item").click()
    page.get_by_label("item 1", exact=True).fill("red")
    page.get_by_label("extra (optional) as JSON").fill('{"deep": 1.5}')
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("Paris")
    assert store.requests[-1].json == {
        "customer": "Ada",
        "size": "large",
        "count": 2,
        "gift": True,
        "due": "2030-01-31",
        "tags": ["red"],
        "address": {"city": "Paris"},
        "extra": {"deep": 1.5},
    }
    page.get_by_role("button", name="Edit as JSON").click()
    expect(page.get_by_label("Arguments as JSON")).to_have_value(lambda_text('"city": "Paris"'))


def lambda_text(text: str) -> Any:
    import re

    return re.compile(re.escape(text))


def test_what_changed_stays_readable_and_the_document_is_shown_and_saved(
    visit: Open, daemon: Daemon, store: Upstream, tmp_path: Path
) -> None:
    page = visit("/sources/store?view=changes")
    expect(page.get_by_text("Nothing has changed since it was connected")).to_be_visible()
    ORDER["properties"]["colour"] = {"type": "string"}  # type: ignore[index]
    serve(store, **{"/new": {"get": {"operationId": "newThing", "tags": ["new"]}}})
    page.get_by_role("button", name="Refresh").click()
    changes = page.get_by_role("region", name="Changes")
    expect(changes).to_contain_text("1 added")
    changed = changes.get_by_role("listitem").filter(has_text="store.orders.createOrder").first
    expect(changed).to_contain_text("input.colour")
    page.reload()
    changes.get_by_role("link", name="store.new.thing").click()
    expect(page.get_by_role("article")).to_contain_text("store.new.thing")
    page.get_by_role("tab", name="Document").click()
    text = page.get_by_role("region", name="Text of the document")
    expect(text).to_contain_text('"openapi": "3.1.0"')
    with page.expect_download() as saving:
        page.get_by_role("button", name="Download").click()
    saving.value.save_as(tmp_path / "saved")
    reply = store.routes["/openapi.json"]
    assert isinstance(reply, Reply) and (tmp_path / "saved").read_bytes() == reply.body
    assert saving.value.suggested_filename == "store.json"


def test_a_large_document_is_read_as_it_is_scrolled(visit: Open, daemon: Daemon, store: Upstream) -> None:
    words = {f"x-note-{index}": "word " * 200 for index in range(6_000)}
    told = document({"/a": {"get": {"operationId": "a"}}}, servers=[{"url": store.url}], **words)
    store.routes["/large.json"] = as_json(told)
    added = daemon.post("/v1/sources", {"location": f"{store.url}/large.json", "namespace": "large"})
    assert added.status == 201, added.body
    page = visit("/sources/large?view=document")
    text = page.get_by_role("region", name="Text of the document")
    expect(page.get_by_text("scroll for more")).to_be_visible()
    assert text.locator("code").count() < 200
    read = page.get_by_text("scroll for more").inner_text()
    text.evaluate("element => element.scrollTo(0, element.scrollHeight)")
    expect(page.get_by_text(read)).to_have_count(0)
    assert text.locator("code").count() < 200
    daemon.request("DELETE", "/v1/sources/large")


def test_a_credential_is_given_tested_and_used_and_never_shown(visit: Open, daemon: Daemon, store: Upstream) -> None:
    page = visit("/sources/store/edit")
    page.get_by_label("Header X-Key").fill(KEY)
    page.get_by_role("button", name="Save the credential").click()
    expect(page.get_by_text("ready")).to_be_visible()
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("Ok: store.vault.openVault works with the credential and fails without it")).to_be_visible()
    page.goto("/sources/store?tool=store.vault.openVault&tab=try")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("open")
    assert KEY not in page.content()


def test_settings_rename_and_disconnecting_says_what_depends_on_it(
    visit: Open, daemon: Daemon, store: Upstream
) -> None:
    with serving() as upstream:
        serve(upstream)
        daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "doomed"})
        daemon.post("/v1/policies", {"pattern": "doomed.orders.*", "action": "require_approval"})
        paused = daemon.execute("return await tools.doomed.orders.listOrders({})")
        assert paused["status"] == "paused", paused
        page = visit("/sources/doomed/edit")
        page.get_by_label("Name", exact=True).fill("Doomed shop")
        page.get_by_role("button", name="Save the name").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Doomed shop")
        page.get_by_role("button", name="Disconnect…").click()
        felt = page.get_by_role("dialog")
        expect(felt).to_contain_text("doomed.orders.listOrders")
        expect(felt).to_contain_text("doomed.orders.*")
        expect(felt).to_contain_text("in the last 500 executions")
        page.keyboard.press("Escape")
        expect(felt).to_have_count(0)
        assert daemon.get("/v1/sources/doomed").status == 200
        page.get_by_role("button", name="Disconnect…").click()
        felt.get_by_role("button", name="Disconnect").click()
        page.wait_for_url(f"{daemon.url}/")
        assert daemon.get("/v1/sources/doomed").status == 404


def test_a_failing_source_says_why_and_is_tried_again(visit: Open, daemon: Daemon, store: Upstream) -> None:
    kept = store.routes["/openapi.json"]
    store.routes["/openapi.json"] = as_json({}, 503)
    daemon.post("/v1/sources/store/refresh")
    page = visit("/", viewport={"width": 380, "height": 780})
    row = page.get_by_role("list", name="Connected sources").get_by_role("listitem").filter(has_text="store")
    expect(row).to_contain_text("answered 503")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    store.routes["/openapi.json"] = kept
    row.get_by_role("button", name="Try again").click()
    expect(row.get_by_text("✓ connected")).to_be_visible()
    wait_for(lambda: daemon.get("/v1/sources/store").json["status"] == "connected")


def test_an_agent_is_connected_with_the_exact_text_of_its_client(visit: Open, daemon: Daemon, store: Upstream) -> None:
    page = visit("/", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy for Claude Code", exact=True).click()
    command = bridge_command(daemon.executor.settings)
    assert page.evaluate("navigator.clipboard.readText()") == snippets(command, daemon.url)[0].stdio
    for title, one in (("Cursor", 2), ("VS Code", 3)):
        page.get_by_role("tab", name=title, exact=True).click()
        link = page.get_by_role("link", name=f"Install in {title}")
        expect(link).to_have_attribute("href", str(snippets(command, daemon.url)[one].install))
    page.get_by_role("tab", name="Codex").click()
    expect(page.get_by_role("link", name="Install in")).to_have_count(0)
    page.get_by_text("Over HTTP", exact=True).click()
    expect(page.get_by_text(f"{daemon.url}/mcp")).to_be_visible()
    assert json.dumps(KEY) not in page.content()


def test_an_agent_made_beside_the_text_is_in_it_with_its_token(visit: Open, daemon: Daemon, store: Upstream) -> None:
    daemon.post("/v1/agents", {"name": "gemini"})
    page = visit("/", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("tab", name="Gemini CLI").click()
    page.get_by_role("button", name="Create an agent for Gemini CLI").click()
    expect(page.get_by_role("tabpanel").get_by_role("status")).to_contain_text("acts as agent gemini-2")
    expect(page.get_by_role("tabpanel")).to_contain_text('"--agent", "gemini-2"')
    page.get_by_text("Over HTTP", exact=True).click()
    page.get_by_role("button", name="Copy for Gemini CLI over HTTP").click()
    entry = json.loads(page.evaluate("navigator.clipboard.readText()"))["mcpServers"]["executor"]
    token = entry["headers"]["Authorization"].removeprefix("Bearer ")
    assert daemon.get("/v1/auth/whoami", role=token).json["name"] == "gemini-2"
    assert read_agent_token(daemon.executor.settings.data_dir, "gemini-2") == token
    page.get_by_role("tab", name="Codex").click()
    expect(page.get_by_role("button", name="Create an agent for Codex")).to_be_visible()
    expect(page.get_by_role("tabpanel")).not_to_contain_text("gemini-2")


def test_a_member_sees_the_address_and_where_a_key_is_made(visit: Open, daemon: Daemon, store: Upstream) -> None:
    page = guest(visit, daemon, "member", "Clara")
    page.goto("/")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text(f"{daemon.url}/mcp")
    assert str(daemon.executor.settings.data_dir) not in page.content()
    expect(page.get_by_role("button", name="Create an agent")).to_have_count(0)
    page.get_by_role("link", name="Create a key").click()
    page.wait_for_url("**/settings?tab=keys")


def test_on_a_narrow_screen_tools_detail_and_views_fit(visit: Open, store: Upstream) -> None:
    page = visit("/sources/store", viewport={"width": 380, "height": 780})
    page.get_by_role("list", name="Tools").get_by_role("button", name="readFile3", exact=True).click()
    expect(page.get_by_role("article")).to_be_visible()
    for part in ("", "&tab=try", "&tab=typescript", "&tab=json"):
        page.goto(f"/sources/store?tool=store.orders.createOrder{part}")
        expect(page.get_by_role("article")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, part
    for view in ("changes", "document"):
        page.goto(f"/sources/store?view={view}")
        expect(page.get_by_role("tabpanel").get_by_role("region").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, view
