"""`ReadCache`: rows in memory are those of the last commit, however a read and a commit overlap."""

from __future__ import annotations

import asyncio
import threading

from sqlalchemy.engine import Connection

from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.feed import Feed
from executor.storage.identity.tenancy import Tenancy
from executor.storage.read_cache import KEPT, ReadCache


class Reader:
    """Reads the newest event of a workspace. The first read waits, after it has read, until `go_on` is set."""

    def __init__(self) -> None:
        self.reads = 0
        self.has_read, self.go_on = threading.Event(), threading.Event()

    def __call__(self, c: Connection, workspace_id: str) -> int:
        self.reads += 1
        found = events.newest(c, workspace_id)
        self.has_read.set()
        assert self.go_on.wait(60)
        return found


async def change(database: Database, local: Tenancy, kind: str) -> int:
    workspace_id = local.workspace.id
    await database.write(lambda c: events.append(c, workspace_id, kind, {}))
    return await database.read(lambda c: events.newest(c, workspace_id))


async def test_a_read_that_began_before_a_commit_and_ends_after_it_is_made_again(
    database: Database, local: Tenancy
) -> None:
    read = Reader()
    cache = ReadCache(database, read)
    cache.drop_on(Feed(database), ("policy.",), lambda announcement: announcement.workspace_id)
    reading = asyncio.create_task(cache.of(local.workspace.id))
    assert await asyncio.to_thread(read.has_read.wait, 60)
    newest = await change(database, local, "policy.created")
    read.go_on.set()
    assert await reading == newest
    assert await cache.of(local.workspace.id) == newest
    assert read.reads == 2


async def test_what_was_read_is_kept_until_an_event_of_its_types(database: Database, local: Tenancy) -> None:
    read = Reader()
    read.go_on.set()
    cache = ReadCache(database, read)
    cache.drop_on(Feed(database), ("policy.", "source.removed"), lambda announcement: announcement.workspace_id)
    before = await cache.of(local.workspace.id)
    await change(database, local, "source.added")
    assert await cache.of(local.workspace.id) == before
    newest = await change(database, local, "source.removed")
    assert await cache.of(local.workspace.id) == newest


async def test_nothing_found_is_not_kept_and_the_number_of_keys_is_bounded(database: Database) -> None:
    reads: list[int] = []

    def read(c: Connection, key: int) -> int | None:
        reads.append(key)
        return key or None

    cache = ReadCache(database, read)
    assert [await cache.of(0), await cache.of(0)] == [None, None]
    for key in range(1, KEPT + 2):
        await cache.of(key)
    reads.clear()
    await cache.of(KEPT + 1)
    await cache.of(1)
    assert reads == [1]
