"""Who is at the other end of a socket, and what a descriptor that came over it is."""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys

_PTY_MAJORS = range(136, 144)  # Unix 98 pseudoterminals, the side that programs see
_PTMX = (5, 2)  # the side that the terminal's owner reads and writes


def peer_uid(connection: socket.socket) -> int:
    """Of the process that connected. On a pair made by `socketpair` it is the pair's creator."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid: int = struct.unpack("3i", credentials)[1]
        return uid
    credentials = connection.getsockopt(0, 1, 8)  # LOCAL_PEERCRED of macOS and BSD: version, uid
    return int(struct.unpack("=II", credentials)[1])


def is_pty(descriptor: int) -> bool:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    if not stat.S_ISCHR(found.st_mode):
        return False
    number = os.major(found.st_rdev), os.minor(found.st_rdev)
    if sys.platform != "linux":
        return os.isatty(descriptor)
    return (number[0] in _PTY_MAJORS or number == _PTMX) and os.isatty(descriptor)
