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
from tests.catalog.conftest import House
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Reply, as_json

LIST = {"/things": {"get": {"operationId": "listThings", "tags": ["things"]}}}
MORE = {**LIST, "/others": {"get": {"operationId": "listOthers", "tags": ["things"]}}}


async def happened(house: House) -> list[str]:
    return [event.type for event in await house.database.read(lambda c: events.after(c, house.workspace))]


async def revision(house: House) -> int:
    query = sa.select(workspaces.c.catalog_revision)
    return await house.database.read(lambda c: int(c.execute(query).scalar_one()))


async def test_an_added_source_has_tools_an_event_and_a_new_revision(house: House) -> None:
    before = await revision(house)
    source = await house.connect(LIST)
    assert (source.namespace, source.tool_count, source.status) == ("things", 1, "connected")
    assert (await house.tool("things.things.listThings")).source_id == source.id
    assert await house.catalog.source(house.workspace, "things") == source
    assert await house.catalog.sources(house.workspace) == [source]
    assert await happened(house) == ["source.added"]
    assert await revision(house) == before + 1


async def test_paths_are_exact(house: House) -> None:
    await house.connect(LIST)
    for path in (
        "things.things.listthings",
        "things.things.listThings.",
        "things.things.*",
        "things%2ethings.listThings",
    ):
        assert await house.catalog.tool(house.workspace, path) is None
    assert await house.catalog.tool("ws_other", "things.things.listThings") is None


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\U0010ffff", "ä", "x" * 100_000])
async def test_text_that_can_be_no_path_is_simply_not_found(house: House, text: str) -> None:
    await house.connect(LIST)
    assert await house.catalog.tool(house.workspace, text) is None
    assert await house.catalog.source(house.workspace, text) is None
    assert await house.catalog.page(house.workspace, prefix=text) == []
    with pytest.raises(NotFound):
        await house.catalog.describe(house.workspace, text)
    await house.catalog.search(house.workspace, text, namespace=text)


async def test_a_refresh_replaces_the_tools(house: House) -> None:
    source = await house.connect(LIST)
    await house.catalog.search(house.workspace, "others")
    house.upstream.routes["/openapi.json"] = as_json(document(MORE))
    fresh = await house.catalog.refresh_source(house.workspace, "things")
    assert (fresh.id, fresh.tool_count) == (source.id, 2)
    assert fresh.document_digest != source.document_digest
    found = await house.catalog.search(house.workspace, "others")
    assert found["bestPath"] == "things.things.listOthers"
    house.upstream.routes["/openapi.json"] = as_json(document(LIST))
    await house.catalog.refresh_source(house.workspace, source.id)
    assert await house.catalog.tool(house.workspace, "things.things.listOthers") is None


@pytest.mark.parametrize("reply", [Reply(500), Reply(200, b"<html>", {}), as_json(document({}))])
async def test_a_source_that_fails_keeps_its_tools(house: House, reply: Reply) -> None:
    await house.connect(LIST)
    house.upstream.routes["/openapi.json"] = reply
    with pytest.raises((SourceUnreachable, DocumentInvalid)):
        await house.catalog.refresh_source(house.workspace, "things")
    source = await house.catalog.source(house.workspace, "things")
    assert source is not None and source.status == "failing" and source.error
    assert await house.tool("things.things.listThings")
    house.upstream.routes["/openapi.json"] = as_json(document(LIST))
    assert (await house.catalog.refresh_source(house.workspace, "things")).status == "connected"


async def test_a_removed_source_offers_nothing_any_more(house: House) -> None:
    schema = {"$ref": "#/components/schemas/T"}
    parts = {"components": {"schemas": {"T": {"type": "object", "properties": {"a": {}}}}}}
    await house.connect({"/a": {"get": {"operationId": "x", "tags": ["t"], "responses": answers(schema)}}}, **parts)
    tool = await house.tool("things.t.x")
    await house.catalog.remove_source(house.workspace, "things")
    assert await house.catalog.tool(house.workspace, "things.t.x") is None
    query = sa.select(sa.func.count()).select_from(tools)
    assert await house.database.read(lambda c: c.execute(query).scalar_one()) == 0
    with pytest.raises(ToolError) as caught:
        await house.catalog.invoke(tool, {}, idempotency_key="")
    assert caught.value.tool_code == "unknown_tool"
    assert (await happened(house))[-1] == "source.removed"


async def test_namespaces_are_taken_once(house: House) -> None:
    await house.connect(LIST)
    loaded = len(house.upstream.requests)
    with pytest.raises(NamespaceTaken):
        await house.connect(LIST)
    assert len(house.upstream.requests) == loaded
    with pytest.raises(NamespaceTaken):  # also when it comes from the title
        await house.connect(LIST, namespace="")


async def test_of_two_that_want_a_namespace_at_once_one_gets_it(house: House) -> None:
    outcomes = await asyncio.gather(*(house.connect(LIST) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(outcome, NamespaceTaken) for outcome in outcomes) == 3
    assert len(await house.catalog.sources(house.workspace)) == 1


@pytest.mark.parametrize("namespace", ["discover", "describe", "executor", "tools"])
async def test_the_namespaces_of_built_in_tools_are_reserved(house: House, namespace: str) -> None:
    with pytest.raises(NamespaceTaken, match="reserved"):
        await house.connect(LIST, namespace=namespace)


@pytest.mark.parametrize("namespace", ["A", "1a", "a.b", "a-b", "__proto__", "a" * 64, "ä", "a b", "*"])
async def test_namespaces_have_one_form(house: House, namespace: str) -> None:
    with pytest.raises(InvalidRequest):
        await house.connect(LIST, namespace=namespace)


async def test_an_unknown_source_or_kind_is_named(house: House) -> None:
    for act in (house.catalog.refresh_source, house.catalog.remove_source):
        with pytest.raises(NotFound, match="nope"):
            await act(house.workspace, "nope")
    with pytest.raises(InvalidRequest, match="soap"):
        await house.catalog.add_source(house.workspace, SourceRequest(kind="soap", location="https://example.com"))


async def test_a_source_of_another_workspace_is_out_of_reach(house: House) -> None:
    source = await house.connect(LIST)
    assert await house.catalog.source("ws_other", source.id) is None
    with pytest.raises(NotFound):
        await house.catalog.remove_source("ws_other", source.id)


async def test_pages_go_through_all_tools_in_order(house: House) -> None:
    paths = {f"/p{number}": {"get": {"operationId": f"op{number:02}", "tags": ["t"]}} for number in range(25)}
    await house.connect(paths)
    await house.connect(LIST, namespace="more")
    first = await house.catalog.page(house.workspace, limit=20)
    second = await house.catalog.page(house.workspace, limit=20, after=first[-1].path)
    assert len(first + second) == 26
    assert [head.path for head in first + second] == sorted(head.path for head in first + second)
    assert len(await house.catalog.page(house.workspace, prefix="things.t.op1")) == 10
    assert [head.path for head in await house.catalog.page(house.workspace, source="more")] == [
        "more.things.listThings"
    ]
    with pytest.raises(NotFound):
        await house.catalog.page(house.workspace, source="nope")
