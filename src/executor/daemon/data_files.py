"""The daemon's directories: private, and writable."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

from executor.daemon import lock
from executor.errors import DataDirectoryUnusable, ExecutorError, StorageFull
from executor.settings import Settings

PROBE_BYTES = 64 * 1024
OUR_FILES = ("daemon.lock", "executor.db", "daemon.log", "daemon.json")


def prepare(settings: Settings) -> None:
    """Make both directories, 0700 and writable, or say which of them can't be used and why."""
    mask = os.umask(0o077)
    try:
        _private(settings.data_dir, "EXECUTOR_DATA_DIR")
        _private(settings.state_dir, "EXECUTOR_STATE_DIR")
    finally:
        os.umask(mask)


def check_state_dir(settings: Settings) -> None:
    """Two data directories with one state directory would overwrite each other's address."""
    try:
        other = json.loads(settings.daemon_file.read_text(encoding="utf-8"))
        folder, pid = other["dataDir"], other["pid"]
        if folder == str(settings.data_dir) or lock.holder(replace(settings, data_dir=Path(folder)).lock_file) != pid:
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    raise DataDirectoryUnusable(
        f"the state directory {settings.state_dir} is used by the daemon of {folder}",
        hint="give each data directory its own EXECUTOR_STATE_DIR",
    )


def unusable(folder: Path, variable: str, error: OSError) -> ExecutorError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"no space left for {folder}", hint=f"free some space, or point {variable} elsewhere")
    why = error.strerror or type(error).__name__
    return DataDirectoryUnusable(
        f"the directory {folder} can't be used: {why}", hint=f"make it writable for you, or point {variable} elsewhere"
    )


def _private(folder: Path, variable: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _claim(folder, variable)
        probe = folder / f".probe.{os.getpid()}"
        try:
            probe.write_bytes(bytes(PROBE_BYTES))
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise unusable(folder, variable, error) from error


def _claim(folder: Path, variable: str) -> None:
    """Close the directory to others, unless that is not ours to do."""
    check_claim(folder, variable)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def check_claim(folder: Path, variable: str) -> None:
    """The mode of a directory that is evidently someone's something else is never changed."""
    found = folder.stat()
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise DataDirectoryUnusable(
            f"the directory {folder} belongs to another user (uid {found.st_uid})",
            hint=f"point {variable} to a directory of your own",
        )
    if not found.st_mode & 0o077:
        return
    names = {entry.name for entry in folder.iterdir()}
    if names and not names.intersection(OUR_FILES):
        raise DataDirectoryUnusable(
            f"the directory {folder} holds other files and is open to other users",
            hint=f"point {variable} to a new directory",
        )
