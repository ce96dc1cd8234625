"""Files too large for a sandbox: they go from a service to an artifact, and from an artifact to a service.

What a call's kind knows of them is here; who runs the call says where they are kept.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from typing import Any, Protocol

from executor.dataclass import dataclass

LARGE = 4_000_000  # bytes; a smaller file is given to the code
HANDLE = frozenset({"artifact", "name", "filename", "contentType", "size"})


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that is an artifact."""

    id: str
    name: str
    media_type: str
    size: int
    digest: str

    @property
    def handle(self) -> dict[str, Any]:
        return {"artifact": self.id, "name": self.name, "contentType": self.media_type, "size": self.size}


class Writer(Protocol):
    """A file on its way in. What is neither finished nor discarded is lost."""

    async def write(self, data: bytes) -> None: ...

    async def finish(self) -> Kept: ...

    async def discard(self) -> None: ...


class Files(Protocol):
    """Those that one call may read, and where it keeps new ones."""

    def begin(self, media_type: str, name: str, declared: int | None) -> Writer:
        """Raises ToolError if a file of the declared size can't be kept."""

    async def find(self, artifact_id: str) -> Kept:
        """Raises ToolError if the call may not read any such file."""

    def read(self, file: Kept) -> AsyncIterator[bytes]:
        """Raises ToolError, before the last piece, if it is not what it was when it was kept."""


FILES: ContextVar[Files | None] = ContextVar("executor_files", default=None)


@dataclass(frozen=True, slots=True)
class Upload:
    """A body with files in it, made while it is sent; it can be sent again."""

    parts: tuple[bytes | Kept, ...]

    @property
    def size(self) -> int:
        return sum(part.size if isinstance(part, Kept) else len(part) for part in self.parts)

    async def pieces(self, files: Files) -> AsyncIterator[bytes]:
        for part in self.parts:
            if isinstance(part, Kept):
                async for piece in files.read(part):
                    yield piece
            else:
                yield part


def is_handle(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("artifact"), str) and set(value) <= HANDLE
