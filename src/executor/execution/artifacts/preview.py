"""A large value cut down to what a reader needs first: the same shape, fewer of everything, and what was cut.

What comes out is a value of the same kind: a list stays a list of its first items, an object keeps its keys. Details
shrink step by step until everything fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_CUTS = 12
KEY_CHARACTERS = 100
POINTER_CHARACTERS = 200
LONGEST_POINTER = 1_000


class Detail(NamedTuple):
    items: int
    keys: int
    characters: int
    levels: int


DETAILS = (
    Detail(50, 100, 1000, 8),
    Detail(25, 60, 400, 6),
    Detail(12, 40, 200, 5),
    Detail(6, 30, 120, 5),
    Detail(4, 20, 80, 4),
    Detail(3, 12, 60, 3),
    Detail(2, 8, 40, 3),
    Detail(1, 6, 30, 2),
)


class _NoRoom(Exception):
    """This much detail does not fit."""


@dataclass
class _Cutter:
    detail: Detail
    room: int
    files: Mapping[str, str]
    cuts: list[dict[str, Any]] = field(default_factory=list)
    uncounted: int = 0

    def take(self, value: Any, at: str | None, level: int) -> Any:
        if isinstance(value, str):
            return self._text(value, at)
        if isinstance(value, list | dict) and value and level >= self.detail.levels:
            what = f"{len(value)} items" if isinstance(value, list) else f"{len(value)} keys"
            self._cut(at, "items" if isinstance(value, list) else "keys", 0, len(value))
            return self._spend(f"… ({what})")
        if isinstance(value, list):
            return self._items(value, at, level)
        if isinstance(value, dict):
            return self._keys(value, at, level)
        return self._spend(value)

    def _items(self, value: list[Any], at: str | None, level: int) -> list[Any]:
        shown = value[: self.detail.items]
        self._cut(at, "items", len(shown), len(value))
        return [self.take(one, below(at, index), level + 1) for index, one in enumerate(shown)]

    def _keys(self, value: dict[str, Any], at: str | None, level: int) -> dict[str, Any]:
        shown = list(value)[: self.detail.keys]
        self._cut(at, "keys", len(shown), len(value))
        return {self._key(key): self.take(value[key], below(at, key), level + 1) for key in shown}

    def _key(self, key: str) -> str:
        return str(self._spend(key if len(key) <= KEY_CHARACTERS else f"{key[:KEY_CHARACTERS]}…"))

    def _text(self, text: str, at: str | None) -> Any:
        if at is not None and at in self.files:
            return self._spend(self.files[at])
        most = self.detail.characters
        if len(text) <= most:
            return self._spend(text)
        if at == "":
            self._cut(at, "characters", most, len(text))
        return self._spend(f"{text[:most]}… ({len(text) - most} more characters)")

    def _cut(self, at: str | None, what: str, shown: int, total: int) -> None:
        if shown == total:
            return
        if len(self.cuts) < MOST_CUTS and at is not None and len(at) <= POINTER_CHARACTERS:
            self.cuts.append({"at": at, "what": what, "shown": shown, "total": total})
        else:
            self.uncounted += 1

    def _spend(self, value: Any) -> Any:
        self.room -= len(value) + 4 if isinstance(value, str) else 8
        if self.room < 0:
            raise _NoRoom
        return value


def preview(value: Any, room: int, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`{value, cut, more}`: names the first cuts, and `more` counts the rest. About `room` characters.

    `files` says what replaces a text that is a file's content, by its place.
    """
    for detail in DETAILS:
        cutter = _Cutter(detail, room, files or {})
        try:
            shown = cutter.take(value, "", 0)
        except _NoRoom:
            continue
        return {"value": shown, "cut": cutter.cuts, "more": cutter.uncounted}
    return outline(value)


def outline(value: Any) -> dict[str, Any]:
    """When not even one of each fits: what it is."""
    if isinstance(value, list | dict):
        what = "items" if isinstance(value, list) else "keys"
        shown: Any = [] if isinstance(value, list) else {}
        return {"value": shown, "cut": [{"at": "", "what": what, "shown": 0, "total": len(value)}], "more": 0}
    text = str(value)
    return {"value": text[:30], "cut": [{"at": "", "what": "characters", "shown": 30, "total": len(text)}], "more": 0}


def below(at: str | None, part: str | int) -> str | None:
    """The JSON pointer of a part. None when it is too long to be of use: everything beneath a key of megabytes would
    copy it once more."""
    if at is None or (isinstance(part, str) and len(part) > LONGEST_POINTER):
        return None
    whole = f"{at}/{part.replace('~', '~0').replace('/', '~1') if isinstance(part, str) else part}"
    return whole if len(whole) <= LONGEST_POINTER else None
