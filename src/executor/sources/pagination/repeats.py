"""Items of a list that came on an earlier page already."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from executor.sources.pagination.names import plain

# Fields that distinguish one item from all others. Items without any may be equal and still be several.
IDENTIFIERS = frozenset({"id", "uuid", "guid", "gid", "sid", "uid", "arn", "urn", "objectid", "nodeid"})
OPTIONS = orjson.OPT_SORT_KEYS


class Repeats:
    """`counted` lists move on by a number that a service may ignore: then a page that comes again says so."""

    def __init__(self, *, counted: bool) -> None:
        self._counted = counted
        self._items: set[bytes] = set()
        self._last: list[Any] = []

    def fresh(self, page: list[Any]) -> list[Any]:
        """The items that did not come before."""
        is_same, self._last = bool(page) and page == self._last, page
        if is_same and (self._counted or isinstance(page[0], dict)):
            return []
        marks = [mark(item) for item in page]
        kept = [item for item, one in zip(page, marks, strict=True) if one is None or one not in self._items]
        self._items.update(one for one in marks if one is not None)
        return kept


def mark(item: Any) -> bytes | None:
    """None for what may come twice."""
    if not isinstance(item, dict) or not any(plain(name) in IDENTIFIERS for name in item if len(name) < 20):
        return None
    return hashlib.blake2b(orjson.dumps(item, option=OPTIONS), digest_size=16).digest()


def are_alike(first: list[Any], other: list[Any]) -> bool:
    """Whether at least half of what came first is there again."""
    known, again = ({orjson.dumps(one, option=OPTIONS) for one in page} for page in (first, other))
    return bool(other) and len(known & again) * 2 >= len(known)


def are_in_order(items: list[Any]) -> bool:
    """Whether the items have numbers for identifiers that grow: then the list continues behind the last."""
    numbers = [number_of(item) for item in items]
    return bool(numbers) and all(
        one is not None and (before is None or before < one)
        for before, one in zip([None, *numbers], numbers, strict=False)
    )


def number_of(item: Any) -> int | None:
    found = item.get("id") if isinstance(item, dict) else None
    if isinstance(found, str) and found.isdecimal() and len(found) < 40:
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
