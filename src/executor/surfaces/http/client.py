"""As much of HTTP/1.1 as the CLI and its own daemon speak, over a plain socket.

The standard library's client brings TLS and mail parsing along: a quarter of the time that a short command takes.
Anything unexpected is an error rather than a guess.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import BinaryIO

from executor.dataclass import dataclass

_STATUS = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2}) [^\r\n]*\r\n")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*?)[ \t]*\r\n")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,7})\r\n")
_PATH = re.compile(r"/[!-~]*")
_VALUE = re.compile(r"[ -~]*")
_STREAMS = (b"text/event-stream", b"application/x-ndjson", b"text/markdown")
_LONGEST_LINE = 65536
_MOST_HEADERS = 100


class WireError(Exception):
    """The other side does not speak as our daemon does, or stopped in the middle."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` by their names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)


class Connection:
    """Kept open between requests; `is_open` is False once the other side has said that it closes."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        name = f"[{host}]" if ":" in host else host
        self._host = name if port == 80 else f"{name}:{port}"  # the default port is not named
        self._socket = socket.create_connection((host, port), seconds)
        self._input: BinaryIO = self._socket.makefile("rb")
        self.is_open = True

    def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, *, seconds: float
    ) -> Answer:
        status, received = self._exchange(method, path, headers, body, seconds)
        return self._whole(status, received)

    def follow(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, *, seconds: float
    ) -> Answer | Iterator[bytes]:
        """The lines of a stream as they come, after which the connection is of no use; else the answer.

        `seconds` are for each silence.
        """
        status, received = self._exchange(method, path, headers, body, seconds)
        if received.get(b"content-type", b"").partition(b";")[0].strip().lower() not in _STREAMS:
            return self._whole(status, received)
        self.is_open = False
        if received.get(b"transfer-encoding", b"").lower() != b"chunked" or b"content-length" in received:
            raise WireError("the stream is not sent in chunks")
        return self._lines()

    def close(self) -> None:
        self.is_open = False
        self._input.close()
        self._socket.close()

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> tuple[int, dict[bytes, bytes]]:
        self._socket.settimeout(seconds)
        self._socket.sendall(encode_request(method, path, {"Host": self._host, **headers}, body))
        status, received = self._head()
        if received.get(b"connection", b"").lower() == b"close":
            self.is_open = False
        return status, received

    def _whole(self, status: int, received: Mapping[bytes, bytes]) -> Answer:
        if b"transfer-encoding" in received:
            raise WireError("the response has no length")
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in received.items()}
        return Answer(status, self._body(status, received.get(b"content-length")), headers)

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines

    def _chunks(self) -> Iterator[bytes]:
        """Until the empty one. What may follow that is not read: the connection is closed."""
        while True:
            size = _CHUNK.fullmatch(self._line())
            if size is None:
                raise WireError("the stream has a malformed chunk")
            length = int(size[1], 16)
            if not length:
                return
            chunk = self._input.read(length + 2)
            if len(chunk) < length + 2 or not chunk.endswith(b"\r\n"):
                raise WireError("the response ended early")
            yield chunk[:-2]

    def _head(self) -> tuple[int, dict[bytes, bytes]]:
        status = _STATUS.fullmatch(self._line())
        if status is None:
            raise WireError("the response is not HTTP/1.1")
        headers: dict[bytes, bytes] = {}
        while (line := self._line()) != b"\r\n":
            header = _HEADER.fullmatch(line)
            if header is None or len(headers) == _MOST_HEADERS:
                raise WireError("the response has a malformed header")
            name = header[1].lower()
            if name == b"content-length" and name in headers:
                raise WireError("the response has two lengths")
            headers[name] = header[2]
        return int(status[1]), headers

    def _line(self) -> bytes:
        line = self._input.readline(_LONGEST_LINE)
        if not line.endswith(b"\r\n"):
            raise WireError(
                "the response ended early" if len(line) < _LONGEST_LINE else "the response has an endless line"
            )
        return line

    def _body(self, status: int, declared: bytes | None) -> bytes:
        if status == 204:
            return b""
        if declared is None:
            if self.is_open:
                raise WireError("the response has no length")
            return self._input.read()
        if not declared.isdigit():
            raise WireError("the response has a malformed length")
        body = self._input.read(int(declared))
        if len(body) < int(declared):
            raise WireError("the response ended early")
        return body


def encode_request(method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """One request. What could end a line early never gets into it."""
    if not _PATH.fullmatch(path):
        raise WireError("the address contains characters that must be escaped")
    if not all(_VALUE.fullmatch(value) for value in headers.values()):
        raise WireError("a header contains characters that are not allowed")
    length = {} if body is None and method == "GET" else {"Content-Length": str(len(body or b""))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**headers, **length}.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")
