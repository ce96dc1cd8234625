"""The content of artifacts, wherever it is: rows of the database, or objects of a store. The row says which.

Results are always written as rows, with the journal, and move to the store after their execution has ended. Files are
uploaded at once; if the store does not accept one, it becomes rows too.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from executor.errors import ArtifactUnavailable, NotFound
from executor.execution.artifacts.uploads import CheckTotal, ObjectUpload, Upload
from executor.model.artifact import Artifact
from executor.model.execution import Call, Execution
from executor.storage.database import Database
from executor.storage.executions import artifacts, files, objects

if TYPE_CHECKING:
    from executor.execution.artifacts.objects.store import Objects

PIECE = 4 * 1024 * 1024  # of an object, in one request
ROW_PIECE = 1024 * 1024
START_SECONDS = 10.0  # for the store to accept a file; then it becomes rows
PAUSE_SECONDS = 30.0  # in which a store that failed is not asked again
Filled = TypeVar("Filled", Call, Execution)
logger = logging.getLogger(__name__)


class Contents:
    """`least` is how many bytes an artifact has that goes to the store."""

    def __init__(self, database: Database, store: Objects | None = None, least: int = 0) -> None:
        self.database = database
        self.store = store
        self.least = least
        self._asked_from = 0.0

    def takes(self, size: int | None) -> bool:
        """Whether a file of that size, which may not be known, goes to the store: others may take all of its time."""
        if self.store is None or self.store.is_full or time.monotonic() < self._asked_from:
            return False
        return size is None or size >= self.least

    async def begin(self, execution: Execution, artifact: Artifact, size: int | None, check: CheckTotal) -> Upload:
        """A file that arrives in pieces."""
        if self.store is not None and self.takes(size):
            from executor.execution.artifacts.objects.store import new_key

            key = new_key(artifact.workspace_id)
            transfer = self.store.begin(key)
            try:
                await transfer.start(START_SECONDS)
            except ArtifactUnavailable as error:
                self._asked_from = time.monotonic() + PAUSE_SECONDS
                where = {"artifact": artifact.id, "store": str(self.store.location)}
                logger.warning("a file is kept in the database: %s", error.message, extra=where)
            else:
                return ObjectUpload(self.database, execution, replace(artifact, object_key=key), check, transfer)
        return Upload(self.database, execution, artifact, check)

    async def read(self, artifact: Artifact, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`, and no others. All of an object is compared with its digest.

        Raises NotFound if the content was deleted meanwhile.
        """
        end = artifact.size if end is None else end
        if start == end:
            return b""
        if artifact.object_key is None:
            try:
                return await self.database.read(partial(artifacts.content, artifact=artifact, start=start, end=end))
            except NotFound:  # or it has moved to the store since it was looked up
                artifact = await self._look_again(artifact)
        content = await self._store_of(artifact).read(str(artifact.object_key), start, end)
        if (start, end) == (0, artifact.size):
            digest = await asyncio.to_thread(hashlib.sha256, content)
            self._compare(artifact, digest.hexdigest())
        return content

    async def pieces(self, artifact: Artifact, start: int, end: int) -> AsyncIterator[bytes]:
        """The last piece of an object that is read whole is held back until its digest was compared."""
        is_whole = artifact.object_key is not None and (start, end) == (0, artifact.size)
        digest, held = hashlib.sha256(), b""
        step = ROW_PIECE if artifact.object_key is None else PIECE
        for at in range(start, end, step):
            piece = await self.read(artifact, at, min(at + step, end))
            if is_whole:
                await asyncio.to_thread(digest.update, piece)
            if held:
                yield held
            held = piece
        if is_whole:
            self._compare(artifact, digest.hexdigest())
        if held:
            yield held

    async def fill(self, one: Filled) -> Filled:
        """With its result, if that is an object; anything else comes as it was."""
        if not one.artifact_id or one.result is not None:
            return one
        artifact = await self.database.read(lambda c: artifacts.get(c, one.workspace_id, one.artifact_id))
        if artifact is None or artifact.deleted_at is not None or artifact.object_key is None:
            return one
        return replace(one, result=artifacts.as_json(artifact, await self.read(artifact)))

    async def remove(self, artifact: Artifact) -> None:
        """The content of an artifact that is deleted. If the store fails, the row still says what is to be removed."""
        if artifact.object_key is not None:
            await self._store_of(artifact).delete(artifact.object_key)
            await self.database.write(lambda c: objects.detach(c, artifact))
        elif artifact.form == files.FORM:
            await self._repeat(partial(files.remove_some, artifact=artifact))

    async def remove_rows(self, artifact: Artifact) -> None:
        """Of a file that was moved."""
        await self._repeat(partial(files.remove_rows, artifact=artifact))

    async def remove_left_over(self, before: int) -> None:
        """Rows that a crash left of files on their way in, or of those that were being deleted."""
        while batch := await self.database.scan(lambda c: files.left_over(c, before)):
            for artifact in batch:
                await self.remove(artifact)

    async def _repeat(self, job: Callable[..., bool]) -> None:
        while await self.database.write(job):
            pass

    async def _look_again(self, artifact: Artifact) -> Artifact:
        found = await self.database.read(lambda c: artifacts.get(c, artifact.workspace_id, artifact.id))
        if found is None or found.deleted_at is not None or found.object_key is None:
            raise NotFound(f"the artifact {artifact.id} was deleted", hint="run the code again")
        return found

    def _store_of(self, artifact: Artifact) -> Objects:
        if self.store is None:
            message = f"the content of {artifact.id} is in an object store, and artifacts_url is not set"
            raise ArtifactUnavailable(message, hint="ask the operator to set artifacts_url as it was before")
        return self.store

    def _compare(self, artifact: Artifact, digest: str) -> None:
        if digest != artifact.digest:
            message = f"the object store returned other content for {artifact.id} than was stored"
            hint = "ask the operator to restore the object from a backup; the rest of the artifact is intact"
            raise ArtifactUnavailable(message, hint=hint)
