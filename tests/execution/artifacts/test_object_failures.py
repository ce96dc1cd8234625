"""Stores and networks that fail: what the caller sees, and that nothing is lost by it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from executor.errors import ArtifactUnavailable, ToolError
from executor.execution.artifacts import access, contents
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.objects import maintenance
from executor.execution.artifacts.objects.store import UPLOADS, Objects
from executor.storage.executions import files, objects
from tests.execution.artifacts.conftest import Shelf
from tests.execution.artifacts.test_contents import CONTENT
from tests.support import object_store
from tests.support.object_store import Fault, FaultyProxy


@pytest.mark.parametrize("fault", ["refuse", "hang", "unavailable", "full"])
async def test_a_file_is_kept_in_the_database_while_the_store_does_not_accept_it(
    object_shelf: Shelf,
    proxy: FaultyProxy,
    fault: Fault,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(contents, "START_SECONDS", 3.0)
    proxy.fail(fault)
    with caplog.at_level(logging.WARNING):
        kept = await object_shelf.keep(CONTENT)
    assert kept.object_key is None and "kept in the database" in caplog.text
    assert await object_shelf.contents.read(kept) == CONTENT
    assert not object_shelf.contents.takes(None)  # for a while, so that not every file waits
    proxy.fail("")
    await object_shelf.end()
    await maintenance.maintain(object_shelf.contents)
    moved = await object_shelf.find(kept.id)
    assert moved.object_key is not None
    assert await object_shelf.contents.read(kept) == await object_shelf.contents.read(moved) == CONTENT


async def test_an_upload_that_breaks_off_fails_the_call_and_leaves_nothing(
    object_shelf: Shelf, proxy: FaultyProxy
) -> None:
    writer = object_shelf.files.begin("application/zip", "a.zip", None)
    await writer.write(CONTENT[:1_500_000])
    proxy.fail("refuse")
    with pytest.raises(ToolError) as failed:
        await writer.write(CONTENT * 3)
        await writer.finish()
    assert (failed.value.tool_code, failed.value.retryable) == ("artifact_unavailable", True)
    assert "executor doctor" in failed.value.hint and str(proxy.url) not in failed.value.message
    await writer.discard()
    [left] = await object_shelf.database.read(lambda c: objects.find_removable(c, 2**60))
    assert left.deleted_at is not None
    proxy.fail("")
    await object_shelf.contents.remove(left)
    assert await object_shelf.keys() == []
    assert await object_shelf.database.read(lambda c: files.left_over(c, 2**60)) == []


async def test_parts_that_are_cut_while_they_are_sent_are_sent_again_or_fail(
    object_shelf: Shelf, proxy: FaultyProxy
) -> None:
    proxy.fail("cut_uploads")
    writer = object_shelf.files.begin("application/zip", "a.zip", None)
    try:
        for _ in range(3):
            await writer.write(CONTENT)
        kept = await writer.finish()
    except ToolError as error:
        assert error.tool_code == "artifact_unavailable"
        await writer.discard()
    else:
        assert await object_shelf.contents.read(await object_shelf.find(kept.id)) == CONTENT * 3


@pytest.mark.parametrize("fault", ["refuse", "unavailable", "cut_answers"])
async def test_a_store_that_can_not_be_read_says_so_and_the_artifact_stays(
    object_shelf: Shelf, proxy: FaultyProxy, fault: Fault
) -> None:
    kept = await object_shelf.keep(CONTENT)
    proxy.fail(fault)
    with pytest.raises(ArtifactUnavailable, match="can't be read from"):
        await object_shelf.contents.read(kept)
    with pytest.raises(ToolError, match="can't be read from") as failed:
        [_ async for _ in object_shelf.files.read(await object_shelf.files.find(kept.id))]
    assert failed.value.retryable
    proxy.fail("")
    assert await object_shelf.contents.read(kept) == CONTENT


async def test_changed_bytes_are_noticed_before_the_last_of_them_is_handed_out(
    object_shelf: Shelf, proxy: FaultyProxy
) -> None:
    kept = await object_shelf.keep(CONTENT)
    proxy.fail("corrupt")
    with pytest.raises(ArtifactUnavailable, match="other content"):
        await object_shelf.contents.read(kept)
    handed = 0
    with pytest.raises(ToolError, match="other content"):
        async for piece in object_shelf.files.read(await object_shelf.files.find(kept.id)):
            handed += len(piece)
    assert handed < len(CONTENT)
    handed = 0
    with pytest.raises(ArtifactUnavailable, match="other content"):
        async for piece in access.read_content(object_shelf.contents, kept, 0, kept.size):
            handed += len(piece)
    assert handed < len(CONTENT)


async def test_content_stays_in_the_database_if_the_store_returns_other_bytes(
    object_shelf: Shelf, proxy: FaultyProxy
) -> None:
    kept = await object_shelf.keep_result(CONTENT[:2_000_000].decode("latin-1").encode())
    await object_shelf.end()
    proxy.fail("corrupt")
    await maintenance.move_rows(object_shelf.contents, object_shelf.contents.store)  # type: ignore[arg-type]
    assert (await object_shelf.find(kept.id)).object_key is None


async def test_an_object_that_can_not_be_deleted_now_is_deleted_later(object_shelf: Shelf, proxy: FaultyProxy) -> None:
    kept = await object_shelf.keep(CONTENT)
    await object_shelf.end()
    proxy.fail("unavailable")
    gone = await access.delete(object_shelf.contents, object_shelf.local.operator, kept.id)
    assert gone.deleted_at is not None and gone.object_key == kept.object_key
    proxy.fail("")
    assert await object_shelf.keys() == [kept.object_key]
    await maintenance.remove_deleted(object_shelf.contents)
    assert await object_shelf.keys() == [] and (await object_shelf.find(kept.id)).object_key is None


async def test_another_store_or_none_is_reported_with_what_to_do(object_shelf: Shelf, moto: str) -> None:
    kept = await object_shelf.keep(CONTENT)
    without = Contents(object_shelf.database)
    with pytest.raises(ArtifactUnavailable, match="artifacts_url is not set"):
        await without.read(kept)
    for place, said in (("elsewhere", "has no such object"), ("", "")):
        where = object_store.location(moto, place)
        other = Objects(where)
        with pytest.raises(ArtifactUnavailable, match=said or "no such object"):
            await Contents(object_shelf.database, other).read(kept)
        await other.close()
    missing = Objects(object_store.Location("no-such-bucket", "p", moto, "us-east-1"))
    with pytest.raises(ArtifactUnavailable, match="NoSuchBucket"):
        await missing.write_small("a", b"")
    await missing.close()


async def test_a_part_is_read_without_the_rest(object_shelf: Shelf, proxy: FaultyProxy) -> None:
    kept = await object_shelf.keep(CONTENT)
    proxy.fail("cut_answers")  # any answer of more than 20 kB
    assert await object_shelf.contents.read(kept, 5_000_000, 5_010_000) == CONTENT[5_000_000:5_010_000]


async def test_files_that_never_arrive_keep_no_one_from_the_store(object_shelf: Shelf) -> None:
    kept = await object_shelf.keep(CONTENT)
    slow = [object_shelf.files.begin("application/zip", "a.zip", None) for _ in range(UPLOADS)]
    for writer in slow:
        await writer.write(CONTENT[:1_500_000])
    async with asyncio.timeout(60):
        assert await object_shelf.contents.read(kept) == CONTENT
        other = await object_shelf.keep(CONTENT[1:])
        assert other.object_key is None and await object_shelf.contents.read(other) == CONTENT[1:]
    for writer in slow:
        await writer.discard()
    async with asyncio.timeout(60):
        while not object_shelf.contents.takes(None):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.01)
