"""One daemon per data directory, held by an operating system lock.

A POSIX record lock, because the kernel then says which process holds it (`F_GETLK`) without taking it, frees it the
moment that process dies, and never hands it on to child processes. What bites: closing any descriptor of the file in
the holding process frees the lock, so a holder must never open the lock file a second time; `_held` sees to that.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

from executor.errors import DataDirectoryLocked

# struct flock differs: type, whence, start, length, pid on Linux; start, length, pid, type, whence on macOS and BSD.
_LINUX = sys.platform.startswith("linux")
_LAYOUT = "hhqqi4x" if _LINUX else "qqihh"

_held: dict[Path, Lock] = {}


class Lock:
    """Kept until `release`, or until the process ends in whatever way."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        _held[path] = self

    def release(self) -> None:
        if _held.pop(self.path, None) is self:
            os.close(self._descriptor)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def acquire(path: Path) -> Lock:
    path = path.absolute()
    if path in _held:
        raise _locked_error(path, os.getpid())
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pid = _ask_holder(descriptor)
        os.close(descriptor)
        raise _locked_error(path, pid or 0) from None
    return Lock(path, descriptor)


def holder(path: Path) -> int | None:
    """The process that holds the lock, as the kernel knows it; 0 when it can't be seen from here, None when free."""
    path = path.absolute()
    if path in _held:
        return os.getpid()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return _ask_holder(descriptor)
    finally:
        os.close(descriptor)


def _ask_holder(descriptor: int) -> int | None:
    if _LINUX:
        request = struct.pack(_LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_LAYOUT, fcntl.fcntl(descriptor, fcntl.F_GETLK, request))
    else:
        request = struct.pack(_LAYOUT, 0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
        _, _, pid, kind, _ = struct.unpack(_LAYOUT, fcntl.fcntl(descriptor, fcntl.F_GETLK, request))
    return None if kind == fcntl.F_UNLCK else max(0, pid)


def _locked_error(path: Path, pid: int) -> DataDirectoryLocked:
    who = f"process {pid}" if pid else "another process"
    return DataDirectoryLocked(
        f"the data directory {path.parent} is in use by {who}",
        hint="`executor status` shows the daemon that uses it; `executor down` stops it",
        pid=pid,
    )
