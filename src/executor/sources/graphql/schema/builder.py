"""An outline as graphql-core's schema, which documents are checked against."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLDefaultInput,
    GraphQLEnumType,
    GraphQLError,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLUnionType,
    parse_const_value,
    specified_scalar_types,
)
from graphql.language import ConstValueNode, NullValueNode

from executor.sources.graphql.schema.outline import Argument, Field, NamedType, Outline, unwrap_type


def schema_of(outline: Outline) -> GraphQLSchema:
    """Not validated as a whole: services break constraints that don't matter to their callers."""
    return Builder(outline).schema()


class Builder:
    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._types: dict[str, GraphQLNamedType] = {}
        self._wrapped: dict[str, Any] = {}

    def schema(self) -> GraphQLSchema:
        self._types = {name: self._type(one) for name, one in self._outline.types.items()}
        roots: dict[str, Any] = {operation: self._types[name] for operation, name in self._outline.roots.items()}
        return GraphQLSchema(
            query=roots.get("query"),
            mutation=roots.get("mutation"),
            subscription=roots.get("subscription"),
            types=list(self._types.values()),
            assume_valid=True,
        )

    def _type(self, one: NamedType) -> GraphQLNamedType:
        if one.kind == "scalar":
            return specified_scalar_types.get(one.name) or GraphQLScalarType(one.name)
        if one.kind == "enum":
            return GraphQLEnumType(one.name, {value: value for value in one.values if value not in LITERALS})
        if one.kind == "union":
            return GraphQLUnionType(one.name, self._resolve_names(one.members))
        if one.kind == "input":
            return GraphQLInputObjectType(one.name, lambda: self._inputs(one), is_one_of=one.one_of)
        make = GraphQLObjectType if one.kind == "object" else GraphQLInterfaceType
        return make(one.name, lambda: self._fields(one), self._resolve_names(one.interfaces))

    def _resolve_names(self, names: tuple[str, ...]) -> Callable[[], list[Any]]:
        return lambda: [self._types[name] for name in names]

    def _fields(self, one: NamedType) -> dict[str, GraphQLField]:
        return {name: self._field(field) for name, field in one.fields.items()}

    def _field(self, field: Field) -> GraphQLField:
        arguments = {
            one.name: GraphQLArgument(self._wrap(one.type), default=default_of(one)) for one in field.arguments
        }
        return GraphQLField(self._wrap(field.type), arguments)

    def _inputs(self, one: NamedType) -> dict[str, GraphQLInputField]:
        return {
            name: GraphQLInputField(self._wrap(field.type), default=default_of(field))
            for name, field in one.inputs.items()
        }

    def _wrap(self, type: str) -> Any:
        found = self._wrapped.get(type)
        if found is None:
            inner, required = unwrap_type(type)
            found = GraphQLList(self._wrap(inner[1:-1])) if inner.startswith("[") else self._types[inner]
            found = self._wrapped[type] = GraphQLNonNull(found) if required else found
        return found


LITERALS = frozenset({"true", "false", "null"})


def default_of(argument: Argument) -> GraphQLDefaultInput | None:
    """That there is one matters; what it is only matters to readers, so one that can't be read becomes null."""
    if argument.default is None:
        return None
    value: ConstValueNode = NullValueNode()
    with suppress(GraphQLError, RecursionError):
        value = parse_const_value(argument.default, no_location=True)
    return GraphQLDefaultInput(literal=value)
