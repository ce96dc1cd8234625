"""A source that someone removes while it is edited, refreshed or reviewed: nothing more of it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.catalog.catalog import Catalog
from executor.connections.connections import Connections
from executor.errors import NotFound
from executor.execution.policies.approval_defaults import change_approval_defaults, set_approval_defaults
from executor.model.identity.actor import Actor
from executor.model.source import Source
from executor.network.client import Egress
from executor.secrets.master import FileKeeper
from executor.secrets.master_keys import KeptKeys
from executor.secrets.sealing import Sealing
from executor.secrets.secrets import Secrets
from executor.sources.lifecycle.edit import Edit
from executor.sources.lifecycle.edit_application import Terms
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog import sources, tool_reviews
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.feed import Feed
from executor.storage.identity.tenancy import Tenancy
from executor.storage.tables.core import listings, policies
from executor.storage.tables.core import tools as tools_table
from tests.sources.upstream import Upstream, as_json, serving
from tests.support.interleaving import interleave


def document(*names: str, said: str = "") -> dict[str, Any]:
    answers = {"200": {"description": "ok"}}
    operations = {f"/{name}": {"post": {"operationId": name, "summary": said, "responses": answers}} for name in names}
    return {"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "paths": operations}


@dataclass
class Shop:
    database: Database
    catalog: Catalog
    upstream: Upstream
    source: Source
    by: Actor

    @property
    def workspace_id(self) -> str:
        return self.source.workspace_id

    def offer(self, *names: str, said: str = "") -> None:
        self.upstream.routes["/openapi.json"] = as_json(document(*names, said=said))

    def remove(self, c: Connection) -> None:
        """As another process does."""
        sources.delete(c, self.workspace_id, self.source.id)
        c.execute(sa.delete(tools_table).where(tools_table.c.source_id == self.source.id))

    async def leftovers(self) -> list[Any]:
        """Rows of tools that the source does not show."""
        shown = sa.exists().where(
            listings.c.source_id == tools_table.c.source_id, listings.c.generation == tools_table.c.generation
        )
        return await self.database.read(lambda c: list(c.execute(sa.select(tools_table.c.path).where(~shown))))

    async def types(self) -> list[str]:
        return [event.type for event in await self.database.read(lambda c: events.after(c, self.workspace_id))]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        yield server


@pytest.fixture
async def shop(database: Database, local: Tenancy, upstream: Upstream, tmp_path: Path) -> AsyncIterator[Shop]:
    egress = Egress(connect_seconds=60.0)
    kind = OpenApi(egress)
    kind.review = "all"  # type: ignore[attr-defined]
    secrets = Secrets(database, Sealing(KeptKeys(FileKeeper(tmp_path))), {})
    catalog = Catalog(database, {"openapi": kind}, connections=Connections(database, secrets, Feed(database)))
    upstream.routes["/openapi.json"] = as_json(document("buy"))
    request = SourceRequest(
        location=f"{upstream.url}/openapi.json", namespace="shop", consented=Consent(private_network=True)
    )
    source = await catalog.add_source(local.workspace.id, request)
    yield Shop(database, catalog, upstream, source, local.operator)
    await egress.close()


async def edit_name(shop: Shop) -> None:
    """Nothing is read for it."""
    terms = Terms(
        Consent(private_network=True),
        on_write=lambda c, found: change_approval_defaults(c, found, {"write": "deny"}, by=shop.by),
    )
    await shop.catalog.lifecycle.edit(shop.workspace_id, "shop", Edit(name="Other"), terms)


async def edit_address(shop: Shop) -> None:
    edit, terms = Edit(base_url="https://elsewhere.example"), Terms(Consent(private_network=True))
    await shop.catalog.lifecycle.edit(shop.workspace_id, "shop", edit, terms)


async def refresh(shop: Shop) -> None:
    await shop.catalog.lifecycle.refresh(shop.workspace_id, "shop")


async def fail_to_refresh(shop: Shop) -> None:
    shop.upstream.routes["/openapi.json"] = as_json({}, 500)
    await refresh(shop)


async def accept(shop: Shop) -> None:
    pending = await shop.database.read(lambda c: tool_reviews.of_source(c, shop.source.id))
    await shop.catalog.lifecycle.accept_changes(
        shop.workspace_id, "shop", {path: one.digest for path, one in pending.items()}, by=shop.by
    )


async def set_defaults(shop: Shop) -> None:
    await set_approval_defaults(shop.database, shop.source, {"write": "deny"}, by=shop.by)


CHANGES = (edit_name, edit_address, refresh, fail_to_refresh, accept, set_defaults)


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_of_a_source_that_was_removed_meanwhile_is_refused_and_leaves_nothing(
    shop: Shop, change: Callable[[Shop], Coroutine[Any, Any, None]]
) -> None:
    if change in (refresh, accept):
        shop.offer("buy", "sell", said="Now it sells too.")
    if change is accept:
        await refresh(shop)
    before = await shop.types()
    where = {refresh: "UPDATE sources", set_defaults: ""}.get(change, "sources")
    with interleave(shop.database, shop.remove, before=where), pytest.raises(NotFound, match="no source"):
        await change(shop)
    assert [one for one in await shop.types() if one != "source.removed"] == before
    assert await shop.leftovers() == []
    assert await shop.database.read(lambda c: c.execute(sa.select(policies.c.id)).all()) == []


async def test_tools_that_were_read_of_a_removed_source_are_removed_too(shop: Shop) -> None:
    loop = asyncio.get_running_loop()

    async def remove() -> None:
        await shop.database.write(shop.remove)

    def answer(*_: Any) -> Any:
        """While the document is on its way, another process removes the source."""
        asyncio.run_coroutine_threadsafe(remove(), loop).result(60)
        return as_json(document("buy", "sell"))

    shop.upstream.routes["/openapi.json"] = answer
    with pytest.raises(NotFound, match="no source"):
        await refresh(shop)
    assert await shop.database.read(lambda c: c.execute(sa.select(tools_table.c.path)).all()) == []
    assert "source.refreshed" not in await shop.types()
