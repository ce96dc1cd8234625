"""Bytes in both directions without blocking: over a Unix socket, which also carries descriptors, or over two pipes."""

from __future__ import annotations

import array
import os
import socket
from collections.abc import Sequence
from typing import Protocol

CHUNK = 256 * 1024
_DESCRIPTOR_BYTES = array.array("i").itemsize


class DescriptorsLost(OSError):
    """More descriptors came with a message than one; the kernel dropped some of them."""


class Channel(Protocol):
    @property
    def input(self) -> int: ...

    @property
    def output(self) -> int: ...

    def read(self) -> tuple[bytes, list[int]]:
        """Nothing at all means the other side has closed."""

    def write(self, data: bytes | memoryview, descriptors: Sequence[int]) -> int: ...

    def close(self) -> None: ...


class SocketChannel:
    """At most one descriptor comes with a message. asyncio's own streams would drop it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self.input = self.output = connection.fileno()

    def read(self) -> tuple[bytes, list[int]]:
        room = socket.CMSG_LEN(_DESCRIPTOR_BYTES)
        data, ancillary, flags, _ = self._socket.recvmsg(CHUNK, room, socket.MSG_CMSG_CLOEXEC)
        received = array.array("i")
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received.frombytes(content[: len(content) - len(content) % _DESCRIPTOR_BYTES])
        if flags & socket.MSG_CTRUNC:
            for descriptor in received:
                os.close(descriptor)
            raise DescriptorsLost("a message may carry one descriptor")
        return data, list(received)

    def write(self, data: bytes | memoryview, descriptors: Sequence[int]) -> int:
        if not descriptors:
            return self._socket.send(data, socket.MSG_NOSIGNAL)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        return self._socket.sendmsg([data], rights, socket.MSG_NOSIGNAL)

    def close(self) -> None:
        self._socket.close()


class PipeChannel:
    """The standard output (`read_end`) and input (`write_end`) of a process. Pipes carry no descriptors."""

    def __init__(self, read_end: int, write_end: int) -> None:
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        self.input, self.output = read_end, write_end
        self._open = True

    def read(self) -> tuple[bytes, list[int]]:
        return os.read(self.input, CHUNK), []

    def write(self, data: bytes | memoryview, descriptors: Sequence[int]) -> int:
        if descriptors:
            raise ValueError("a pipe carries no descriptors")
        return os.write(self.output, data)

    def close(self) -> None:
        if self._open:
            self._open = False
            os.close(self.input)
            os.close(self.output)
