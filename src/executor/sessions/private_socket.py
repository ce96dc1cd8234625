"""A Unix socket that one user may connect to, by its permissions and by who is found at the other end."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from executor.sessions.socket_folder import give

PEER = struct.Struct("3i")


def bind_private(path: Path, uid: int | None = None) -> socket.socket:
    """For our own user or another, in a folder that is private itself. The umask is that of the whole process, so it
    is left alone."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(str(path))
        path.chmod(0o600)
        if uid is not None and uid != os.geteuid():
            give(path, uid)
    except BaseException:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def is_from(connected: socket.socket | None, uid: int) -> bool:
    """Where the system can't say who connected, the permissions of the socket and its folder decide."""
    if connected is None:
        return False
    if connected.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return True
    _, peer_uid, _ = PEER.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
    return bool(peer_uid == uid)
