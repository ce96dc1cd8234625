"""Unix sockets of sessions: in a private folder each, with paths that are short enough for the system."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from executor.errors import DataDirectoryUnusable, Forbidden

MAX_PATH = 100  # Linux takes 107 bytes, macOS 103
NAME_ROOM = 32
ATTEMPTS = 100
SHORT, DIGITS = "executor-{}-{}", 12


class SocketFolder:
    """Below `base`, or in the system's temporary folder if the paths below `base` would be too long.

    There it is locked while it is used, and `close` removes it: what no one has locked was left by a daemon that was
    killed.
    """

    def __init__(self, base: Path) -> None:
        self._is_short = len(os.fsencode(base)) > MAX_PATH - NAME_ROOM
        self._folder = short_folder(base) if self._is_short else base
        self._lock: int | None = None

    def clear(self) -> None:
        """Whatever a daemon that was killed has left, here and in the temporary folder."""
        self._prepare()
        for entry in list(self._folder.iterdir()):
            shutil.rmtree(entry, ignore_errors=True)
        for other in short_folder(self._folder).parent.glob(SHORT.format(os.geteuid(), "?" * DIGITS)):
            remove_stale(other)

    def create(self, uid: int | None = None) -> Path:
        """A new folder for one session. With `uid` it belongs to that user, which only root can do."""
        self._prepare()
        folder = self._folder / secrets.token_hex(6)
        folder.mkdir(mode=0o700)
        if uid is not None and uid != os.geteuid():
            give(folder, uid)
            self._folder.chmod(0o711)
        return folder

    def close(self) -> None:
        """Once nothing is in it."""
        with suppress(OSError):
            self._folder.rmdir()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _prepare(self) -> None:
        make_private(self._folder)
        while self._is_short and self._lock is None:
            make_private(self._folder)  # another daemon may just have removed it
            self._lock = lock(self._folder, fcntl.LOCK_SH)


def lock(folder: Path, how: int) -> int | None:
    """A descriptor that holds the lock until it is closed; None if someone else has it, or has removed the folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, how)
        if os.path.samestat(os.fstat(descriptor), folder.lstat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def remove_stale(folder: Path) -> None:
    """Not one of another user, and not one that a daemon uses."""
    with suppress(OSError):
        if folder.lstat().st_uid != os.geteuid() or any(map(is_answered, folder.glob("*/*.sock"))):
            return
        held = lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        return connection.connect_ex(str(path)) in (0, errno.EAGAIN)


def give(path: Path, uid: int) -> None:
    try:
        os.chown(path, uid, -1)
    except PermissionError as error:
        raise Forbidden(
            f"the sockets of a session can't be handed to uid {uid}",
            hint="run the daemon as root, or relay them as the daemon's own user",
        ) from error


def short_folder(base: Path) -> Path:
    name = hashlib.sha256(os.fsencode(base)).hexdigest()[:DIGITS]
    return Path(tempfile.gettempdir()) / SHORT.format(os.geteuid(), name)


def make_private(folder: Path) -> None:
    """A folder that someone else has put there is not used. Until it is locked, another daemon may remove it."""
    for _ in range(ATTEMPTS):
        with suppress(FileNotFoundError, FileExistsError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o066:
                return
            break
    raise DataDirectoryUnusable(
        f"{folder} is not a private folder of this user", hint="remove it, then start the session again"
    )
