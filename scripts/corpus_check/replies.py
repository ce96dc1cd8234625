"""What the local server answers, as the document promises it, and what the caller has to get of that."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any

from .calls import LINES, essence
from .documents import Document, name
from .values import Maker

TEXT = "a é\n<b/>"
BYTES = b"\x00\xff\r\n\x80"
TEXTS = re.compile(r"text/|[/+](xml|yaml|x-yaml|csv|javascript|toml|graphql)\Z")


@dataclass
class Reply:
    status: int = 204
    media_type: str = ""
    body: bytes = b""
    expected: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def fits(self, text: str) -> bool:
        return bool(json.loads(text) == self.expected)


def reply_to(document: Document, method: str, operation: dict[str, Any], maker: Maker) -> Reply:
    """The first success that the operation tells of; with every kind of content in its plainest form."""
    status, response = success(document, operation)
    if method == "HEAD" or status in (204, 205):
        return Reply(status)
    content = swagger_content(document, operation, response) if document.is_swagger else response.get("content")
    if not isinstance(content, dict) or not content:
        return Reply(status)
    types = [name(one) for one in content if "/" in name(one) and "*" not in name(one)]
    if not types:
        return Reply(status)
    media_type = next((one for one in types if is_json(one)), types[0])
    media = document.follow(content.get(media_type))
    return written(status, media_type, media if isinstance(media, dict) else {}, maker)


def is_json(media_type: str) -> bool:
    form = essence(media_type)
    return form in ("application/json", "text/json") or (form.endswith("+json") and not LINES.search(form))


def success(document: Document, operation: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    responses = operation.get("responses")
    found = {name(key).upper(): document.follow(one) for key, one in (responses or {}).items()}
    for key in [*sorted(key for key in found if re.fullmatch(r"2(\d\d|XX)", key)), "DEFAULT"]:
        if isinstance(found.get(key), dict):
            return (int(key.replace("X", "0")) if key != "DEFAULT" else 200), found[key]
    return 204, {}


def swagger_content(document: Document, operation: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    schema = response.get("schema")
    if not isinstance(schema, dict):
        return {}
    types = operation.get("produces") or document.root.get("produces") or ["application/json"]
    if schema.get("type") == "file":
        types = [one for one in types if "json" not in one] or ["application/octet-stream"]
        return {one: {} for one in types}
    return {one: {"schema": schema} for one in types}


def written(status: int, media_type: str, media: dict[str, Any], maker: Maker) -> Reply:
    form = essence(media_type)
    if is_json(media_type):
        value = maker.value(media.get("schema", {}))
        return Reply(status, media_type, json.dumps(value).encode(), value)
    if form == "text/event-stream":
        items = [{"event": "message", "data": {"a": 1}}, {"event": "x", "data": "é", "id": "7"}]
        body = 'data: {"a": 1}\n\nevent: x\nid: 7\ndata: é\n\n'
        return Reply(status, media_type, body.encode(), {"items": items, "complete": True})
    if LINES.search(form):
        return Reply(status, media_type, b'{"a": 1}\n[2]\n', {"items": [{"a": 1}, [2]], "complete": True})
    if TEXTS.search(form):
        return Reply(status, f"{essence(media_type)}; charset=utf-8", TEXT.encode(), TEXT)
    encoded = base64.b64encode(BYTES).decode()
    return Reply(status, media_type, BYTES, {"contentType": form, "base64": encoded})
