"""The daemon's listening socket, and who has the port when it is not to be had."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from pathlib import Path

from executor.errors import ExecutorError, InvalidRequest, PortTaken

BACKLOG = 2048
LISTENING = "0A"


def bind(host: str, port: int) -> socket.socket:
    """Bound and listening at once, so that a taken port is known before anything slow begins."""
    family, _, _, _, address = _resolve(host, port)
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle on
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _refusal_of(host, port, error) from error
    listener.setblocking(False)
    return listener


def owner(port: int) -> str:
    """`process 12 (name)` of anyone who listens there, as far as /proc shows it to us; empty when it does not."""
    try:
        inodes = {f"socket:[{inode}]" for inode in _listening(port)}
        for process in Path("/proc").glob("[0-9]*") if inodes else ():
            if inodes.intersection(_open_files(process)):
                return f"process {process.name} ({_name(process)})"
    except OSError:
        return ""
    return ""


def _resolve(
    host: str, port: int
) -> tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InvalidRequest(
            f"the host {host!r} has no address on this machine: {error}",
            hint="set EXECUTOR_HOST to an address of this machine",
        ) from error
    return found[0]  # type: ignore[return-value]


def _refusal_of(host: str, port: int, error: OSError) -> ExecutorError:
    if error.errno == errno.EADDRINUSE:
        by = owner(port)
        whose = f" by {by}, which is not the daemon of this data directory" if by else ""
        return PortTaken(
            f"port {port} on {host} is already in use{whose}",
            hint="stop that program, or choose another port: EXECUTOR_PORT=8789 (EXECUTOR_PORT=0 picks a free one)",
            port=port,
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return PortTaken(
            f"you don't have permission to use port {port}", hint="choose a port above 1023: EXECUTOR_PORT"
        )
    return InvalidRequest(
        f"can't listen on {host}:{port}: {error.strerror}", hint="set EXECUTOR_HOST to an address of this machine"
    )


def _listening(port: int) -> set[str]:
    inodes = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if not table.exists():
            continue
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _open_files(process: Path) -> set[str]:
    found = set()
    with suppress(OSError):  # the process ended, or is not ours to look into
        for link in (process / "fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                found.add(str(link.readlink()))
    return found


def _name(process: Path) -> str:
    try:
        words = (process / "cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return "?"
    line = " ".join(words).strip()[:80]
    return "".join(character if character.isprintable() else "?" for character in line) or "?"
