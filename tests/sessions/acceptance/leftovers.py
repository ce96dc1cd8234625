"""What a session may have left on this machine: processes, mounts, sockets, stubs and locks."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from executor.sessions.socket_folder import is_answered
from tests.support.daemon import Daemon
from tests.support.processes import is_alive


def processes_of(folder: Path, *, beside: int | None = None) -> list[int]:
    """That name the folder in their arguments or environment, or work in it; except `beside`, the daemon."""
    text, found = os.fsencode(folder), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) in (os.getpid(), beside):
            continue
        with suppress(OSError):
            seen = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            seen += os.fsencode((entry / "cwd").readlink())
            if text in seen and is_alive(int(entry.name)):
                found.append(int(entry.name))
    return found


def mounts_of(folder: Path) -> list[str]:
    """In any namespace that is left."""
    found: set[str] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                lines = (entry / "mountinfo").read_text().splitlines()
                found |= {f"{entry.name}: {line}" for line in lines if str(folder) in line}
    return sorted(found)


def files_of(daemon: Daemon, *names: str) -> list[str]:
    return sorted(
        str(path) for folder in (daemon.state_dir, daemon.data_dir) for name in names for path in folder.rglob(name)
    )


def find(daemon: Daemon, folder: Path, work: Path, kept: set[str]) -> list[str]:
    """Everything, in words. `kept` are the names that belong in the working directory."""
    running = daemon.process.pid if daemon.process is not None and daemon.process.poll() is None else None
    own = processes_of(folder, beside=running)
    workers = descendants_of(running) if running else set()
    return [
        *(f"process {pid}" for pid in own if pid not in workers),
        *(f"mount {line}" for line in mounts_of(folder)),
        *(f"file {path}" for path in files_of(daemon, "*.sock", "*.lock", "stubs.json") if not is_of_daemon(path)),
        *(f"left in the working directory: {path.name}" for path in work.iterdir() if path.name not in kept),
    ]


def is_of_daemon(path: str) -> bool:
    """Its lock, and the socket that serves `/mcp` to all sandboxes, for as long as it runs."""
    return path.endswith("daemon.lock") or (path.endswith("/mcp.sock") and is_answered(Path(path)))


def descendants_of(pid: int) -> set[int]:
    """Processes that the daemon needs for itself: those that run code, not sessions."""
    from tests.sessions.acceptance.key_hunt import family_of

    found = set()
    for one in family_of(pid):
        with suppress(OSError):
            if b"session-host" not in Path(f"/proc/{one}/cmdline").read_bytes():
                found.add(one)
    return found
