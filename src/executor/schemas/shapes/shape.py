"""Shapes: what a JSON Schema lets through, in the few forms that types of programming languages can say.

A shape never refuses a value that its schema accepts: whatever a type can't say is left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from executor.dataclass import dataclass

ScalarKind = Literal["string", "number", "boolean", "null", "time"]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value at all."""


@dataclass(frozen=True, slots=True)
class Never:
    """No value at all."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """`time` is text that a language's own point in time turns into."""

    kind: ScalarKind


@dataclass(frozen=True, slots=True)
class OneOf:
    """Exactly these values: strings, numbers, booleans, null."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape


@dataclass(frozen=True, slots=True)
class Table:
    """An object of any names whose values are alike."""

    value: Shape


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with known names; `open` if it may have others."""

    fields: tuple[Field, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A definition of the source, written once."""

    definition: str


Shape = Anything | Never | Scalar | OneOf | ListOf | Table | Fields | Either | Both | Named
ANYTHING = Anything()
NULL = Scalar("null")
ANY_OBJECT = Fields((), open=True)


def either(parts: Iterable[Shape]) -> Shape:
    found: list[Shape] = []
    for part in parts:
        for one in part.parts if isinstance(part, Either) else (part,):
            if one not in found:
                found.append(one)
    if ANYTHING in found:
        return ANYTHING
    found = [one for one in found if not isinstance(one, Never)] or found[:1]
    return found[0] if len(found) == 1 else Either(tuple(found)) if found else ANYTHING


def both(parts: Iterable[Shape]) -> Shape:
    found: list[Shape] = []
    for part in parts:
        for one in part.parts if isinstance(part, Both) else (part,):
            if one not in found and one != ANYTHING:
                found.append(one)
    found = [one for one in found if one != ANY_OBJECT] or found[:1]
    return ANYTHING if not found else found[0] if len(found) == 1 else Both(tuple(found))


def names(shape: Shape) -> Iterator[str]:
    """The definitions that a shape speaks of."""
    match shape:
        case Named(definition):
            yield definition
        case ListOf(inner) | Table(inner):
            yield from names(inner)
        case Fields(fields):
            for field in fields:
                yield from names(field.shape)
        case Either(parts) | Both(parts):
            for part in parts:
                yield from names(part)
