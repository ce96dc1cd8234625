"""A GraphQL schema reduced to what tools need: types, fields and arguments by name, types of fields as text.

Types of fields and arguments are kept as they are written in GraphQL (`[Issue!]!`): small, comparable, and good enough
to be read by three functions. Everything here was cleaned when it was read: names are GraphQL names, and every type
that is named exists.
"""

from __future__ import annotations

import base64
import zlib
from collections import defaultdict
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Literal

import orjson

from executor.dataclass import dataclass

TypeKind = Literal["scalar", "object", "interface", "union", "enum", "input"]
SCALARS = ("Int", "Float", "String", "Boolean", "ID")
COMPOSITE = frozenset({"object", "interface", "union"})


@dataclass(frozen=True, slots=True)
class Argument:
    """Of a field, or a field of an input object. `default` is a GraphQL literal."""

    name: str
    type: str
    default: str | None = None
    description: str = ""
    deprecated: bool = False

    @property
    def is_required(self) -> bool:
        return self.type.endswith("!") and self.default is None


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    arguments: tuple[Argument, ...] = ()
    description: str = ""
    deprecated: bool = False

    @property
    def needs_arguments(self) -> bool:
        return any(argument.is_required for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class NamedType:
    """`fields` of objects and interfaces, `inputs` of input objects, `values` of enums, `members` of unions."""

    name: str
    kind: TypeKind
    description: str = ""
    fields: dict[str, Field] = field(default_factory=dict)
    inputs: dict[str, Argument] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    one_of: bool = False


@dataclass(frozen=True)
class Outline:
    """`roots` are the names of the types of `query`, `mutation` and `subscription`, as far as there are any."""

    roots: dict[str, str]
    types: dict[str, NamedType]

    @cached_property
    def _implementations(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.types.values():
            for interface in one.interfaces if one.kind == "object" else ():
                found[interface].append(one.name)
        return found

    def possible(self, name: str) -> tuple[str, ...]:
        """The object types that a value of an abstract type can have."""
        named = self.types[name]
        return named.members if named.kind == "union" else tuple(self._implementations.get(name, ()))

    def is_composite(self, type: str) -> bool:
        return self.types[inner_name(type)].kind in COMPOSITE


def inner_name(type: str) -> str:
    return type.strip("[]!")


def is_list(type: str) -> bool:
    return type.startswith("[")


def unwrap_type(type: str) -> tuple[str, bool]:
    """The type without its `!`, and if it had one."""
    return (type[:-1], True) if type.endswith("!") else (type, False)


def drop_missing_types(outline: Outline, notes: list[tuple[str, str]]) -> Outline:
    """Without whatever points at types that are missing or of the wrong kind; `notes` get (where, why)."""
    kinds = {name: one.kind for name, one in outline.types.items()}
    types = {name: linked_type(one, kinds, notes) for name, one in outline.types.items()}
    roots = {operation: name for operation, name in outline.roots.items() if kinds.get(name) == "object"}
    return Outline(roots, types)


def linked_type(one: NamedType, kinds: dict[str, TypeKind], notes: list[tuple[str, str]]) -> NamedType:
    if one.kind in ("scalar", "enum"):
        return one
    fields = {
        name: field if len(kept) == len(field.arguments) else replace(field, arguments=kept)
        for name, field in one.fields.items()
        if is_known(field.type, kinds, output=True, where=f"{one.name}.{name}", notes=notes)
        and (kept := linked_arguments(field.arguments, kinds, f"{one.name}.{name}", notes)) is not None
    }
    inputs = linked_arguments(tuple(one.inputs.values()), kinds, one.name, notes)
    return replace(
        one,
        fields=fields,
        inputs={argument.name: argument for argument in inputs or ()},
        members=tuple(name for name in one.members if kinds.get(name) == "object"),
        interfaces=tuple(name for name in one.interfaces if kinds.get(name) == "interface"),
    )


def linked_arguments(
    arguments: tuple[Argument, ...], kinds: dict[str, TypeKind], where: str, notes: list[tuple[str, str]]
) -> tuple[Argument, ...] | None:
    """None if a required one is lost: then nothing can be done with what it belongs to."""
    kept = tuple(
        one for one in arguments if is_known(one.type, kinds, output=False, where=f"{where}({one.name})", notes=notes)
    )
    return None if any(one.is_required for one in set(arguments) - set(kept)) else kept


def is_known(type: str, kinds: dict[str, TypeKind], *, output: bool, where: str, notes: list[tuple[str, str]]) -> bool:
    kind = kinds.get(inner_name(type))
    fits = kind is not None and (kind in ("scalar", "enum") or (kind == "input") != output)
    if not fits:
        why = "is not in the schema" if kind is None else f"can't be used here: its kind is {kind}"
        notes.append((where, f"its type {type[:100]} {why}"))
    return fits


def pack(outline: Outline) -> str:
    """Short text that `unpack` reads, without descriptions: a tenth of the schema it came from, or less."""
    types = {name: packed_type(one) for name, one in outline.types.items()}
    return base64.b85encode(zlib.compress(orjson.dumps([outline.roots, types]), 6)).decode()


def packed_type(one: NamedType) -> list[Any]:
    fields = {name: [field.type, packed_arguments(field.arguments)] for name, field in one.fields.items()}
    inputs = packed_arguments(tuple(one.inputs.values()))
    return [one.kind, fields, inputs, one.values, one.members, one.interfaces, one.one_of]


def packed_arguments(arguments: tuple[Argument, ...]) -> dict[str, list[str | None]]:
    return {one.name: [one.type, one.default] for one in arguments}


def unpack(text: str) -> Outline:
    roots, types = orjson.loads(zlib.decompress(base64.b85decode(text)))
    return Outline(roots, {name: unpacked_type(name, *parts) for name, parts in types.items()})


def unpacked_type(
    name: str, kind: TypeKind, fields: Any, inputs: Any, values: Any, members: Any, interfaces: Any, one_of: bool
) -> NamedType:
    return NamedType(
        name,
        kind,
        fields={one: Field(one, type, unpacked_arguments(arguments)) for one, (type, arguments) in fields.items()},
        inputs={argument.name: argument for argument in unpacked_arguments(inputs)},
        values=tuple(values),
        members=tuple(members),
        interfaces=tuple(interfaces),
        one_of=one_of,
    )


def unpacked_arguments(arguments: dict[str, list[Any]]) -> tuple[Argument, ...]:
    return tuple(Argument(name, type, default) for name, (type, default) in arguments.items())
