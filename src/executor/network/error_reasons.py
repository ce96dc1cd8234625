"""The reasons that a service gives for refusing a request, in the shapes that common frameworks write them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

HEADLINES = ("detail", "message", "title", "error_description", "error", "msg", "description")
# Where lists and maps of reasons stand, best first; `error` may hold all of it once more.
LISTS = (
    "errors", "detail", "invalid-params", "invalidParams", "violations", "fieldErrors", "field_errors",
    "validationErrors", "validation", "fieldViolations", "issues", "details", "message", "messages",
)  # fmt: skip
TEXTS = ("msg", "message", "detail", "defaultMessage", "reason", "description", "errorMessage", "title", "error")
PLACES = (
    "loc", "field", "path", "param", "pointer", "propertyPath", "property", "instancePath", "attribute", "attr",
    "fieldName", "name",
)  # fmt: skip
# Beside fields, in answers that are nothing but a map of fields to reasons.
NOT_FIELDS = frozenset({"status", "statusCode", "status_code", "code", "type", "timestamp", "instance", "traceId",
                        "request_id", "requestId", "data", "input", "headers", "documentation_url"})  # fmt: skip
MAX_REASONS = 3
MAX_COUNTED = 1_000
MAX_DEPTH = 5
MAX_REASON = 120
MAX_HEADLINE = 200


def explain(body: Any) -> str:
    """The service's own words in one line: what is wrong, and the first reasons with the fields they are about."""
    headline = one_line(headline_of(body), MAX_HEADLINE)
    found = list(dict.fromkeys(reason for reason in islice(reasons_of(body), MAX_COUNTED) if reason))
    found = [reason for reason in found if f" {reason.lower()}" not in f" {headline.lower()}"]
    shown = "; ".join(found[:MAX_REASONS])
    more = f"; and {len(found) - MAX_REASONS} more" if len(found) > MAX_REASONS else ""
    if not shown:
        return headline
    return f"{headline} ({shown}{more})" if headline else f"{shown}{more}"


def headline_of(body: Any, depth: int = 0) -> str:
    if not isinstance(body, dict):
        return ""
    for key in HEADLINES:
        text = body.get(key)
        if isinstance(text, str) and text.strip():
            return text
    inner = body.get("error")
    return headline_of(inner, depth + 1) if isinstance(inner, dict) and depth < MAX_DEPTH else ""


def reasons_of(body: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(body, list):
        yield from entries(body, "", depth)
    if not isinstance(body, dict) or depth > MAX_DEPTH:
        return
    held = next((body[key] for key in LISTS if isinstance(body.get(key), list | dict) and body[key]), None)
    if held is not None:
        yield from entries(held, "", depth)
    elif isinstance(inner := body.get("error"), dict | list):
        yield from reasons_of(inner, depth + 1)
    elif not headline_of(body):
        fields = {key: one for key, one in body.items() if key not in NOT_FIELDS and isinstance(one, list | dict)}
        yield from entries(fields, "", depth)


def entries(held: Any, at: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    if isinstance(held, str):
        yield prefix_place(at, held)
    elif isinstance(held, list):
        for index, one in enumerate(held[:MAX_COUNTED]):
            is_item = isinstance(one, dict) and text_of(one) is None and not any(key in one for key in LISTS)
            inside = below(at, str(index)) if is_item else at
            yield from entries(one, inside, depth + 1)
    elif isinstance(held, dict):
        text = text_of(held)
        if text is not None:
            yield prefix_place(place_of(held) or at, text)
            return
        for key, one in islice(held.items(), MAX_COUNTED):
            if str(key).startswith("@"):
                continue
            is_general = key in LISTS or key in ("non_field_errors", "base", "_errors", "__all__", "")
            yield from entries(one, at if is_general else below(at, str(key)), depth + 1)


def text_of(entry: dict[str, Any]) -> str | None:
    keys = (*TEXTS, "code") if isinstance(entry.get("field"), str) else TEXTS
    return next((entry[key] for key in keys if isinstance(entry.get(key), str) and entry[key].strip()), None)


def place_of(entry: dict[str, Any]) -> str:
    source = entry.get("source")
    for holder in (entry, source if isinstance(source, dict) else {}):
        for key in (*PLACES, "parameter"):
            place = holder.get(key)
            if isinstance(place, list) and all(isinstance(step, str | int) for step in place):
                return ".".join(str(step) for step in place[:20])
            if isinstance(place, str) and place.strip("#/."):
                return place.strip("#/.").replace("/", ".")
    return ""


def below(at: str, part: str) -> str:
    return f"{at}.{part}" if at else part


def prefix_place(at: str, text: str) -> str:
    where = one_line(at, 60)
    return f"{where}: {one_line(text, MAX_REASON)}" if where else one_line(text, MAX_REASON)


def one_line(text: str, limit: int) -> str:
    """Of others' text what fits into a message of ours, in whole words: half a secret would not be recognized."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 20]).split())
    if len(line) <= limit and len(text) <= limit * 20:
        return line
    kept, space, _ = line[:limit].rpartition(" ")
    return f"{kept}…" if space else "…"
