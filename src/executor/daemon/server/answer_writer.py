"""What one answer is written to: the head of an answer goes out with the beginning of its body."""

from __future__ import annotations

import asyncio

LENGTH = b"\r\ncontent-length: "
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class AnswerWriter:
    """uvicorn writes head and body apart. Each packet costs the daemon a system call and wakes the client.

    Only where the length is declared, so that a stream can still begin before it has anything to say.
    """

    def __init__(self, transport: asyncio.Transport, *, has_body: bool) -> None:
        self._transport = transport
        self._has_body = has_body
        self._has_begun = False
        self._head = b""

    def write(self, data: bytes) -> None:
        if not self._has_begun and data != CONTINUE:
            self._has_begun = True
            if self._has_body and LENGTH in data:
                self._head = data
                return
        head, self._head = self._head, b""
        self._transport.write(head + data if head else data)

    def close(self) -> None:
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()
