"""Where the files of one call are kept: artifacts of its execution, written and read in pieces."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from sqlalchemy.engine import Connection

from executor.errors import NotFound, StorageFull, ToolError
from executor.model.artifact import Artifact, media_type_of, name_of
from executor.model.execution import Execution
from executor.model.ids import new_id, now_ms
from executor.network.files import FILES, Kept
from executor.storage.database import Database
from executor.storage.executions import artifacts, executions, files
from executor.storage.executions.artifacts import CHUNK

PIECE = 4 * CHUNK  # written in one transaction, so that others' commits don't wait long
SPARE = 256 * 1024 * 1024  # of the disk, that files leave to everything else
FILES_OF_ONE = 4  # times the largest file: what those of one execution may have together
LEAST_SECRET = 8  # characters: anything shorter occurs in large files by chance


@dataclass(frozen=True, slots=True)
class FileStore:
    """Of the whole installation. `largest` is how many bytes one file may have."""

    database: Database
    folder: Path | None = None
    largest: int = 1024 * 1024 * 1024

    def check_room(self, size: int) -> None:
        if size > self.largest:
            message = f"the file has {size:,} bytes, more than the limit of {self.largest:,}"
            raise ToolError("result_too_large", message, hint="the operator can raise `file_bytes`")
        free = shutil.disk_usage(self.folder).free if self.folder is not None else None
        if free is not None and free < size + SPARE:
            message = f"the disk has {free:,} bytes left, not enough for a file of {size:,}"
            raise ToolError(
                "storage_full", message, hint="ask the operator to free some space, then run the code again"
            )


@dataclass(frozen=True, slots=True)
class CallFiles:
    """What one call may read and write. `secrets` must not be kept, in a file as little as anywhere else."""

    store: FileStore
    execution: Execution
    seq: int = 0
    path: str = ""
    secrets: tuple[str, ...] = ()

    def begin(self, media_type: str, name: str, declared: int | None) -> FileWriter:
        self.store.check_room(declared or 0)
        media_type = media_type_of(media_type)
        artifact_id = new_id("art")
        artifact = Artifact(
            id=artifact_id,
            workspace_id=self.execution.workspace_id,
            execution_id=self.execution.id,
            call_seq=self.seq,
            name=name_of(name, media_type, f"{self.path}-{self.seq}"),
            media_type=media_type,
            form="file",
            size=0,
            digest=artifact_id,
            preview="{}",
            created_at=now_ms(),
            deleted_at=now_ms(),
        )
        return FileWriter(self.store, self.execution, artifact, self.secrets)

    async def find(self, artifact_id: str) -> Kept:
        """As code sees artifacts: those of the executions that its own actor submitted."""

        def look(c: Connection) -> Artifact | None:
            found = artifacts.get(c, self.execution.workspace_id, artifact_id)
            owner = executions.get(c, self.execution.workspace_id, found.execution_id) if found else None
            return found if owner is not None and self.execution.may_read(owner) else None

        found = await self.store.database.read(look)
        if found is None:
            hint = "tools.executor.artifacts.list lists the ones that exist"
            raise ToolError("not_found", f"there is no artifact {artifact_id[:100]!r}", hint=hint)
        if found.deleted_at is not None:
            raise_gone(artifact_id)
        return Kept(found.id, found.name, found.media_type, found.size, found.digest)

    async def read(self, file: Kept) -> AsyncIterator[bytes]:
        """The last piece is held back until all of it is known to be what was kept."""
        read, digest, held = self.store.database.read, hashlib.sha256(), b""
        artifact = await read(lambda c: artifacts.get(c, self.execution.workspace_id, file.id))
        if artifact is None or artifact.deleted_at is not None:
            raise_gone(file.id)
        for start in range(0, file.size, PIECE):
            end = min(start + PIECE, file.size)
            try:
                piece = await read(partial(artifacts.content, artifact=artifact, start=start, end=end))
            except NotFound:
                raise_gone(file.id)
            digest.update(piece)
            if held:
                yield held
            held = piece
        if digest.hexdigest() != file.digest:
            raise ToolError("unexpected_response", f"the artifact {file.id} is damaged", hint="run the code again")
        if held:
            yield held


class FileWriter:
    """Pieces are written as they fill; memory holds no more than one."""

    def __init__(self, store: FileStore, execution: Execution, artifact: Artifact, secrets: tuple[str, ...]) -> None:
        self._store, self._execution, self._artifact = store, execution, artifact
        self._secrets = tuple(secret.encode() for secret in secrets if len(secret) >= LEAST_SECRET)
        self._overlap = max((len(secret) for secret in self._secrets), default=1) - 1
        self._digest = hashlib.sha256()
        self._held, self._tail = bytearray(), b""
        self._size = self._chunks = 0
        self._has_begun = False

    async def write(self, data: bytes) -> None:
        self._check_secrets(data)
        self._size += len(data)
        if self._size > self._store.largest:
            self._store.check_room(self._size)
        self._digest.update(data)
        self._held += data
        while len(self._held) >= PIECE:
            piece = bytes(self._held[:PIECE])
            del self._held[:PIECE]
            await self._append(piece)

    async def finish(self) -> Kept:
        if self._held or not self._has_begun:
            await self._append(bytes(self._held))
        whole = replace(self._artifact, size=self._size, digest=self._digest.hexdigest(), deleted_at=None)

        def job(c: Connection) -> Artifact:
            executions.fence(c, self._execution.id, self._execution.epoch)
            return files.complete(c, whole)

        kept = await self._store.database.write(job)
        return Kept(kept.id, kept.name, kept.media_type, kept.size, kept.digest)

    async def discard(self) -> None:
        if self._has_begun:
            await remove(self._store.database, self._artifact)

    async def _append(self, piece: bytes) -> None:
        if self._chunks % 256 == 0:
            await asyncio.to_thread(self._store.check_room, 0)
        artifact, first, begins = self._artifact, self._chunks, not self._has_begun

        def job(c: Connection) -> None:
            executions.fence(c, self._execution.id, self._execution.epoch)
            if begins:
                self._check_total(files.total(c, artifact.execution_id))
                files.begin(c, artifact)
            files.append(c, artifact, first, piece)

        try:
            await self._store.database.write(job)
        except StorageFull as error:
            raise ToolError("storage_full", error.message, hint=error.hint) from error
        self._has_begun = True
        self._chunks += -(-len(piece) // CHUNK)

    def _check_total(self, kept: int) -> None:
        if kept >= FILES_OF_ONE * self._store.largest:
            message = f"the files of this execution have {kept:,} bytes together, which is the limit"
            raise ToolError("result_too_large", message, hint="continue in another execution")

    def _check_secrets(self, data: bytes) -> None:
        if not self._secrets:
            return
        seen = self._tail + data
        if any(secret in seen for secret in self._secrets):
            message = "the file contains the credential of its request, so it was not stored"
            raise ToolError("unexpected_response", message, hint="ask the operator to check the service")
        self._tail = seen[-self._overlap :] if self._overlap else b""


@contextmanager
def reading_files(store: FileStore, execution: Execution) -> Iterator[None]:
    """Arguments may name files that this execution has."""
    token = FILES.set(CallFiles(store, execution))
    try:
        yield
    finally:
        FILES.reset(token)


async def remove(database: Database, artifact: Artifact) -> None:
    """The content of an artifact that is deleted, a part at a time."""
    while await database.write(lambda c: files.remove_some(c, artifact)):
        pass


async def remove_left_over(database: Database, before: int) -> None:
    """What a crash left of files on their way in, or of those that were being deleted."""
    while batch := await database.scan(lambda c: files.left_over(c, before)):
        for artifact in batch:
            await remove(database, artifact)


def raise_gone(artifact_id: str) -> NoReturn:
    raise ToolError("not_found", f"the artifact {artifact_id} was deleted", hint="run the code again")
