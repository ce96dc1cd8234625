"""One JSON-RPC message on its way between a client and a command. It is passed on as it came.

Only what decides where it goes is read.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from executor.dataclass import dataclass

Id = str | int
INITIALIZE, PROGRESS, CANCELLED = "initialize", "notifications/progress", "notifications/cancelled"
COMMAND_FAILED = -32000
INVALID_REQUEST = -32600
# No call has caused these, whatever is under way.
UNRELATED = frozenset(
    {
        "notifications/tools/list_changed", "notifications/prompts/list_changed",
        "notifications/resources/list_changed", "notifications/resources/updated",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """`data` is one line without its end. A response has no `method`.

    `token` is the progress token that a request offers or that a report of progress names; `cancels` is the request
    that a cancellation names.
    """

    data: bytes
    method: str = ""
    id: Id | None = None
    token: Id | None = None
    cancels: Id | None = None
    is_error: bool = False

    @property
    def is_request(self) -> bool:
        return bool(self.method) and self.id is not None

    @property
    def is_response(self) -> bool:
        return not self.method


def read_message(data: bytes) -> Message | None:
    """None for anything but one JSON-RPC message."""
    value = read_json(data)
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return None
    method, number = value.get("method", ""), identifier(value.get("id"))
    if not isinstance(method, str) or (not method and not {"result", "error"} & value.keys()):
        return None
    if "id" in value and number is None and (method or value["id"] is not None):
        return None
    params = value.get("params")
    given: dict[str, Any] = params if isinstance(params, dict) else {}
    meta = given if method == PROGRESS else given.get("_meta")
    return Message(
        data=on_one_line(data),
        method=method,
        id=number,
        token=identifier(meta.get("progressToken")) if isinstance(meta, dict) else None,
        cancels=identifier(given.get("requestId")) if method == CANCELLED else None,
        is_error="error" in value,
    )


def read_json(data: bytes) -> Any:
    """Half surrogate pairs and the like, which a strict reader refuses, are for the other side to judge."""
    try:
        return orjson.loads(data)
    except ValueError:
        if not data.lstrip().startswith(b"{"):
            return None
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def identifier(value: Any) -> Id | None:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def on_one_line(data: bytes) -> bytes:
    """Line breaks of JSON are between its tokens: those in texts are escaped. Bytes that are no text are replaced."""
    line = data.strip().replace(b"\r", b" ").replace(b"\n", b" ")
    try:
        line.decode()
    except UnicodeDecodeError:
        line = line.decode("utf-8", "replace").encode()
    return line


def error_message(number: Id | None, code: int, text: str) -> Message:
    value = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
    return Message(write_json(value), id=number, is_error=True)


def write_json(value: Any) -> bytes:
    """Also what only the lenient reader takes: an ID of half a surrogate pair, or of more than 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()
