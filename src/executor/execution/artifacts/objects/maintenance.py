"""Work on objects that no one waits for: content moves to the store, and what is not needed there is removed.

One process of a cluster does it. Each part can be interrupted anywhere and is completed by the next round.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from functools import partial

from executor.errors import NotFound
from executor.execution.artifacts.contents import PIECE, Contents
from executor.execution.artifacts.objects.store import Objects, new_key
from executor.model.artifact import Artifact
from executor.model.ids import now_ms
from executor.storage.executions import objects

START_SECONDS = 10.0
DAY_MS = 86_400_000  # no upload takes as long
UNKNOWN_MS = 2 * DAY_MS  # the age at which an object that no row names is removed
SWEEP_MS = DAY_MS // 2  # far below that: see `claim`
OWNER = "owner"
ELSEWHERE = f"another database, or a copy of this one, uses it; if none does, delete the object `{OWNER}` there"
logger = logging.getLogger(__name__)


async def maintain(contents: Contents) -> None:
    assert contents.store is not None  # noqa: S101 - there is nothing to do otherwise
    await remove_deleted(contents)
    while batch := await contents.database.scan(objects.find_moved_rows):
        for artifact in batch:
            await contents.remove_rows(artifact)
    await move_rows(contents, contents.store)
    await sweep(contents, contents.store)


async def remove_deleted(contents: Contents) -> None:
    """Objects of artifacts that are deleted, and of uploads that never ended."""
    before = now_ms() - DAY_MS
    while batch := await contents.database.scan(partial(objects.find_removable, begun_before=before)):
        for artifact in batch:
            await contents.remove(artifact)


async def move_rows(contents: Contents, store: Objects) -> None:
    """One that can't be moved does not keep the others from it, unless the store is the reason."""
    kept = set[str]()
    while batch := await contents.database.scan(partial(objects.find_movable, least=contents.least, but=kept)):
        for artifact in batch:
            try:
                await move(contents, store, artifact)
            except (NotFound, Damaged) as error:
                logger.warning("an artifact stays in the database: %s", error, extra={"artifact": artifact.id})
                kept.add(artifact.id)


async def move(contents: Contents, store: Objects, artifact: Artifact) -> None:
    """The rows go only when the store has returned the same bytes."""
    key = new_key(artifact.workspace_id)
    transfer = store.begin(key)
    await transfer.start(START_SECONDS)
    try:
        await copy(artifact, lambda start, end: contents.read(artifact, start, end), transfer.write)
        await transfer.finish()
        await copy(artifact, lambda start, end: store.read(key, start, end))
    except BaseException:
        await transfer.abort()
        raise
    if not await contents.database.write(lambda c: objects.attach(c, artifact, key)):
        await store.delete(key)
    elif artifact.form == "file":
        await contents.remove_rows(artifact)


class Damaged(Exception):
    """Content that is not what its digest says."""


Read = Callable[[int, int], Awaitable[bytes]]
Write = Callable[[bytes], Awaitable[None]]


async def copy(artifact: Artifact, read: Read, write: Write | None = None) -> None:
    """Piece by piece, compared with the digest at the end."""
    digest = hashlib.sha256()
    for start in range(0, artifact.size, PIECE):
        piece = await read(start, min(start + PIECE, artifact.size))
        await asyncio.to_thread(digest.update, piece)
        if write is not None:
            await write(piece)
    if digest.hexdigest() != artifact.digest:
        raise Damaged(f"{artifact.id} is not what it was when it was stored")


async def sweep(contents: Contents, store: Objects) -> None:
    """Remove what no row names: of crashes, and of executions and workspaces that were removed."""
    if not await claim(contents, store):
        return
    before, count = now_ms() - UNKNOWN_MS, 0
    async for batch in store.list():
        old = [key for key, written_at in batch if written_at < before and key != OWNER]
        known = await contents.database.scan(partial(objects.find_known, keys=old)) if old else set[str]()
        if unknown := [key for key in old if key not in known]:
            await store.delete(*unknown)
            count += len(unknown)
    if count:
        logger.info("%d objects that nothing refers to were removed", count)


async def claim(contents: Contents, store: Objects) -> bool:
    """Whether it is time to sweep, and no other database does so here.

    Each sweep leaves a new token in the store and in the database. A copy of the database, or one that was restored,
    finds a token that it does not know, and removes nothing. Otherwise it would remove what was written since.
    """
    where, found = str(store.location), await store.read_small(OWNER)
    known = await contents.database.read(lambda c: objects.find_tokens(c, where))
    if known is not None and now_ms() - known[2] < SWEEP_MS:
        return False
    present = found.decode(errors="replace") if found is not None else ""
    if found is not None and (known is None or present not in known[:2]):
        logger.warning("nothing is removed from %s: %s", where, ELSEWHERE)
        return False
    if found is None and known is not None:
        logger.warning("%s has no object `%s`: it was deleted, or the store is another one", where, OWNER)
    token = secrets.token_hex(16)
    await contents.database.write(lambda c: objects.save_token(c, where, token, present))
    await store.write_small(OWNER, token.encode())
    return True
