"""A file of another program: read whole, replaced whole or not at all, and put back as it was on request."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.private_files import write_private

_LARGEST = 64_000_000
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class ClientFile:
    """As it is now. `target` is the file itself if `path` leads there by links. `content` is None if it is missing."""

    path: Path
    target: Path
    content: bytes | None
    mode: int = 0o600
    owner: tuple[int, int] | None = None

    @classmethod
    def read(cls, path: Path) -> ClientFile:
        try:
            target = Path(os.path.realpath(path, strict=False))
            descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return cls(path, target, None)
        except OSError as error:
            raise _unreadable(path, error.strerror or "it can't be opened") from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise _unreadable(path, "it is not a regular file")
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise _unreadable(path, "it is too large")
        return cls(path, target, content, stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid))

    @property
    def text(self) -> str:
        try:
            return (self.content or b"").decode().removeprefix(_BOM)
        except UnicodeDecodeError:
            raise _unreadable(self.path, "it is not UTF-8") from None

    def encode(self, text: str) -> bytes:
        marked = (self.content or b"").startswith(_BOM.encode())
        return ((_BOM if marked else "") + text).encode()

    def replace(self, content: bytes, *, is_secret: bool) -> None:
        """With the mode and the owner that it has; only for its owner if it holds a token now."""
        mode = self.mode & 0o600 if is_secret else self.mode
        try:
            write_private(self.target, content, durable=True)
            if self.owner:
                with suppress(PermissionError):  # of a group that is not ours
                    os.chown(self.target, *self.owner)
            if mode != 0o600:
                self.target.chmod(mode)
        except OSError as error:
            raise InvalidRequest(
                f"{self.path} can't be written: {error.strerror}",
                hint="check that you may write there, or use `--print` and add the text yourself",
            ) from error

    def refuse_foreign(self) -> None:
        """Someone else's file would become ours."""
        if self.owner and os.geteuid() not in (0, self.owner[0]):
            raise _unreadable(self.path, "it belongs to another user")


@dataclass(frozen=True, slots=True)
class Keepsake:
    """What is kept in the data directory of a file that we changed: how it was before, and what we wrote."""

    folder: Path
    target: Path
    _name: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(str(self.target).encode()).hexdigest()[:16]
        object.__setattr__(self, "_name", f"{self.target.name.lstrip('.')}-{digest}")

    @property
    def backup(self) -> Path:
        return self.folder / f"{self._name}.backup"

    def save(self, file: ClientFile, after: bytes, created: list[str]) -> None:
        """The backup is the last version that we did not write."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        record = self._record()
        if not record or record.get("after") != _digest(file.content):
            if file.content is not None:
                write_private(self.backup, file.content, durable=True)
            record = {"path": str(file.target), "existed": file.content is not None, "mode": file.mode}
            record["created"] = created
        write_private(self._file, json.dumps({**record, "after": _digest(after)}) + "\n", durable=True)

    @property
    def is_known(self) -> bool:
        return self._record() is not None

    def read_before(self, file: ClientFile) -> ClientFile | None:
        """How the file was, if no one has changed it since; None if that is not known."""
        record = self._record()
        if not record or record.get("after") != _digest(file.content):
            return None
        try:
            content = self.backup.read_bytes() if record["existed"] else None
        except OSError:
            return None
        return ClientFile(file.path, file.target, content, int(record.get("mode", file.mode)), file.owner)

    def created_folders(self) -> list[Path]:
        return [Path(one) for one in (self._record() or {}).get("created", [])]

    def forget(self, *, backup: bool) -> None:
        self._file.unlink(missing_ok=True)
        if backup:
            self.backup.unlink(missing_ok=True)

    @property
    def _file(self) -> Path:
        return self.folder / f"{self._name}.json"

    def _record(self) -> dict[str, Any] | None:
        try:
            found = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None


@contextmanager
def holding(path: Path) -> Iterator[list[str]]:
    """One at a time for all that change files in its folder with us. Yields the folders that had to be created."""
    target = Path(os.path.realpath(path))
    created: list[str] = []
    try:
        for folder in reversed([one for one in target.parents if not one.exists()]):
            folder.mkdir(mode=0o700, exist_ok=True)
            created.append(str(folder))
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(path, f"its folder can't be used: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield created
    finally:
        os.close(descriptor)


def delete(file: ClientFile, folders: list[Path]) -> None:
    """A file that we created, and the folders that were created for it if nothing else is in them."""
    file.target.unlink(missing_ok=True)
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


def _unreadable(path: Path, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"{path} can't be changed: {why}", hint="repair it, or use `--print` and add the text where it belongs"
    )
