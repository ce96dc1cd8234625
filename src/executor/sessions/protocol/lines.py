"""Messages as lines of JSON: what is read is hostile until it has been checked here."""

from __future__ import annotations

import json
from typing import Any

import orjson

MAX_LINE = 16 * 2**20

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INTERNAL_ERROR, HANDLER_ERROR = -32700, -32600, -32601, -32603, -32000


class LineTooLong(Exception):
    """No newline within the limit: where the next message begins is unknown."""


class RpcError(Exception):
    """An error object of JSON-RPC, as it was received or as it is to be sent."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    def to_object(self) -> dict[str, Any]:
        extra = {} if self.data is None else {"data": self.data}
        return {"code": self.code, "message": self.message, **extra}


class Lines:
    """Cuts a stream into lines; `pending` is what has no newline yet."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self.pending = 0

    def feed(self, data: bytes) -> list[bytes]:
        *whole, rest = data.split(b"\n")
        lines = []
        for line in whole:
            self._hold(line)
            lines.append(b"".join(self._parts))
            self._parts, self.pending = [], 0
        self._hold(rest)
        return [line for line in lines if line.strip()]

    def _hold(self, part: bytes) -> None:
        self.pending += len(part)
        if self.pending > self._limit:
            raise LineTooLong(f"a message is longer than {self._limit} bytes")
        if part:
            self._parts.append(part)


def parse(line: bytes) -> dict[str, Any]:
    """Raises RpcError for what is no JSON-RPC message."""
    value = _parse_json(line)
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "a message must be one JSON object; batches are not supported")
    if value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'a message needs "jsonrpc": "2.0"')
    identifier = value.get("id")
    if isinstance(identifier, bool) or not isinstance(identifier, int | str | None):
        raise RpcError(INVALID_REQUEST, "an id must be a string or an integer")
    if "method" in value and not isinstance(value["method"], str):
        raise RpcError(INVALID_REQUEST, "the method must be a string")
    if "method" not in value and "result" not in value and "error" not in value:
        raise RpcError(INVALID_REQUEST, "a message needs a method, a result or an error")
    if "method" in value and not isinstance(value.get("params", {}), dict):
        raise RpcError(INVALID_REQUEST, "params must be an object")
    return value


def dump(message: dict[str, Any]) -> bytes:
    return orjson.dumps(message) + b"\n"


def _parse_json(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    try:  # JavaScript writes half of a surrogate pair as an escape; orjson refuses the whole message for it
        return orjson.loads(json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "a message is not valid JSON") from None
