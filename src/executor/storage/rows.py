"""Conversions between rows and the nouns, shared by the repositories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from sqlalchemy.engine import Result as AnyResult

Noun = TypeVar("Noun")
Result = AnyResult[Any]


def dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def load(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


class Stored(NamedTuple):
    """How a field is written to its column, and read from there."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


JSON = Stored(dump, load)
OPTIONAL_JSON = Stored(lambda value: None if value is None else dump(value), load)
WORDS = Stored(lambda words: dump(list(words)), lambda text: tuple(load(text)))
FLAG = Stored(bool, bool)  # which SQLite reads as a number
OPTIONAL_ID = Stored(lambda key: key or None, lambda key: key or "")


class RowMapper(Generic[Noun]):
    """A noun and its row: columns have the names of its fields. `stored` are those that look different."""

    def __init__(self, noun: type[Noun], **stored: Stored) -> None:
        self._noun = noun
        self._names = tuple(field.name for field in fields(noun))  # type: ignore[arg-type]  # nouns are dataclasses
        self._get = attrgetter(*self._names)
        self._stored = stored.items()

    def values(self, noun: Noun) -> dict[str, Any]:
        values = dict(zip(self._names, self._get(noun), strict=True))
        for name, stored in self._stored:
            values[name] = stored.write(values[name])
        return values

    def first(self, rows: Result) -> Noun | None:
        row = rows.first()
        return None if row is None else self.noun(row)

    def every(self, rows: Result) -> list[Noun]:
        return [self.noun(row) for row in rows]

    def noun(self, row: Any) -> Noun:
        values = dict(zip(self._names, self._get(row), strict=True))
        for name, stored in self._stored:
            values[name] = stored.read(values[name])
        return self._noun(**values)
