from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from executor.errors import Conflict, NotFound
from executor.model.ids import now_ms
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions import events
from executor.storage.tables.core import definitions, tool_versions, tools
from tests.catalog.conftest import House
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Got, Handler, Reply, as_json

PET = {"$ref": "#/components/schemas/Pet"}
LIST = {"/pets": {"get": {"operationId": "listPets", "tags": ["pets"], "responses": answers(PET)}}}
SHOP = {"/shops": {"get": {"operationId": "listShops", "tags": ["shops"]}}}


def parts(kind: str = "string") -> dict[str, Any]:
    owner = {"type": "object", "properties": {"pet": PET}}
    pet = {"type": "object", "properties": {"kind": {"type": kind}, "owner": {"$ref": "#/components/schemas/Owner"}}}
    return {"components": {"schemas": {"Pet": pet, "Owner": owner}}}


def serve(house: House, paths: dict[str, Any], **more: Any) -> None:
    house.upstream.routes["/openapi.json"] = as_json(document(paths, **more))


async def count(house: House, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    return await house.database.read(lambda c: int(c.execute(query).scalar_one()))


async def test_a_refresh_tells_what_was_added_removed_and_changed(house: House) -> None:
    await house.connect({**LIST, **SHOP}, **parts())
    orders = {"/orders": {"get": {"operationId": "listOrders", "tags": ["orders"]}}}
    serve(house, {**LIST, **orders}, **parts("integer"))
    refreshed = await house.catalog.refresh(house.workspace, "things")
    told = refreshed.differences
    assert told.added == ("things.orders.listOrders",)
    assert told.removed == ("things.shops.listShops",)
    assert told.changed == ("things.pets.listPets",)  # only what it refers to has changed
    happened = await house.database.read(lambda c: events.after(c, house.workspace))
    assert happened[-1].type == "source.refreshed"
    assert happened[-1].data["changed"] == {"count": 1, "paths": ["things.pets.listPets"]}


async def test_a_source_that_says_nothing_is_new_is_not_read_again(house: House) -> None:
    body = as_json(document(LIST, **parts()))

    def conditional(got: Got, handler: Handler) -> Reply:
        if got.headers.get("if-none-match") == '"v1"':
            return Reply(304, b"", {"ETag": '"v1"'})
        return Reply(200, body.body, {**body.headers, "ETag": '"v1"'})

    house.upstream.routes["/openapi.json"] = conditional
    location = f"{house.upstream.url}/openapi.json"
    request = SourceRequest(
        kind="openapi", location=location, namespace="things", consented=Consent(private_network=True)
    )
    await house.catalog.add_source(house.workspace, request)
    refreshed = await house.catalog.refresh(house.workspace, "things")
    assert refreshed.unchanged and not refreshed.differences
    assert refreshed.source.status == "connected"
    assert house.upstream.requests[-1].headers["if-none-match"] == '"v1"'
    assert await house.tool("things.pets.listPets")


async def test_a_version_that_was_called_can_be_read_after_the_source_has_changed_and_gone(house: House) -> None:
    await house.connect(LIST, **parts())
    before = await house.tool("things.pets.listPets")
    serve(house, LIST, **parts("integer"))
    await house.catalog.refresh(house.workspace, "things")
    after = await house.tool("things.pets.listPets")
    assert before.schema_digest != after.schema_digest
    await house.catalog.remove_source(house.workspace, "things")
    for tool, kind in ((before, "string"), (after, "integer")):
        version = await house.catalog.version(house.workspace, tool.schema_digest)
        assert version["path"] == "things.pets.listPets"
        assert kind in str(version["outputSchema"]["$defs"])
        assert "listPets" in version["signature"]
    with pytest.raises(NotFound):
        await house.catalog.version("ws_other", before.schema_digest)
    with pytest.raises(NotFound):
        await house.catalog.version(house.workspace, "ä")


async def test_what_does_not_change_is_stored_once(house: House) -> None:
    await house.connect(LIST, **parts())
    assert (await count(house, tool_versions), await count(house, definitions)) == (1, 2)
    serve(house, {**LIST, **SHOP}, **parts())
    await house.catalog.refresh(house.workspace, "things")
    assert (await count(house, tool_versions), await count(house, definitions)) == (2, 2)
    assert await count(house, tools) == 2  # rows of the generation before are gone


async def test_many_tools_are_shown_all_at_once_or_not_at_all(house: House) -> None:
    paths = {f"/p{n}": {"get": {"operationId": f"op{n}", "tags": ["t"]}} for n in range(1_200)}
    adding = asyncio.ensure_future(house.connect(paths))
    seen: set[int] = set()
    while not adding.done():
        seen.add(len(await house.catalog.page(house.workspace, limit=2_000)))
    await adding
    seen.add(len(await house.catalog.page(house.workspace, limit=2_000)))
    assert seen <= {0, 1_200} and 1_200 in seen


async def test_a_kind_that_notices_a_change_has_the_source_read_again(house: House) -> None:
    source = await house.connect(LIST, **parts())
    serve(house, {**LIST, **SHOP}, **parts())
    for _ in range(5):
        house.catalog.lifecycle.source_changed(source.id)
    async with asyncio.timeout(120):
        while await house.catalog.tool(house.workspace, "things.shops.listShops") is None:
            pass
    reads = [got for got in house.upstream.requests if got.target == "/openapi.json"]
    house.catalog.lifecycle.source_changed("src_gone")
    assert len(reads) <= 4  # told five times, read once (and when it was connected)


async def test_only_what_is_due_is_refreshed_and_a_failure_is_not_tried_again_at_once(house: House) -> None:
    source = await house.connect(LIST, **parts())
    upkeep = house.catalog.lifecycle
    assert await upkeep.refresh_due(3_600, now_ms()) == []
    serve(house, {**LIST, **SHOP}, **parts())
    assert await upkeep.refresh_due(3_600, now_ms() + 3_600_001) == [source.id]
    assert await house.tool("things.shops.listShops")
    house.upstream.routes["/openapi.json"] = Reply(500)
    later = now_ms() + 3_600_001
    assert await upkeep.refresh_due(3_600, later) == [source.id]
    failing = await house.catalog.source(house.workspace, "things")
    assert failing is not None and failing.status == "failing"
    assert await house.tool("things.shops.listShops")
    assert await upkeep.refresh_due(3_600, now_ms() + 3_500_000) == []


async def test_a_source_without_an_address_is_never_due(house: House) -> None:
    text = as_json(document(SHOP)).body
    request = SourceRequest(
        document=text, namespace="text", base_url="https://api.example.com", consented=Consent(private_network=True)
    )
    source = await house.catalog.add_source(house.workspace, request)
    assert await house.catalog.lifecycle.refresh_due(1, now_ms() + 10_000_000) == []
    with pytest.raises(Conflict, match="can't be refreshed"):
        await house.catalog.refresh(house.workspace, source.id)


async def test_operations_keep_their_names_when_the_document_around_them_changes(house: House) -> None:
    unnamed = {"/a": {"get": {"tags": ["t"], "operationId": "x"}}}
    await house.connect(unnamed)
    clash = {"/0": {"get": {"tags": ["t"], "operationId": "x"}}, **unnamed}
    serve(house, clash)
    refreshed = await house.catalog.refresh(house.workspace, "things")
    assert refreshed.source.tool_count == 2
    assert not refreshed.differences.removed and not refreshed.differences.changed
    assert (await house.tool("things.t.x")).binding["path"] == "/a"
