"""A message from standard input as a request to `/mcp`, and the answers to it as messages again."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any, Final

from executor.surfaces.http.client import WireError
from executor.surfaces.mcp.handshake import IDEMPOTENCY_KEYS, META, opening_result

CALL: Final = "tools/call"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId",
          "tasks/update": "taskId", "tasks/cancel": "taskId"}  # fmt: skip
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")


class Request:
    """Raises ValueError for what is not JSON."""

    def __init__(self, line: bytes) -> None:
        try:
            self._message = json.loads(line)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        known = self._message if isinstance(self._message, dict) else {}
        self.id = known.get("id")
        self.method = known["method"] if isinstance(known.get("method"), str) else ""
        self.params: dict[str, Any] = known["params"] if isinstance(known.get("params"), dict) else {}
        self._meta: dict[str, Any] = self.params["_meta"] if isinstance(self.params.get("_meta"), dict) else {}
        self.is_notification = bool(self.method) and "id" not in known
        is_response = "method" not in known and ("result" in known or "error" in known)
        self.expects_answer = not self.is_notification and not is_response
        self._is_whole = type(self.id) in (str, int) and known.get("jsonrpc") == "2.0"
        self.body = self._named_body() if self.method == CALL else line
        self.is_cancelled = False

    @property
    def is_modern(self) -> bool:
        return f"{META}protocolVersion" in self._meta

    def opening(self, agreed: str) -> dict[str, Any] | None:
        """Its result, if no daemon is needed for one."""
        return opening_result(self.method, self.params, version=agreed) if self._is_whole else None

    def headers(self, agreed: str) -> dict[str, str]:
        """`agreed` is the version of clients that began with a handshake."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        version = str(self._meta.get(f"{META}protocolVersion", agreed))
        if version:
            headers["MCP-Protocol-Version"] = _header(version)
        if self.is_modern:
            headers["Mcp-Method"] = _header(self.method)
            name = self.params.get(_NAMED.get(self.method, ""))
            headers |= {"Mcp-Name": _header(name)} if isinstance(name, str) else {}
        return headers

    def reply_in(self, content: bytes) -> bytes | None:
        """None when there is no message in it.

        What the daemon could not read is answered without an id, but the client waits for an answer with one.
        """
        value = _value(content)
        if not isinstance(value, list) and not (isinstance(value, dict) and "jsonrpc" in value):
            return None
        if isinstance(value, dict) and value.get("id") is None:
            return compact({**value, "id": self.id})
        return content if b"\n" not in content else compact(value)

    def replies_in(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """The messages of an event stream, until the one that answers this request."""
        data: list[bytes] = []
        for line in lines:
            field, _, text = line.rstrip(b"\r").partition(b":")
            if field == b"data":
                data.append(text.removeprefix(b" "))
            elif not field and not text and data:
                value, data = _value(b"\n".join(data)), []
                if value is None:
                    continue  # an event that only names a place in the stream
                yield compact(value)
                if isinstance(value, dict) and "method" not in value and value.get("id") == self.id:
                    return
        raise WireError("the response ended early")

    def _named_body(self) -> bytes:
        """A call with a name for it, so that it can be sent again when its answer is lost."""
        if any(name in self._meta for name in IDEMPOTENCY_KEYS):
            return compact(self._message)
        meta = {IDEMPOTENCY_KEYS[0]: secrets.token_hex(16), **self._meta}
        return compact({**self._message, "params": {**self.params, "_meta": meta}})


def response(number: Any, **outcome: dict[str, Any]) -> bytes:
    return compact({"jsonrpc": "2.0", "id": number, **outcome})


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _value(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _header(text: str) -> str:
    """As the specification wants values that a header can't carry."""
    if _PLAIN.fullmatch(text) and not text.startswith("=?base64?"):
        return text
    import base64

    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="
