"""Request bodies: strict JSON. What two parsers could read differently is refused rather than guessed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import orjson
from starlette.requests import Request

from executor.errors import InvalidRequest

LARGE = 256 * 1024
SMALL = 4 * 1024
_HINT = "send one JSON object in UTF-8, without NaN, NUL characters, duplicate keys or lone surrogates"


class StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await asyncio.to_thread(parse, body) if len(body) > LARGE else parse(body)
        return self._json


def parse(body: bytes) -> Any:
    """orjson refuses NaN, bad UTF-8, lone surrogates and depth; the second reading finds duplicate keys."""
    try:
        value = orjson.loads(body)
        if _may_have_duplicates(body, value):
            json.loads(body, object_pairs_hook=_unique)
        if b"\\u0000" in body and _has_nul(value):
            raise ValueError("it contains a NUL character")
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the body can't be parsed as JSON: {_reason(error)}", hint=_HINT) from error
    return value


def _may_have_duplicates(body: bytes, value: Any) -> bool:
    """No, if there are as many colons as keys: then each colon follows a key of its own, and no key was dropped."""
    colons = body.count(b":")
    if colons <= 1 or len(body) > SMALL:
        return colons > 1
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict):
            colons -= len(one)
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return colons != 0


def _unique(pairs: list[tuple[str, Any]]) -> None:
    keys = {key for key, _ in pairs}
    if len(keys) != len(pairs):
        raise ValueError("a key appears twice in one object")


def _has_nul(value: Any) -> bool:
    """In a string or a key, however deep. Not every database can store one."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and "\0" in one:
            return True
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one
    return False


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno}, column {error.colno})"
    return str(error)
