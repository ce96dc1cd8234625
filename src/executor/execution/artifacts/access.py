"""Artifacts, for the actors that may see their executions."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable

from sqlalchemy.engine import Connection

from executor.errors import ArtifactUnavailable, Conflict, NotFound
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.storage import MOST_FILES
from executor.execution.history import may_see
from executor.model.artifact import Artifact
from executor.model.identity.actor import Actor
from executor.storage.database import Database
from executor.storage.executions import artifacts, events, executions
from executor.storage.scan import Page

PIECE = 8 * 1024 * 1024  # a larger content is sent while it is read
logger = logging.getLogger(__name__)


async def search(database: Database, by: Actor, *, execution_id: str, limit: int, before: str) -> Page[Artifact]:
    """Newest first, of one execution or of all. Without the permission `read`, an actor finds only its own."""
    mine = "" if by.may("read") else by.id
    return await database.read(
        lambda c: artifacts.page(
            c,
            by.workspace_id,
            execution_id=execution_id,
            actor_id=mine,
            toolkit_id=by.toolkit_id,
            limit=limit,
            before=before,
        )
    )


async def find(database: Database, by: Actor, artifact_id: str) -> Artifact:
    return await database.read(lambda c: look_up(c, by, artifact_id))


def look_up(c: Connection, by: Actor, artifact_id: str) -> Artifact:
    found = artifacts.get(c, by.workspace_id, artifact_id)
    execution = executions.get(c, by.workspace_id, found.execution_id) if found else None
    if found is None or execution is None or not may_see(by, execution):
        raise NotFound(f"there is no artifact {artifact_id}", hint="see `executor artifacts list`")
    return found


def read_content(contents: Contents, artifact: Artifact, start: int, end: int) -> AsyncIterator[bytes]:
    """In pieces, so that a slow reader costs little memory."""
    return contents.pieces(artifact, start, end)


async def delete(contents: Contents, by: Actor, artifact_id: str) -> Artifact:
    """Delete its content for good, and keep its metadata. An object that can't be deleted now is deleted later."""
    gone = await contents.database.write(lambda c: _delete(c, by, artifact_id))
    try:
        await contents.remove(gone)
    except ArtifactUnavailable as error:
        logger.warning("an object is deleted later: %s", error.message, extra={"artifact": gone.id})
    return gone


def _delete(c: Connection, by: Actor, artifact_id: str) -> Artifact:
    found = look_up(c, by, artifact_id)
    execution = executions.get(c, by.workspace_id, found.execution_id)
    if execution is not None and not execution.is_final:
        hint = "the execution still needs it: wait until it ends, or cancel it"
        raise Conflict(f"execution {execution.id} is {execution.status}", hint=hint)
    if artifacts.delete(c, found):
        data = {"id": found.id, "name": found.name, "size": found.size, "digest": found.digest}
        events.append(c, by.workspace_id, "artifact.deleted", data, found.execution_id, by=by)
    return artifacts.get(c, by.workspace_id, artifact_id) or found


async def read_files(
    contents: Contents, result: Artifact, is_wanted: Callable[[Artifact], bool], *, most: int, most_of_all: int
) -> list[tuple[Artifact, bytes | None]]:
    """The wanted files in a result. Their bytes are read up to `most` for one file and `most_of_all` together."""

    found, room = list[tuple[Artifact, bytes | None]](), most_of_all
    for file in await contents.database.read(lambda c: artifacts.files_of_result(c, result, MOST_FILES)):
        if file.deleted_at is None and is_wanted(file):
            fits = file.size <= min(most, room)
            room -= file.size if fits else 0
            found.append((file, await contents.read(file) if fits else None))
    return found
