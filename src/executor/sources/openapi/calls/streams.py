"""Answers that are streams of events or lines, as far as they were read: their items, and whether those are all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from executor.model.tool import Schema
from executor.sources.openapi.calls.media import is_events
from executor.sources.openapi.tools.parameters import Parameter

if TYPE_CHECKING:
    from executor.network.client import Answer

MAX_ITEMS = 10_000
RESUME = "Last-Event-ID"
CUT = "the stream was still open when it reached the limit on time, size or number of items"
BY_ID = f"to continue, call again with `{RESUME}` set to the `id` of the last item"
BY_ARGUMENTS = (
    "to continue, call again with arguments that say where to start (a cursor, an offset, a "
    "time), or request less with a filter"
)


def stream_result(answer: Answer) -> dict[str, Any]:
    """What was cut off in the middle of an item leaves that item out."""
    text = answer.body.decode("utf-8", "replace").removeprefix("\ufeff").replace("\x1e", "\n")
    found = events(text, answer.complete) if is_events(answer.media_type) else lines(text, answer.complete)
    items = list(islice(found, MAX_ITEMS))
    if answer.complete and next(found, None) is None:
        return {"items": items, "complete": True}
    has_id = bool(items) and is_events(answer.media_type) and bool(items[-1].get("id"))
    return {"items": items, "complete": False, "more": f"{CUT}; {BY_ID if has_id else BY_ARGUMENTS}"}


def stream_schema(item: Schema) -> Schema:
    parts: dict[str, Schema] = {
        "items": {"type": "array", "items": item},
        "complete": {"type": "boolean", "description": "False if the stream was cut at a limit"},
        "more": {"type": "string", "description": "How to continue, if it was cut"},
    }
    return {"type": "object", "properties": parts, "required": ["items", "complete"]}


def resumable(parameters: list[Parameter], responses: dict[str, dict[str, Any]]) -> list[Parameter]:
    """Every stream of events can be asked to continue after one of them, whether its document says so or not."""
    if not any(is_events(str(one)) for response in responses.values() for one in response.get("content") or ()):
        return parameters
    if any(one.name.lower() == RESUME.lower() or one.argument == RESUME for one in parameters):
        return parameters
    text = "The `id` of an event: return only later ones"
    return [*parameters, Parameter(RESUME, "header", RESUME, "simple", False, False, "", {"type": "string"}, text)]


def lines(text: str, complete: bool) -> Iterator[Any]:
    rows = text.split("\n")
    for row in rows if complete else rows[:-1]:
        if row.strip():
            yield value_of(row.strip())


def events(text: str, complete: bool) -> Iterator[dict[str, Any]]:
    blocks = text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
    for block in blocks if complete else blocks[:-1]:
        event = event_of(block)
        if event:
            yield event


def event_of(block: str) -> dict[str, Any]:
    fields: dict[str, str] = {}
    data: list[str] = []
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name in ("event", "id"):
            fields[name] = value
    if not data:
        return {}
    found: dict[str, Any] = {"event": fields.get("event") or "message", "data": value_of("\n".join(data))}
    return {**found, "id": fields["id"]} if "id" in fields else found


def value_of(text: str) -> Any:
    """JSON where it is JSON that every reader reads alike, else the text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, float) and math.isfinite(value) else text


def refuse(name: str) -> float:
    raise ValueError(name)
