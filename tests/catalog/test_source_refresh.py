from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from executor.errors import Conflict, NotFound, SourceError
from executor.model.ids import now_ms
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions import events
from executor.storage.tables.core import definitions, tool_versions, tools
from tests.catalog.conftest import CatalogHarness
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Got, Handler, Reply, as_json

PET = {"$ref": "#/components/schemas/Pet"}
LIST = {"/pets": {"get": {"operationId": "listPets", "tags": ["pets"], "responses": answers(PET)}}}
SHOP = {"/shops": {"get": {"operationId": "listShops", "tags": ["shops"]}}}


def parts(kind: str = "string") -> dict[str, Any]:
    owner = {"type": "object", "properties": {"pet": PET}}
    pet = {"type": "object", "properties": {"kind": {"type": kind}, "owner": {"$ref": "#/components/schemas/Owner"}}}
    return {"components": {"schemas": {"Pet": pet, "Owner": owner}}}


def serve(harness: CatalogHarness, paths: dict[str, Any], **more: Any) -> None:
    harness.upstream.routes["/openapi.json"] = as_json(document(paths, **more))


async def count(harness: CatalogHarness, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    return await harness.database.read(lambda c: int(c.execute(query).scalar_one()))


async def test_a_refresh_tells_what_was_added_removed_and_changed(harness: CatalogHarness) -> None:
    await harness.connect({**LIST, **SHOP}, **parts())
    orders = {"/orders": {"get": {"operationId": "listOrders", "tags": ["orders"]}}}
    serve(harness, {**LIST, **orders}, **parts("integer"))
    refreshed = await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    told = refreshed.differences
    assert told.added == ("things.orders.listOrders",)
    assert told.removed == ("things.shops.listShops",)
    assert told.changed == ("things.pets.listPets",)  # only what it refers to has changed
    happened = await harness.database.read(lambda c: events.after(c, harness.workspace))
    assert happened[-1].type == "source.refreshed"
    assert happened[-1].data["changed"] == {"count": 1, "paths": ["things.pets.listPets"]}


async def test_a_source_that_begins_to_fail_says_so_once(harness: CatalogHarness) -> None:
    await harness.connect(LIST)

    async def refresh() -> None:
        with pytest.raises(SourceError):
            await harness.catalog.lifecycle.refresh(harness.workspace, "things")

    async def count_events() -> int:
        found = await harness.database.read(
            lambda c: events.of_types(c, harness.workspace, ["source.failing"], after=0, limit=10)
        )
        return len(found)

    harness.upstream.routes["/openapi.json"] = Reply(500, b"", {})
    await refresh()
    await refresh()
    assert await count_events() == 1
    serve(harness, LIST)
    await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    harness.upstream.routes["/openapi.json"] = Reply(500, b"", {})
    await refresh()
    assert await count_events() == 2


async def test_a_source_that_says_nothing_is_new_is_not_read_again(harness: CatalogHarness) -> None:
    body = as_json(document(LIST, **parts()))

    def conditional(got: Got, handler: Handler) -> Reply:
        if got.headers.get("if-none-match") == '"v1"':
            return Reply(304, b"", {"ETag": '"v1"'})
        return Reply(200, body.body, {**body.headers, "ETag": '"v1"'})

    harness.upstream.routes["/openapi.json"] = conditional
    location = f"{harness.upstream.url}/openapi.json"
    request = SourceRequest(
        kind="openapi", location=location, namespace="things", consented=Consent(private_network=True)
    )
    await harness.catalog.add_source(harness.workspace, request)
    refreshed = await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    assert refreshed.unchanged and not refreshed.differences
    assert refreshed.source.status == "connected"
    assert harness.upstream.requests[-1].headers["if-none-match"] == '"v1"'
    assert await harness.tool("things.pets.listPets")


async def test_a_version_that_was_called_can_be_read_after_the_source_has_changed_and_gone(
    harness: CatalogHarness,
) -> None:
    await harness.connect(LIST, **parts())
    before = await harness.tool("things.pets.listPets")
    serve(harness, LIST, **parts("integer"))
    await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    after = await harness.tool("things.pets.listPets")
    assert before.schema_digest != after.schema_digest
    await harness.catalog.lifecycle.remove(harness.workspace, "things")
    for tool, kind in ((before, "string"), (after, "integer")):
        version = await harness.catalog.version(harness.workspace, tool.schema_digest)
        assert version["path"] == "things.pets.listPets"
        assert kind in str(version["outputSchema"]["$defs"])
        assert "listPets" in version["signature"]
    with pytest.raises(NotFound):
        await harness.catalog.version("ws_other", before.schema_digest)
    with pytest.raises(NotFound):
        await harness.catalog.version(harness.workspace, "ä")


async def test_what_does_not_change_is_stored_once(harness: CatalogHarness) -> None:
    await harness.connect(LIST, **parts())
    assert (await count(harness, tool_versions), await count(harness, definitions)) == (1, 2)
    serve(harness, {**LIST, **SHOP}, **parts())
    await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    assert (await count(harness, tool_versions), await count(harness, definitions)) == (2, 2)
    assert await count(harness, tools) == 2  # rows of the generation before are gone


async def test_many_tools_are_shown_all_at_once_or_not_at_all(harness: CatalogHarness) -> None:
    paths = {f"/p{n}": {"get": {"operationId": f"op{n}", "tags": ["t"]}} for n in range(1_200)}
    adding = asyncio.ensure_future(harness.connect(paths))
    seen: set[int] = set()
    while not adding.done():
        seen.add(len(await harness.catalog.page(harness.workspace, limit=2_000)))
    await adding
    seen.add(len(await harness.catalog.page(harness.workspace, limit=2_000)))
    assert seen <= {0, 1_200} and 1_200 in seen


async def test_a_kind_that_notices_a_change_has_the_source_read_again(harness: CatalogHarness) -> None:
    source = await harness.connect(LIST, **parts())
    serve(harness, {**LIST, **SHOP}, **parts())
    for _ in range(5):
        harness.catalog.lifecycle.source_changed(source.id)
    async with asyncio.timeout(120):
        while await harness.catalog.tool(harness.workspace, "things.shops.listShops") is None:
            pass
    reads = [got for got in harness.upstream.requests if got.target == "/openapi.json"]
    harness.catalog.lifecycle.source_changed("src_gone")
    assert len(reads) <= 4  # told five times, read once (and when it was connected)


async def test_only_what_is_due_is_refreshed_and_a_failure_is_not_tried_again_at_once(harness: CatalogHarness) -> None:
    source = await harness.connect(LIST, **parts())
    upkeep = harness.catalog.lifecycle
    assert await upkeep.refresh_due(3_600, now_ms()) == []
    serve(harness, {**LIST, **SHOP}, **parts())
    assert await upkeep.refresh_due(3_600, now_ms() + 3_600_001) == [source.id]
    assert await harness.tool("things.shops.listShops")
    harness.upstream.routes["/openapi.json"] = Reply(500)
    later = now_ms() + 3_600_001
    assert await upkeep.refresh_due(3_600, later) == [source.id]
    failing = await harness.catalog.source(harness.workspace, "things")
    assert failing is not None and failing.status == "failing"
    assert await harness.tool("things.shops.listShops")
    assert await upkeep.refresh_due(3_600, now_ms() + 3_500_000) == []


async def test_a_source_without_an_address_is_never_due(harness: CatalogHarness) -> None:
    text = as_json(document(SHOP)).body
    request = SourceRequest(
        document=text, namespace="text", base_url="https://api.example.com", consented=Consent(private_network=True)
    )
    source = await harness.catalog.add_source(harness.workspace, request)
    assert await harness.catalog.lifecycle.refresh_due(1, now_ms() + 10_000_000) == []
    with pytest.raises(Conflict, match="can't be refreshed"):
        await harness.catalog.lifecycle.refresh(harness.workspace, source.id)


async def test_operations_keep_their_names_when_the_document_around_them_changes(harness: CatalogHarness) -> None:
    unnamed = {"/a": {"get": {"tags": ["t"], "operationId": "x"}}}
    await harness.connect(unnamed)
    clash = {"/0": {"get": {"tags": ["t"], "operationId": "x"}}, **unnamed}
    serve(harness, clash)
    refreshed = await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    assert refreshed.source.tool_count == 2
    assert not refreshed.differences.removed and not refreshed.differences.changed
    assert (await harness.tool("things.t.x")).binding["path"] == "/a"
