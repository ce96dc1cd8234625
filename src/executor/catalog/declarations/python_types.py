"""Shapes as Python types: TypedDicts for objects, each written once."""

from __future__ import annotations

import keyword
from typing import Any

from executor.catalog.signatures.type_names import Names, pascal
from executor.schemas.shapes.arguments import ArgumentShapes, type_of
from executor.schemas.shapes.results import ResultShapes
from executor.schemas.shapes.shape import (
    Anything,
    Both,
    Either,
    Field,
    Fields,
    ListOf,
    Named,
    Never,
    OneOf,
    Scalar,
    Shape,
    Table,
    both,
)

# An integer may come as 1.0, which JSON does not distinguish from 1; Python's `float` takes both.
SCALARS = {"string": "str", "number": "float", "boolean": "bool", "null": "None", "time": "str"}
ANY_OBJECT = "dict[str, Any]"


class Types:
    """Shapes of one source's arguments. `written` has the types that were named on the way."""

    def __init__(self, accepting: ArgumentShapes, names: Names) -> None:
        self._accepting = accepting
        self._names = names
        self._named: list[tuple[str, Shape]] = []
        self._seen: set[str] = set()
        self._flat: dict[str, Fields | None] = {}

    def write_definitions(self) -> list[str]:
        lines: list[str] = []
        done = 0
        while done < len(self._named):
            name, shape = self._named[done]
            done += 1
            fields = self.fields(shape)
            lines.append(self._typed_dict(name, fields) if fields and fields.fields else self._alias(name, shape))
        return lines

    def fields(self, shape: Shape) -> Fields | None:
        """The names an object has, if the shape is one kind of object and no alternatives."""
        match shape:
            case Fields():
                return shape
            case Named(name):
                if name not in self._flat:
                    self._flat[name] = None
                    self._flat[name] = self.fields(self._accepting.definition(name))
                return self._flat[name]
            case Both(parts):
                known = [self.fields(part) for part in parts]
                return merge_fields([one for one in known if one is not None])
        return None

    def write(self, shape: Shape, hint: str) -> str:
        match shape:
            case Anything():
                return "Any"
            case Never():
                return "None"  # no value will do, and no value can say so
            case Scalar(kind):
                return SCALARS[kind]
            case OneOf(values):
                return literal(values)
            case ListOf(item):
                return self._list(item, hint)
            case Table(value):
                return f"Mapping[str, {self.write(value, hint)}]"
            case Named(definition):
                return self._name(("definition", definition), pascal(definition), shape)
            case Either(parts):
                return " | ".join(dict.fromkeys(self.write(part, hint) for part in parts))
            case Both(parts):
                return self._write_conjoined(shape, hint)
            case Fields(fields):
                return self._name(shape, hint, shape) if fields else ANY_OBJECT

    def _list(self, item: Shape, hint: str) -> str:
        """A list in a variable has forgotten which strings it holds, and a list of one kind is none of several."""
        inner = self.write(widen(item), f"{hint}Item")
        return f"Sequence[{inner}]" if " | " in inner else f"list[{inner}]"

    def _write_conjoined(self, shape: Both, hint: str) -> str:
        """Python has no intersections; any part of one is at least as wide."""
        fields = self.fields(shape)
        return self._name(fields, hint, fields) if fields and fields.fields else self.write(shape.parts[-1], hint)

    def _name(self, thing: Any, hint: str, shape: Shape) -> str:
        name = self._names.of((id(self), thing), hint[:50])
        if name not in self._seen:
            self._seen.add(name)
            definition = shape.definition if isinstance(shape, Named) else None
            self._named.append((name, self._accepting.definition(definition) if definition is not None else shape))
        return name

    def _alias(self, name: str, shape: Shape) -> str:
        return f"{name}: TypeAlias = {self.write(shape, name)!a}"

    def _typed_dict(self, name: str, shape: Fields) -> str:
        entries = [(one.name, f"Required[{self._entry(one, name)}]" if one.required else self._entry(one, name))
                   for one in shape.fields]  # fmt: skip
        extra = ", extra_items=Any" if shape.open else ""
        if all(is_word(key) and not key.startswith("__") and key not in HIDING for key, _ in entries):
            lines = [f"    {key}: {write_definitions!a}" for key, write_definitions in entries]
            return "\n".join([f"class {name}(TypedDict, total=False{extra}):", *lines])
        inner = ", ".join(f"{key!a}: {write_definitions!a}" for key, write_definitions in entries)
        return f"{name} = TypedDict({name!a}, {{{inner}}}, total=False{extra})"

    def _entry(self, field: Field, name: str) -> str:
        return self.write(field.shape, f"{name[:30]}{pascal(field.name)[:20]}")


# Names of a class's fields that would hide what its own annotations need.
HIDING = frozenset({"str", "float", "bool", "list", "dict", "Any", "Literal", "Required", "Sequence", "Mapping"})


def is_word(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def literal(values: tuple[Any, ...]) -> str:
    plain = [int(value) if isinstance(value, float) else value for value in values]
    return f"Literal[{', '.join(dict.fromkeys(ascii(value) for value in plain))}]"


def widen(shape: Shape) -> Shape:
    if not isinstance(shape, OneOf):
        return shape
    kinds = dict.fromkeys(type_of(value) for value in shape.values)
    scalars = tuple(Scalar("number" if kind == "number" else kind) for kind in kinds)  # type: ignore[arg-type]
    return scalars[0] if len(scalars) == 1 else Either(scalars)


def merge_fields(parts: list[Fields]) -> Fields | None:
    """One object that agrees with all of them."""
    if not parts:
        return None
    found: dict[str, list[Field]] = {}
    for part in parts:
        for field in part.fields:
            found.setdefault(field.name, []).append(field)
    fields = (
        Field(name, both(one.shape for one in same), any(one.required for one in same)) for name, same in found.items()
    )
    return Fields(tuple(fields), open=all(part.open for part in parts))


def result(shape: Shape, giving: ResultShapes, steps: int = 5) -> str:
    """Objects are plain dicts: a TypedDict would refuse the keys that a document forgot."""
    match shape:
        case Fields() | Table():
            return ANY_OBJECT
        case ListOf(item):
            return f"list[{result(item, giving, steps)}]"
        case Scalar("string" | "time"):
            return "str"
        case Named(name) if steps:
            return result(giving.definition(name), giving, steps - 1)
        case Both(parts) if steps:
            return result(parts[0], giving, steps - 1)
        case Either(parts) if steps:
            kinds = {result(part, giving, steps - 1) for part in parts}
            return kinds.pop() if len(kinds) == 1 else "Any"
    return "Any"
