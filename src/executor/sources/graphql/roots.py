"""The fields of the root types that a document selects, wherever it does: each of them is a call of its own tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    GraphQLAbstractType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
    get_named_type,
    is_abstract_type,
    is_composite_type,
    value_from_ast_untyped,
)
from graphql.language import ast

from executor.sources.graphql.tools import effect
from executor.sources.kind import Part

TYPENAME = "__typename"
# Introspection: the same as the tool that describes types.
ABOUT_TYPES = {"__schema": "graphql.type", "__type": "graphql.type"}


def root_calls(document: ast.DocumentNode, schema: GraphQLSchema, variables: Mapping[str, Any]) -> tuple[Part, ...]:
    """Of all operations, whichever would be run, and of what `@skip` or `@include` might leave out.

    Root types can be reached from inside, too: mutations often give a `query` back.
    """
    return tuple(Walk(document, schema, variables).parts())


class Walk:
    def __init__(self, document: ast.DocumentNode, schema: GraphQLSchema, variables: Mapping[str, Any]) -> None:
        self._document = document
        self._schema = schema
        self._given = variables
        self._fragments = {
            one.name.value: one for one in document.definitions if isinstance(one, ast.FragmentDefinitionNode)
        }
        roots = (("query", schema.query_type), ("mutation", schema.mutation_type))
        self._roots = [(name, root) for name, root in roots if root is not None]

    def parts(self) -> Iterator[Part]:
        for operation in self._document.definitions:
            if isinstance(operation, ast.OperationDefinitionNode):
                root = self._schema.get_root_type(operation.operation)
                yield from self._walk_selections(operation.selection_set, root, self._values(operation), set())

    def _values(self, operation: ast.OperationDefinitionNode) -> dict[str, Any]:
        """Those given, else the defaults; what has neither is not there, so no condition can be judged by it."""
        found = dict(self._given)
        for one in operation.variable_definitions or ():
            name = one.variable.name.value
            if name not in found and one.default_value is not None:
                found[name] = read_value(one.default_value)
        return found

    def _walk_selections(
        self,
        selections: ast.SelectionSetNode | None,
        parent: GraphQLNamedType | None,
        values: dict[str, Any],
        seen: set[str],
    ) -> Iterator[Part]:
        """`seen` are the fragments that were walked already: each is walked once, however often it is spread."""
        for one in selections.selections if selections else ():
            if isinstance(one, ast.FieldNode):
                yield from self._field(one, parent, values, seen)
            elif isinstance(one, ast.InlineFragmentNode):
                condition = one.type_condition
                inner = self._schema.get_type(condition.name.value) if condition else parent
                yield from self._walk_selections(one.selection_set, inner, values, seen)
            elif isinstance(one, ast.FragmentSpreadNode) and one.name.value not in seen:
                seen.add(one.name.value)
                fragment = self._fragments.get(one.name.value)
                if fragment is not None:
                    inner = self._schema.get_type(fragment.type_condition.name.value)
                    yield from self._walk_selections(fragment.selection_set, inner, values, seen)

    def _field(
        self, field: ast.FieldNode, parent: GraphQLNamedType | None, values: dict[str, Any], seen: set[str]
    ) -> Iterator[Part]:
        name = field.name.value
        for operation, root in self._roots:
            if name != TYPENAME and self._may_be(parent, root):
                about = ABOUT_TYPES.get(name)
                arguments = {} if about else dict(self._arguments(field, values))
                kind = "read" if about else effect(operation, name)
                yield Part(about or f"{operation}.{name}", kind, arguments)
        found = getattr(parent, "fields", {}).get(name)
        inner = get_named_type(found.type) if found is not None else None
        if inner is not None and is_composite_type(inner):
            yield from self._walk_selections(field.selection_set, inner, values, seen)

    def _may_be(self, parent: GraphQLNamedType | None, root: GraphQLObjectType) -> bool:
        if parent is root:
            return True
        if parent is None or not is_abstract_type(parent):
            return False
        abstract: GraphQLAbstractType = parent
        return self._schema.is_sub_type(abstract, root)

    def _arguments(self, field: ast.FieldNode, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for one in field.arguments or ():
            value = Undefined if unknown_in(one.value, values) else read_value(one.value, values)
            if value is not Undefined:
                yield one.name.value, value


def read_value(value: ast.ValueNode, values: Mapping[str, Any] | None = None) -> Any:
    """Undefined for numbers that are too long to be read."""
    try:
        return value_from_ast_untyped(value, dict(values or {}))
    except (ValueError, OverflowError):
        return Undefined


def unknown_in(value: ast.ValueNode, values: Mapping[str, Any]) -> bool:
    """Whether a variable in it has no value here: then the service's own default would count."""
    if isinstance(value, ast.VariableNode):
        return values.get(value.name.value, Undefined) is Undefined
    if isinstance(value, ast.ListValueNode):
        return any(unknown_in(one, values) for one in value.values)
    return isinstance(value, ast.ObjectValueNode) and any(unknown_in(one.value, values) for one in value.fields)
