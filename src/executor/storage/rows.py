"""Conversions between rows and the nouns, shared by the repositories."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from executor.errors import InternalError
from executor.storage.prepared_statements import Found

Noun = TypeVar("Noun")


def dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def load(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def read_fields(noun: type[Noun], stored: dict[str, Any]) -> Noun:
    """A dataclass that was stored as JSON, by this version or another one: keys that it does not have are left out, and
    those that are missing have their default, or are empty."""
    with suppress(TypeError):  # as nearly always: it was stored by this version
        return noun(**stored)
    known = {one.name: one for one in fields(noun)}  # type: ignore[arg-type]  # nouns are dataclasses
    missing = [
        name for name, one in known.items() if name not in stored and one.default is one.default_factory is MISSING
    ]
    empty = {name: 0 if known[name].type == "int" else "" for name in missing}
    return noun(**empty, **{name: value for name, value in stored.items() if name in known})


def expect_one(done: Found, what: str) -> None:
    """Raises InternalError unless a statement changed exactly one row: nothing is taken for written that was not."""
    if done.rowcount != 1:
        raise InternalError(f"{what}: {done.rowcount} rows instead of one", hint="see the daemon's log")


def expecting_one(what: str) -> Callable[[Any], None]:
    return lambda done: expect_one(done, what)


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

    def first(self, rows: Found) -> Noun | None:
        row = rows.first()
        return None if row is None else self.noun(row)

    def every(self, rows: Found) -> list[Noun]:
        return [self.noun(row) for row in rows]

    def noun(self, row: Any) -> Noun:
        values = dict(zip(self._names, self._get(row), strict=True))
        for name, stored in self._stored:
            values[name] = stored.read(values[name])
        return self._noun(**values)
