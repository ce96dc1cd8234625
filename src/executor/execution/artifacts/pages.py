"""Parts of an artifact: a place in it, a page of what is there, and where a text occurs in it. Pure functions."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from executor.dataclass import dataclass
from executor.errors import ToolError
from executor.execution.artifacts.preview import below

AROUND = 60
KEYS_NAMED = 20


@dataclass(frozen=True, slots=True)
class Page:
    """`kind` says what is there, `total` how much of it there is, `next` where the following page begins."""

    kind: str
    value: Any
    total: int | None = None
    offset: int = 0
    next: int | None = None


def at_pointer(value: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) leads to; the error says how far it led."""
    if pointer and not pointer.startswith("/"):
        raise _nowhere(f"the pointer {pointer[:100]!r} does not begin with /", value)
    gone = ""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and (index := _index(key)) is not None and index < len(value):
            value = value[index]
        else:
            raise _nowhere(f"there is nothing at {gone}/{part}"[:300], value)
        gone = f"{gone}/{part}"
    return value


def page_of(value: Any, offset: int, limit: int | None, *, lines: bool = False) -> Page:
    """Items of a list, keys of an object, characters or lines of a text; anything else is whole."""
    if isinstance(value, list):
        return _page("array", value, len(value), offset, limit)
    if isinstance(value, dict):
        page = _page("object", list(value), len(value), offset, limit)
        return Page("object", {key: value[key] for key in page.value}, page.total, page.offset, page.next)
    if isinstance(value, str) and lines:
        page = _page("lines", value.split("\n"), value.count("\n") + 1, offset, limit)
        return Page("lines", "\n".join(page.value), page.total, page.offset, page.next)
    if isinstance(value, str):
        return _page("string", value, len(value), offset, limit)
    if isinstance(value, bytes):
        page = _page("bytes", value, len(value), offset, limit)
        return Page("bytes", base64.b64encode(page.value).decode(), page.total, page.offset, page.next)
    kind = "null" if value is None else "boolean" if isinstance(value, bool) else "number"
    return Page(kind, value)


def _page(kind: str, whole: Any, total: int, offset: int, limit: int | None) -> Page:
    end = total if limit is None else min(total, offset + limit)
    return Page(kind, whole[offset:end], total, offset, end if end < total else None)


def occurrences(value: Any, query: str) -> Iterator[dict[str, Any]]:
    """Where a text occurs, whatever its case: in a text by line, in JSON by place, in keys as well as in values."""
    wanted = query.casefold()
    if not isinstance(value, list | dict):
        value = str(value)
        for number, line in enumerate(value.split("\n")):
            if (found := line.casefold().find(wanted)) >= 0:
                yield {"line": number, "text": excerpt(line, found, len(query))}
        return
    for above, name, text in leaves(value):
        if (found := text.casefold().find(wanted)) >= 0:
            pointer = below(above, name)
            place = {} if pointer is None else {"pointer": pointer}
            yield {**place, "text": excerpt(text, found, len(query))}


def leaves(value: Any) -> Iterator[tuple[str | None, str | int, str]]:
    """Every key and every value that is not itself a list or an object: where it is, its name there, and its text.

    Without recursion, and one at a time: millions of items with their places would not fit into memory.
    """
    yield from keys(value, "")
    waiting: list[tuple[str | None, Iterator[tuple[str | int, Any]]]] = [("", parts(value))]
    while waiting:
        above, rest = waiting[-1]
        for name, one in rest:
            if isinstance(one, list | dict):
                here = below(above, name)
                yield from keys(one, here)
                waiting.append((here, parts(one)))
                break
            if one is not None:
                yield above, name, one if isinstance(one, str) else str(one)
        else:
            waiting.pop()


def keys(value: Any, at: str | None) -> Iterator[tuple[str | None, str, str]]:
    return ((at, key, key) for key in value) if isinstance(value, dict) else iter(())


def parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    return iter(value.items()) if isinstance(value, dict) else iter(enumerate(value))


def excerpt(text: str, found: int, length: int) -> str:
    start, end = max(0, found - AROUND), found + length + AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _index(key: str) -> int | None:
    return int(key) if key.isascii() and key.isdecimal() and len(key) < 10 else None


def _nowhere(message: str, value: Any) -> ToolError:
    if isinstance(value, dict):
        named = ", ".join(key[:60] for key in list(value)[:KEYS_NAMED])
        hint = f"its keys are {named}" if named else "the object is empty"
    elif isinstance(value, list):
        hint = f"it is a list of {len(value)} items"
    else:
        hint = "the value there has no parts"
    return ToolError("not_found", message, hint=hint)
