"""What is promised of the content of an artifact, wherever it is kept."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from executor.errors import Fenced, NotFound, ToolError
from executor.execution.artifacts import access, contents
from executor.execution.artifacts.files import FileStore
from executor.storage.executions import artifacts, executions, files
from tests.execution.artifacts.conftest import Shelf

CONTENT = bytes(range(256)) * 40_000 + b"the end"  # more than one part of an upload
DIGEST = hashlib.sha256(CONTENT).hexdigest()


async def test_a_file_comes_back_whole_and_in_any_part(shelf: Shelf) -> None:
    kept = await shelf.keep(CONTENT)
    assert (kept.size, kept.digest, kept.deleted_at) == (len(CONTENT), DIGEST, None)
    assert (kept.object_key is not None) == (shelf.contents.store is not None)
    assert await shelf.contents.read(kept) == CONTENT
    edge, size = contents.PIECE, len(CONTENT)  # not the first byte alone: s3rver answers with all of them
    for start, end in ((0, 2), (size - 1, size), (edge - 1, edge + 1), (edge, edge), (5, size)):
        assert await shelf.contents.read(kept, start, end) == CONTENT[start:end]
        assert b"".join([piece async for piece in shelf.contents.pieces(kept, start, end)]) == CONTENT[start:end]
    handle = await shelf.files.find(kept.id)
    assert b"".join([piece async for piece in shelf.files.read(handle)]) == CONTENT


async def test_an_empty_file_is_kept_too(shelf: Shelf) -> None:
    kept = await shelf.keep(b"")
    assert (kept.size, await shelf.contents.read(kept)) == (0, b"")


async def test_a_file_that_is_discarded_leaves_nothing(shelf: Shelf) -> None:
    writer = shelf.files.begin("application/zip", "a.zip", None)
    await writer.write(CONTENT)
    await writer.discard()
    workspace_id = shelf.local.workspace.id
    assert not list(await shelf.database.read(lambda c: artifacts.page(c, workspace_id)))
    assert await shelf.database.read(lambda c: files.left_over(c, 2**60)) == []
    if shelf.contents.store is not None:
        assert await shelf.keys() == []


async def test_the_same_file_of_the_same_call_is_kept_once(shelf: Shelf) -> None:
    first, second = await shelf.keep(CONTENT), await shelf.keep(CONTENT)
    assert first == second
    if shelf.contents.store is not None:
        assert await shelf.keys() == [first.object_key]


async def test_a_file_of_an_execution_that_another_owner_took_over_is_refused(shelf: Shelf) -> None:
    writer = shelf.files.begin("application/zip", "a.zip", None)
    await writer.write(CONTENT)
    await shelf.database.write(lambda c: executions.claim(c, shelf.execution.id))
    with pytest.raises(Fenced):
        await writer.finish()
    await writer.discard()
    if shelf.contents.store is not None:
        assert await shelf.keys() == []


async def test_deleting_removes_the_content_and_keeps_what_is_known_of_it(shelf: Shelf) -> None:
    kept = await shelf.keep(CONTENT)
    await shelf.end()
    gone = await access.delete(shelf.contents, shelf.local.operator, kept.id)
    assert gone.deleted_at is not None and (gone.size, gone.digest) == (kept.size, kept.digest)
    assert (await shelf.find(kept.id)).object_key is None
    if shelf.contents.store is not None:
        assert await shelf.keys() == []
    else:
        with pytest.raises(NotFound):
            await shelf.contents.read(kept)
    handle = shelf.files.find(kept.id)
    with pytest.raises(ToolError, match="was deleted"):
        await handle


async def test_the_limits_for_files_apply_wherever_they_are_kept(shelf: Shelf) -> None:
    small = replace(shelf.files, store=FileStore(shelf.contents, largest=1_000_000))
    with pytest.raises(ToolError, match="more than the limit of 1,000,000"):
        small.begin("application/zip", "a.zip", 1_000_001)
    writer = small.begin("application/zip", "a.zip", None)
    with pytest.raises(ToolError, match="more than the limit of 1,000,000"):
        await writer.write(CONTENT)
    await writer.discard()
    await shelf.keep(CONTENT)
    writer = small.begin("application/zip", "a.zip", None)
    with pytest.raises(ToolError, match="which is the limit"):
        await writer.finish()
    await writer.discard()
