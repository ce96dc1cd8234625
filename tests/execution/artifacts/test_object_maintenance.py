"""What happens to objects behind everything else: moves, removals, the sweep."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest
import sqlalchemy as sa

from executor.daemon.wiring import artifacts as wiring
from executor.execution.artifacts import access
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.objects import maintenance
from executor.execution.artifacts.objects.maintenance import OWNER, claim, maintain, sweep
from executor.execution.artifacts.objects.store import Objects
from executor.model.ids import new_id, now_ms
from executor.storage.executions import objects
from executor.storage.tables.core import executions
from tests.execution.artifacts.conftest import Shelf, open_shelf
from tests.execution.artifacts.test_contents import CONTENT
from tests.storage.test_artifacts import pieces
from tests.storage.test_contract import a_call
from tests.support.conditions import until
from tests.support.object_store import FaultyProxy

TEXT = ("é" * 700_000).encode()


def store_of(shelf: Shelf) -> Objects:
    assert shelf.contents.store is not None
    return shelf.contents.store


async def test_results_move_when_their_execution_has_ended_and_read_the_same(object_shelf: Shelf) -> None:
    shelf = object_shelf
    shelf.contents.least = 1_000_000
    kept = await shelf.keep_result(TEXT)
    same = await shelf.keep_result(TEXT, call_seq=2, name="call.txt", id=new_id("art"))
    small = await shelf.keep_result(b"x" * 50_000, name="small.txt", id=new_id("art"))
    await maintain(shelf.contents)
    assert (await shelf.find(kept.id)).object_key is None  # the journal may still need it
    await shelf.end()
    await maintain(shelf.contents)
    moved, other = await shelf.find(kept.id), await shelf.find(same.id)
    assert moved.object_key is not None and moved.object_key == other.object_key
    assert (await shelf.find(small.id)).object_key is None and await pieces(shelf.database) == 1
    assert await shelf.contents.read(moved) == TEXT and await shelf.contents.read(small) == b"x" * 50_000
    call = replace(a_call(shelf.execution, 2), artifact_id=same.id)
    filled = await shelf.contents.fill(call)
    assert filled.result == f'"{TEXT.decode()}"'
    assert await shelf.contents.read(kept) == TEXT  # as it was looked up before the move
    await access.delete(shelf.contents, shelf.local.operator, kept.id)
    assert await shelf.contents.read(other) == TEXT  # the object goes with the last artifact that has it
    await access.delete(shelf.contents, shelf.local.operator, same.id)
    assert await shelf.keys() == [OWNER]


async def test_files_that_are_rows_move_and_a_move_that_broke_off_is_completed(
    object_shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = object_shelf
    kept = await Shelf(Contents(shelf.database), shelf.local, shelf.execution).keep(CONTENT)
    assert kept.object_key is None
    await shelf.end()

    async def crash(artifact: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shelf.contents, "remove_rows", crash)
        with pytest.raises(KeyboardInterrupt):
            await maintenance.move_rows(shelf.contents, store_of(shelf))
    moved = await shelf.find(kept.id)
    assert moved.object_key is not None and await pieces(shelf.database) > 0
    assert await shelf.contents.read(moved) == CONTENT
    await maintain(shelf.contents)
    assert await pieces(shelf.database) == 0 and await shelf.contents.read(moved) == CONTENT


async def test_what_is_deleted_while_it_moves_stays_deleted(object_shelf: Shelf) -> None:
    shelf = object_shelf
    kept = await shelf.keep_result(TEXT)
    await shelf.end()
    await access.delete(shelf.contents, shelf.local.operator, kept.id)
    assert not await shelf.database.write(lambda c: objects.attach(c, kept, "ws/key"))
    assert (await shelf.find(kept.id)).object_key is None


async def test_uploads_that_never_ended_are_removed_when_they_are_old(object_shelf: Shelf) -> None:
    shelf = object_shelf
    writer = shelf.files.begin("application/zip", "a.zip", None)
    await writer.write(CONTENT)  # and then the process is gone
    await store_of(shelf).close()
    assert await shelf.database.read(lambda c: objects.find_removable(c, now_ms() - 1000)) == []
    [left] = await shelf.database.read(lambda c: objects.find_removable(c, now_ms() + 1000))
    assert left.digest == left.id


async def age(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in the store becomes three days old, and it is time for another sweep."""
    later = now_ms() + 3 * maintenance.DAY_MS
    monkeypatch.setattr(maintenance, "now_ms", lambda: later)


async def test_objects_that_no_row_names_are_removed_when_they_are_old(
    object_shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = object_shelf
    kept = await shelf.keep(CONTENT)
    await store_of(shelf).write_small("ws_gone/unknown", b"left by a crash")
    await sweep(shelf.contents, store_of(shelf))
    assert sorted(await shelf.keys()) == sorted([OWNER, str(kept.object_key), "ws_gone/unknown"])
    await age(shelf, monkeypatch)
    await sweep(shelf.contents, store_of(shelf))
    assert sorted(await shelf.keys()) == sorted([OWNER, str(kept.object_key)])


async def test_the_objects_of_an_execution_that_is_erased_go_too(
    object_shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = object_shelf
    kept = await shelf.keep(CONTENT)
    mine = executions.c.id == shelf.execution.id  # as retention does, or the end of an anonymous workspace
    await shelf.database.write(lambda c: c.execute(sa.delete(executions).where(mine)))
    await age(shelf, monkeypatch)
    await sweep(shelf.contents, store_of(shelf))
    assert await shelf.keys() == [OWNER] and kept.object_key is not None


async def test_a_copy_of_the_database_removes_nothing(
    object_shelf: Shelf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shelf, where = object_shelf, str(store_of(object_shelf).location)
    assert await claim(shelf.contents, store_of(shelf))
    copied = await shelf.database.read(lambda c: objects.find_tokens(c, where))
    assert copied is not None
    await age(shelf, monkeypatch)
    assert await claim(shelf.contents, store_of(shelf))  # the original goes on
    await store_of(shelf).write_small("ws/new", b"of the original")
    await shelf.database.write(lambda c: objects.save_token(c, where, *copied[:2]))  # the copy starts
    with caplog.at_level(logging.WARNING):
        await sweep(shelf.contents, store_of(shelf))
    assert "ws/new" in await shelf.keys() and "a copy of this one" in caplog.text
    await store_of(shelf).delete(OWNER)  # a person says that it is the only one
    assert await claim(shelf.contents, store_of(shelf))


async def test_a_crash_between_both_tokens_does_not_lock_the_database_out(
    object_shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, where = object_shelf, str(store_of(object_shelf).location)
    assert await claim(shelf.contents, store_of(shelf))
    present = (await store_of(shelf).read_small(OWNER) or b"").decode()
    await shelf.database.write(lambda c: objects.save_token(c, where, "new", present))
    await age(shelf, monkeypatch)
    assert await claim(shelf.contents, store_of(shelf))


async def test_only_the_process_that_leads_maintains_the_store(
    object_shelf: Shelf, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "FIRST_SECONDS", 0)
    monkeypatch.setattr(wiring, "MAINTENANCE_SECONDS", 0.01)
    asked = 0

    class Others:
        @property
        def leads(self) -> bool:
            nonlocal asked
            asked += 1
            return asked > 3

    monkeypatch.setattr(object_shelf.database, "processes", Others())
    before = len(proxy.requests)
    task = asyncio.create_task(wiring.maintain_objects(object_shelf.contents))
    await until(lambda: asked == 3)
    assert len(proxy.requests) == before
    await until(lambda: len(proxy.requests) > before)
    task.cancel()


async def test_keys_can_not_be_guessed_and_workspaces_never_share_one(object_shelf: Shelf) -> None:
    shelf = object_shelf
    first = await shelf.keep(CONTENT)
    second_shelf = await open_shelf(shelf.database, store_of(shelf))
    other = await second_shelf.keep(CONTENT)
    assert first.digest == other.digest and first.object_key != other.object_key
    workspace_id, _, name = str(first.object_key).partition("/")
    assert workspace_id == shelf.local.workspace.id and len(name) == 32 and name not in (first.digest, first.id)
