"""Where the files of one call are kept: artifacts of its execution, written and read in pieces."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import ArtifactUnavailable, NotFound, ToolError
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.uploads import Upload
from executor.model.artifact import Artifact, media_type_of, name_of
from executor.model.execution import Execution
from executor.model.ids import new_id, now_ms
from executor.network.files import FILES, Kept
from executor.storage.executions import artifacts, executions
from executor.storage.executions.artifacts import CHUNK

PIECE = 4 * CHUNK  # written in one transaction, so that others' commits don't wait long
PIECES_CHECKED = 64  # between two looks at the disk
SPARE = 256 * 1024 * 1024  # of the disk, that files leave to everything else
FILES_OF_ONE = 4  # times the largest file: what those of one execution may have together
LEAST_SECRET = 8  # characters: anything shorter occurs in large files by chance


@dataclass(frozen=True, slots=True)
class FileStore:
    """Of the whole installation. `largest` is how many bytes one file may have."""

    contents: Contents
    folder: Path | None = None
    largest: int = 1024 * 1024 * 1024

    def check_size(self, size: int) -> None:
        if size > self.largest:
            message = f"the file has {size:,} bytes, more than the limit of {self.largest:,}"
            raise ToolError("result_too_large", message, hint="the operator can raise `file_bytes`")

    def check_total(self, kept: int) -> None:
        if kept >= FILES_OF_ONE * self.largest:
            message = f"the files of this execution have {kept:,} bytes together, which is the limit"
            raise ToolError("result_too_large", message, hint="continue in another execution")

    def check_room(self, size: int) -> None:
        """On the disk of the database."""
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
        self.store.check_size(declared or 0)
        if not self.store.contents.takes(declared):
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
        return FileWriter(self.store, self.execution, artifact, declared, self.secrets)

    async def find(self, artifact_id: str) -> Kept:
        """As code sees artifacts: those of the executions that its own actor submitted."""

        def look(c: Connection) -> Artifact | None:
            found = artifacts.get(c, self.execution.workspace_id, artifact_id)
            owner = executions.get(c, self.execution.workspace_id, found.execution_id) if found else None
            return found if owner is not None and self.execution.may_read(owner) else None

        found = await self.store.contents.database.read(look)
        if found is None:
            hint = "tools.executor.artifacts.list lists the ones that exist"
            raise ToolError("not_found", f"there is no artifact {artifact_id[:100]!r}", hint=hint)
        if found.deleted_at is not None:
            raise_gone(artifact_id)
        return Kept(found.id, found.name, found.media_type, found.size, found.digest)

    async def read(self, file: Kept) -> AsyncIterator[bytes]:
        """The last piece is held back until all of it is known to be what was kept."""
        contents, digest, held = self.store.contents, hashlib.sha256(), b""
        artifact = await contents.database.read(lambda c: artifacts.get(c, self.execution.workspace_id, file.id))
        if artifact is None or artifact.deleted_at is not None:
            raise_gone(file.id)
        with tool_errors(file.id):
            async for piece in contents.pieces(artifact, 0, file.size):
                digest.update(piece)
                if held:
                    yield held
                held = piece
        if digest.hexdigest() != file.digest:
            raise ToolError("unexpected_response", f"the artifact {file.id} is damaged", hint="run the code again")
        if held:
            yield held


class FileWriter:
    """Pieces are written as they fill; memory holds no more than a few. `declared` is the size, if it was announced."""

    def __init__(
        self,
        store: FileStore,
        execution: Execution,
        artifact: Artifact,
        declared: int | None,
        secrets: tuple[str, ...],
    ) -> None:
        self._store, self._execution, self._artifact, self._declared = store, execution, artifact, declared
        self._secrets = tuple(secret.encode() for secret in secrets if len(secret) >= LEAST_SECRET)
        self._overlap = max((len(secret) for secret in self._secrets), default=1) - 1
        self._digest = hashlib.sha256()
        self._held, self._tail = bytearray(), b""
        self._size = self._pieces = 0
        self._upload: Upload | None = None

    async def write(self, data: bytes) -> None:
        self._check_secrets(data)
        self._size += len(data)
        self._store.check_size(self._size)
        self._digest.update(data)
        self._held += data
        while len(self._held) >= PIECE:
            piece = bytes(self._held[:PIECE])
            del self._held[:PIECE]
            await self._append(piece)

    async def finish(self) -> Kept:
        upload = self._upload
        if self._held or upload is None:
            upload = await self._append(bytes(self._held))
        with tool_errors(self._artifact.id):
            kept = await upload.finish(self._size, self._digest.hexdigest())
        if kept.id != self._artifact.id:
            await self.discard()
        return Kept(kept.id, kept.name, kept.media_type, kept.size, kept.digest)

    async def discard(self) -> None:
        if self._upload is not None:
            await self._upload.abort()
            if self._upload.has_begun:
                with suppress(ArtifactUnavailable):
                    await self._store.contents.remove(self._upload.artifact)

    async def _append(self, piece: bytes) -> Upload:
        with tool_errors(self._artifact.id):
            if self._upload is None:
                begin, check = self._store.contents.begin, self._store.check_total
                self._upload = await begin(self._execution, self._artifact, self._declared, check)
            if self._upload.artifact.object_key is None and self._pieces % PIECES_CHECKED == 0:
                await asyncio.to_thread(self._store.check_room, 0)
            self._pieces += 1
            await self._upload.write(piece)
        return self._upload

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


@contextmanager
def tool_errors(artifact_id: str) -> Iterator[None]:
    """What is wrong with the content, in words for the code that called."""
    try:
        yield
    except ArtifactUnavailable as error:
        raise ToolError("artifact_unavailable", error.message, hint=error.hint, retryable=True) from error
    except NotFound:
        raise_gone(artifact_id)


def raise_gone(artifact_id: str) -> NoReturn:
    raise ToolError("not_found", f"the artifact {artifact_id} was deleted", hint="run the code again")
