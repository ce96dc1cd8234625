"""The daemon's directories: private, and writable."""

from __future__ import annotations

import errno
import os
from pathlib import Path

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
    """Close the directory to others; but never change the mode of one that is evidently someone's something else."""
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
    folder.chmod(0o700)
