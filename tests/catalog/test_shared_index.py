"""The search index where several processes share a PostgreSQL database: one builds it, the others load it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from executor.catalog.catalog import Catalog
from executor.catalog.search.index.shared_segments import code_version
from executor.catalog.search.index.workspace_index import Indexes
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi
from executor.storage.catalog import search_entries, search_segments
from executor.storage.database import Database
from executor.storage.identity import tenancy
from executor.storage.postgres.server import PostgresServer
from executor.storage.tables import cluster
from tests.catalog.conftest import CatalogHarness
from tests.catalog.test_discovery import connect_things, operation
from tests.sources.upstream import Upstream
from tests.support import postgres


@pytest.fixture
def url() -> str:
    server = postgres.server()
    return server.url(server.clear_shared())


@pytest.fixture
async def harness(url: str, upstream: Upstream) -> AsyncIterator[CatalogHarness]:
    database = await PostgresServer(url).open()
    local = await database.write(tenancy.provision)
    catalog = Catalog(database, {"openapi": OpenApi(Egress())})
    yield CatalogHarness(database, catalog, local.workspace.id, upstream)
    await catalog.close()
    await database.close()


@pytest.fixture
async def other(url: str, harness: CatalogHarness) -> AsyncIterator[Database]:
    """As another process has it open."""
    database = await PostgresServer(url).open()
    yield database
    await database.close()


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    build = Indexes._build

    async def note_build(self: Indexes, one: Any) -> Any:
        found.append(one.namespace)
        await asyncio.sleep(0)
        return await build(self, one)

    monkeypatch.setattr(Indexes, "_build", note_build)
    return found


async def rows(database: Database) -> list[Any]:
    query = sa.select(cluster.search_segments).order_by(cluster.search_segments.c.part)
    return await database.read(lambda c: list(c.execute(query)))


async def test_of_several_processes_that_need_an_index_at_once_one_builds_it(
    harness: CatalogHarness,
    other: Database,
    builds: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_segments, "CLAIM_SECONDS", 3600)  # a busy machine may pause the one that builds
    await connect_things(harness)
    processes = [Indexes(one, tmp_path / str(at)) for at, one in enumerate((harness.database, other, other))]
    found = await asyncio.gather(*(one.of(harness.workspace) for one in processes))
    assert builds == ["things"]
    assert found[0].index.paths == found[1].index.paths == found[2].index.paths
    assert found[1].index.postings("box") is not None
    assert [row.part for row in await rows(other)] == [0]


async def test_what_was_stored_a_moment_ago_can_not_be_claimed(harness: CatalogHarness, other: Database) -> None:
    """Else a process that looked before and claims after builds it again."""
    await connect_things(harness)
    await Indexes(harness.database).of(harness.workspace)
    [one] = await other.read(search_entries.list_sources)
    assert not await other.write(lambda c: search_segments.claim(c, one, code_version()))
    assert [row.part for row in await rows(other)] == [0]


async def test_a_changed_source_is_built_once_more_and_its_old_index_removed(
    harness: CatalogHarness, other: Database, builds: list[str]
) -> None:
    await connect_things(harness)
    await Indexes(harness.database).of(harness.workspace)
    before = await rows(other)
    await harness.connect({"/others": {"get": operation("listOthers", "others")}}, namespace="more")
    await harness.catalog.lifecycle.remove(harness.workspace, "things")
    assert len((await Indexes(other).of(harness.workspace)).index.paths) == 1
    assert builds == ["things", "more"]
    after = await rows(other)
    assert len(before) == len(after) == 1 and before[0].source_id != after[0].source_id


@pytest.mark.parametrize("harm", ["damaged", "of another version"])
async def test_what_can_not_be_read_is_built_again(
    harness: CatalogHarness, other: Database, builds: list[str], harm: str
) -> None:
    await connect_things(harness)
    await Indexes(harness.database).of(harness.workspace)
    changed = {"data": b"damaged"} if harm == "damaged" else {"version": "older"}
    await other.write(lambda c: c.execute(sa.update(cluster.search_segments).values(**changed)))
    await Indexes(other).of(harness.workspace)
    assert builds == ["things", "things"]
    versions = {row.version for row in await rows(other)}
    assert versions == ({code_version()} if harm == "damaged" else {code_version(), "older"})


async def test_a_process_that_ended_while_it_built_does_not_hold_the_others_up_for_ever(
    harness: CatalogHarness, other: Database, builds: list[str]
) -> None:
    await connect_things(harness)
    [one] = await harness.database.read(search_entries.list_sources)
    assert await other.write(lambda c: search_segments.claim(c, one, code_version()))
    assert not await other.write(lambda c: search_segments.claim(c, one, code_version()))
    waiting = asyncio.create_task(Indexes(harness.database).of(harness.workspace))
    old = sa.func.clock_timestamp() - sa.text("interval '1 hour'")
    await other.write(lambda c: c.execute(sa.update(cluster.search_segments).values(written_at=old)))
    assert (await waiting).index.paths and builds == ["things"]


async def test_a_large_index_is_stored_in_parts(
    harness: CatalogHarness, other: Database, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_segments, "PART", 100)
    await connect_things(harness)
    first = await Indexes(harness.database).of(harness.workspace)
    stored = await rows(other)
    assert len(stored) > 3 and all(len(row.data) <= 100 for row in stored)
    second = await Indexes(other).of(harness.workspace)
    assert second.index.paths == first.index.paths and builds == ["things"]


def test_a_daemon_on_sqlite_imports_nothing_of_it() -> None:
    code = (
        "import sys; import executor.catalog.catalog, executor.daemon.wiring.executor\n"
        "assert not [one for one in sys.modules if one.endswith(('shared_segments', 'search_segments'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
