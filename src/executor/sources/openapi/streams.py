"""Answers that are streams of events or lines, as far as they were read: an array of their items."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import orjson

from executor.sources.egress import Answer
from executor.sources.openapi.media import is_events

MAX_ITEMS = 10_000


def stream_items(answer: Answer) -> list[Any]:
    """What was cut off in the middle of an item leaves that item out."""
    text = answer.body.decode("utf-8", "replace").removeprefix("\ufeff").replace("\x1e", "\n")
    found = events(text, answer.complete) if is_events(answer.media_type) else lines(text, answer.complete)
    return [item for _, item in zip(range(MAX_ITEMS), found, strict=False)]


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
