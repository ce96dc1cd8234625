from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa

from executor.errors import (
    DocumentInvalid,
    InvalidRequest,
    NamespaceTaken,
    NotFound,
    SourceUnreachable,
    ToolError,
)
from executor.sources.source_request import SourceRequest
from executor.storage.executions import events
from executor.storage.tables.core import tools, workspaces
from tests.catalog.conftest import CatalogHarness
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Reply, as_json

LIST = {"/things": {"get": {"operationId": "listThings", "tags": ["things"]}}}
MORE = {**LIST, "/others": {"get": {"operationId": "listOthers", "tags": ["things"]}}}


async def event_types(harness: CatalogHarness) -> list[str]:
    return [event.type for event in await harness.database.read(lambda c: events.after(c, harness.workspace))]


async def revision(harness: CatalogHarness) -> int:
    query = sa.select(workspaces.c.catalog_revision)
    return await harness.database.read(lambda c: int(c.execute(query).scalar_one()))


async def test_an_added_source_has_tools_an_event_and_a_new_revision(harness: CatalogHarness) -> None:
    before = await revision(harness)
    source = await harness.connect(LIST)
    assert (source.namespace, source.tool_count, source.status) == ("things", 1, "connected")
    assert (await harness.tool("things.things.listThings")).source_id == source.id
    assert await harness.catalog.source(harness.workspace, "things") == source
    assert await harness.catalog.sources(harness.workspace) == [source]
    assert await event_types(harness) == ["source.added"]
    assert await revision(harness) == before + 1


async def test_paths_are_exact(harness: CatalogHarness) -> None:
    await harness.connect(LIST)
    for path in (
        "things.things.listthings",
        "things.things.listThings.",
        "things.things.*",
        "things%2ethings.listThings",
    ):
        assert await harness.catalog.tool(harness.workspace, path) is None
    assert await harness.catalog.tool("ws_other", "things.things.listThings") is None


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\U0010ffff", "ä", "x" * 100_000])
async def test_text_that_can_be_no_path_is_simply_not_found(harness: CatalogHarness, text: str) -> None:
    await harness.connect(LIST)
    assert await harness.catalog.tool(harness.workspace, text) is None
    assert await harness.catalog.source(harness.workspace, text) is None
    assert await harness.catalog.page(harness.workspace, prefix=text) == []
    with pytest.raises(NotFound):
        await harness.catalog.describe(harness.workspace, text)
    await harness.catalog.search(harness.workspace, text, namespace=text)


async def test_a_refresh_replaces_the_tools(harness: CatalogHarness) -> None:
    source = await harness.connect(LIST)
    await harness.catalog.search(harness.workspace, "others")
    harness.upstream.routes["/openapi.json"] = as_json(document(MORE))
    fresh = (await harness.catalog.lifecycle.refresh(harness.workspace, "things")).source
    assert (fresh.id, fresh.tool_count) == (source.id, 2)
    assert fresh.document_digest != source.document_digest
    found = await harness.catalog.search(harness.workspace, "others")
    assert found["bestPath"] == "things.things.listOthers"
    harness.upstream.routes["/openapi.json"] = as_json(document(LIST))
    await harness.catalog.lifecycle.refresh(harness.workspace, source.id)
    assert await harness.catalog.tool(harness.workspace, "things.things.listOthers") is None


@pytest.mark.parametrize("reply", [Reply(500), Reply(200, b"<html>", {}), as_json(document({}))])
async def test_a_source_that_fails_keeps_its_tools(harness: CatalogHarness, reply: Reply) -> None:
    await harness.connect(LIST)
    harness.upstream.routes["/openapi.json"] = reply
    with pytest.raises((SourceUnreachable, DocumentInvalid)):
        await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    source = await harness.catalog.source(harness.workspace, "things")
    assert source is not None and source.status == "failing" and source.error
    assert await harness.tool("things.things.listThings")
    harness.upstream.routes["/openapi.json"] = as_json(document(LIST))
    assert (await harness.catalog.lifecycle.refresh(harness.workspace, "things")).source.status == "connected"


async def test_a_removed_source_offers_nothing_any_more(harness: CatalogHarness) -> None:
    schema = {"$ref": "#/components/schemas/T"}
    parts = {"components": {"schemas": {"T": {"type": "object", "properties": {"a": {}}}}}}
    await harness.connect({"/a": {"get": {"operationId": "x", "tags": ["t"], "responses": answers(schema)}}}, **parts)
    tool = await harness.tool("things.t.x")
    await harness.catalog.lifecycle.remove(harness.workspace, "things")
    assert await harness.catalog.tool(harness.workspace, "things.t.x") is None
    query = sa.select(sa.func.count()).select_from(tools)
    assert await harness.database.read(lambda c: c.execute(query).scalar_one()) == 0
    with pytest.raises(ToolError) as caught:
        await harness.catalog.invoke(tool, {}, idempotency_key="")
    assert caught.value.tool_code == "unknown_tool"
    assert (await event_types(harness))[-1] == "source.removed"


async def test_namespaces_are_taken_once(harness: CatalogHarness) -> None:
    await harness.connect(LIST)
    loaded = len(harness.upstream.requests)
    with pytest.raises(NamespaceTaken):
        await harness.connect(LIST)
    assert len(harness.upstream.requests) == loaded
    with pytest.raises(NamespaceTaken):  # also when it comes from the title
        await harness.connect(LIST, namespace="")


async def test_of_two_that_want_a_namespace_at_once_one_gets_it(harness: CatalogHarness) -> None:
    outcomes = await asyncio.gather(*(harness.connect(LIST) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(outcome, NamespaceTaken) for outcome in outcomes) == 3
    assert len(await harness.catalog.sources(harness.workspace)) == 1


@pytest.mark.parametrize("namespace", ["discover", "describe", "executor", "tools"])
async def test_the_namespaces_of_built_in_tools_are_reserved(harness: CatalogHarness, namespace: str) -> None:
    with pytest.raises(NamespaceTaken, match="reserved"):
        await harness.connect(LIST, namespace=namespace)


@pytest.mark.parametrize("namespace", ["A", "1a", "a.b", "a-b", "__proto__", "a" * 64, "ä", "a b", "*"])
async def test_namespaces_have_one_form(harness: CatalogHarness, namespace: str) -> None:
    with pytest.raises(InvalidRequest):
        await harness.connect(LIST, namespace=namespace)


async def test_an_unknown_source_or_kind_is_named(harness: CatalogHarness) -> None:
    for act in (harness.catalog.lifecycle.refresh, harness.catalog.lifecycle.remove):
        with pytest.raises(NotFound, match="nope"):
            await act(harness.workspace, "nope")
    with pytest.raises(InvalidRequest, match="soap"):
        await harness.catalog.add_source(harness.workspace, SourceRequest(kind="soap", location="https://example.com"))


async def test_a_source_of_another_workspace_is_out_of_reach(harness: CatalogHarness) -> None:
    source = await harness.connect(LIST)
    assert await harness.catalog.source("ws_other", source.id) is None
    with pytest.raises(NotFound):
        await harness.catalog.lifecycle.remove("ws_other", source.id)


async def test_pages_go_through_all_tools_in_order(harness: CatalogHarness) -> None:
    paths = {f"/p{number}": {"get": {"operationId": f"op{number:02}", "tags": ["t"]}} for number in range(25)}
    await harness.connect(paths)
    await harness.connect(LIST, namespace="more")
    first = await harness.catalog.page(harness.workspace, limit=20)
    second = await harness.catalog.page(harness.workspace, limit=20, after=first[-1].path)
    assert len(first + second) == 26
    assert [head.path for head in first + second] == sorted(head.path for head in first + second)
    assert len(await harness.catalog.page(harness.workspace, prefix="things.t.op1")) == 10
    assert [head.path for head in await harness.catalog.page(harness.workspace, source="more")] == [
        "more.things.listThings"
    ]
    with pytest.raises(NotFound):
        await harness.catalog.page(harness.workspace, source="nope")
