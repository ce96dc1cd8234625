"""Files that only their owner reads, and that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, content: str | bytes, *, durable: bool = False, mode: int = 0o600) -> None:
    """A reader sees the old content or the new, never half of it, and no one else sees either.

    `durable`: on the disk before this returns.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if durable and os.name == "posix":
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
