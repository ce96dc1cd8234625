"""A file on its way to where its content is kept.

Its row comes first and counts as deleted until the content is complete, so that a crash leaves nothing unknown and no
reader sees a part. Every transaction is fenced by the epoch of the execution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection

from executor.errors import StorageFull, ToolError
from executor.model.artifact import Artifact
from executor.model.execution import Execution
from executor.storage.database import Database
from executor.storage.executions import executions, files
from executor.storage.executions.artifacts import CHUNK

if TYPE_CHECKING:
    from executor.execution.artifacts.objects.store import Upload as Transfer

CheckTotal = Callable[[int], None]  # of the bytes of files that the execution has; raises ToolError if they are enough


class Upload:
    """To the database: a piece at a time, each in a transaction of its own."""

    def __init__(self, database: Database, execution: Execution, artifact: Artifact, check: CheckTotal) -> None:
        self.artifact = artifact
        self.has_begun = False
        self._database, self._execution, self._check = database, execution, check
        self._chunks = 0

    async def write(self, piece: bytes) -> None:
        await self._record(piece)
        self._chunks += -(-len(piece) // CHUNK)

    async def finish(self, size: int, digest: str) -> Artifact:
        """The artifact, or the same one that was there before a crash."""
        whole = replace(self.artifact, size=size, digest=digest, deleted_at=None)

        def job(c: Connection) -> Artifact:
            executions.fence(c, self._execution.id, self._execution.epoch)
            return files.complete(c, whole)

        return await self._database.write(job)

    async def abort(self) -> None:
        """Stop; what is there is removed afterwards."""

    async def _record(self, rows: bytes = b"") -> None:
        begins, first = not self.has_begun, self._chunks

        def job(c: Connection) -> None:
            executions.fence(c, self._execution.id, self._execution.epoch)
            if begins:
                self._check(files.total(c, self.artifact.execution_id))
                files.begin(c, self.artifact)
            files.append(c, self.artifact, first, rows)

        try:
            await self._database.write(job)
        except StorageFull as error:
            raise ToolError("storage_full", error.message, hint=error.hint) from error
        self.has_begun = True


class ObjectUpload(Upload):
    """To the object store. The object exists when the last piece is there, and the row says which it will be."""

    def __init__(
        self, database: Database, execution: Execution, artifact: Artifact, check: CheckTotal, transfer: Transfer
    ) -> None:
        super().__init__(database, execution, artifact, check)
        self._transfer = transfer

    async def write(self, piece: bytes) -> None:
        if not self.has_begun:
            await self._record()
        await self._transfer.write(piece)

    async def finish(self, size: int, digest: str) -> Artifact:
        await self._transfer.finish()
        return await super().finish(size, digest)

    async def abort(self) -> None:
        await self._transfer.abort()
