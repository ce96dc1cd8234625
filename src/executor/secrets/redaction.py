"""Echoes of a secret in what comes back, replaced, in whatever way they are written.

Besides the plain text: JSON-, URL- and HTML-escaped, base64 (at each of the three offsets a longer text may give it)
and hex. The mark is the same for every secret and every length, so that neither tells. Only whole values are replaced:
to replace parts would let whoever controls an echo guess a value piece by piece.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

MARK = "[redacted]"
SHORTEST = 4  # anything shorter is no secret, and would turn up everywhere
MAX_DEPTH = 200


def redact(text: str, values: Iterable[str]) -> str:
    """Looking for each writing is fast; only those that are there are replaced, the longest first, in one pass."""
    found = [form for form in written(tuple(values)) if form in text]
    return re.sub("|".join(map(re.escape, found)), MARK, text) if found else text


def redact_json(text: str, values: Iterable[str]) -> str:
    """JSON in, JSON out. Escapes that hide letters (`\\u0041`) are undone first."""
    values = tuple(values)
    if not written(values):
        return text
    if "\\u" in text or "\\/" in text:
        text = orjson.dumps(orjson.loads(text)).decode()
    replaced = redact(text, values)
    if replaced == text:
        return text
    try:
        orjson.loads(replaced)
    except orjson.JSONDecodeError:  # a number, or what follows a backslash, was part of it
        return orjson.dumps(redact_value(orjson.loads(text), values)).decode()
    return replaced


def redact_value(value: Any, values: Iterable[str], depth: int = 0) -> Any:
    values = tuple(values)
    if isinstance(value, str):
        return redact(value, values)
    if isinstance(value, dict):
        inner = ((key, one) for key, one in value.items())
        return {redact(str(key), values): redact_value(one, values, depth + 1) for key, one in inner}
    if isinstance(value, list | tuple):
        return [redact_value(one, values, depth + 1) for one in value] if depth < MAX_DEPTH else MARK
    if isinstance(value, int | float) and not isinstance(value, bool) and redact(str(value), values) != str(value):
        return MARK
    return value


@lru_cache(maxsize=256)
def written(values: tuple[str, ...]) -> tuple[str, ...]:
    """Every writing of every value, the longest first, so that none is cut by a shorter one inside it."""
    found = {form for value in values if len(value) >= SHORTEST for form in forms(value)}
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def forms(value: str) -> set[str]:
    plain = {value, value.strip()}
    data = value.encode("utf-8", "surrogatepass")
    escaped = {form for one in plain for form in json_forms(one)} | {html.escape(value)}
    urls = {quote(data, safe=""), quote(data), quote_plus(data), "".join(f"%{byte:02X}" for byte in data)}
    urls |= {percent_lowered(url) for url in urls}
    encoded = base64_forms(data) | {data.hex(), data.hex().upper()}
    slashed = {form.replace("/", "\\/") for form in (*plain, *escaped, *encoded) if "/" in form}
    return {form for form in (*plain, *escaped, *urls, *encoded, *slashed) if len(form) >= SHORTEST}


def json_forms(value: str) -> set[str]:
    """As text inside JSON, and as that inside JSON once more."""
    once = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return once | {json.dumps(one)[1:-1] for one in once}


def percent_lowered(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)


def base64_forms(data: bytes) -> set[str]:
    """What of the base64 of a longer text is fixed by `data` alone, wherever in it `data` begins."""
    found: set[str] = set()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        start = -(-shift * 8 // 6)
        end = (shift + len(data)) * 8 // 6
        middle = encoded[start:end]
        if len(middle) >= SHORTEST + 1:
            found |= {middle, middle.replace("+", "-").replace("/", "_")}
    return found
