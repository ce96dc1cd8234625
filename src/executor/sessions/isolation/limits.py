"""What the processes of an agent may use, by the strongest means that this machine has.

The kernel enforces rlimits for each process, and cgroups for all of them; without cgroups the supervisor looks several
times a second and ends everything when a limit is passed.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executor.sessions.protocol.host_settings import Limits

DEFAULTS: Limits = {
    "memory_bytes": 8 * 2**30,
    "processes": 2048,
    "disk_bytes": 20 * 2**30,
    "file_bytes": 4 * 2**30,
    "open_files": 8192,
}
ROOT = Path("/sys/fs/cgroup")
PREFIX = "executor-session-"
LEFT_SECONDS = 600


def rlimits(limits: Limits, uid: int) -> dict[str, int]:
    """`RLIMIT_NPROC` counts all threads of a user, so what that user runs already is added. Root is exempt from it."""
    chosen = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.get("file_bytes"),
        "RLIMIT_NOFILE": limits.get("open_files"),
        "RLIMIT_CPU": limits.get("cpu_seconds"),
        "RLIMIT_NPROC": count_threads(uid) + limits["processes"] if "processes" in limits else None,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def count_threads(uid: int) -> int:
    found = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            if entry.stat().st_uid == uid:
                found += int((entry / "stat").read_text().rpartition(")")[2].split()[17])
    return found


def watch_limits(limits: Limits, paths: list[str]) -> dict[str, Any]:
    return {**limits, "disk_paths": paths}


@dataclass(frozen=True)
class ControlGroup:
    """Directories of the cgroup file system: one in version 2, one for each controller in version 1."""

    directories: tuple[Path, ...]

    def add(self, process: int) -> None:
        for directory in self.directories:
            (directory / "cgroup.procs").write_text(str(process))

    def kill(self) -> None:
        """Everything in it, however it got away from its parents; a no-op where the kernel can't."""
        for directory in self.directories:
            with suppress(OSError):
                if (directory / "cgroup.kill").exists():
                    (directory / "cgroup.kill").write_text("1")
                    continue
                for line in (directory / "cgroup.procs").read_text().split():
                    os.kill(int(line), 9)

    def remove(self) -> None:
        """The kernel keeps a group busy for a moment after its last process has ended."""
        for directory in self.directories:
            for _ in range(100):
                try:
                    directory.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.02)
                else:
                    break


def create_group(limits: Limits) -> ControlGroup | None:
    """None where this user may not create one."""
    name = PREFIX + secrets.token_hex(8)
    group = ControlGroup(tuple(base / name for base in _bases()))
    if not group.directories:
        return None
    try:
        for directory in group.directories:
            directory.mkdir()
            _write_limits(directory, limits)
    except OSError:
        group.remove()
        return None
    return group


def remove_empty_groups() -> None:
    """What a killed executor process has left. One in use can't be removed; a new one is about to be."""
    for base in _bases():
        for directory in base.glob(f"{PREFIX}*"):
            with suppress(OSError):
                if time.time() - directory.stat().st_mtime > LEFT_SECONDS:
                    directory.rmdir()


def _bases() -> list[Path]:
    """Where this process may create groups that limit processes and memory."""
    own = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    unified = ROOT / own.get("", "/").lstrip("/")
    with suppress(OSError):
        if {"pids", "memory"} <= set((unified / "cgroup.subtree_control").read_text().split()):
            return [unified] if os.access(unified, os.W_OK) else []
    found = [ROOT / controller / own[controller].lstrip("/") for controller in ("pids", "memory") if controller in own]
    return [base for base in found if base.is_dir() and os.access(base, os.W_OK)]


def _write_limits(directory: Path, limits: Limits) -> None:
    values = {
        "pids.max": limits.get("processes"),
        "memory.max": limits.get("memory_bytes"),
        "memory.limit_in_bytes": limits.get("memory_bytes"),
    }
    for name, value in values.items():
        if value is not None and (directory / name).exists():
            (directory / name).write_text(str(value))
