"""Schema files in GraphQL's schema language, read into an outline."""

from __future__ import annotations

from typing import Any

from graphql import GraphQLError, parse, print_ast
from graphql.language import ast

from executor.errors import DocumentInvalid
from executor.sources.graphql.schema.introspection import GRAPHQL_NAME, MAX_DEFAULT
from executor.sources.graphql.schema.outline import SCALARS, Argument, Field, NamedType, Outline, TypeKind

MAX_CHARACTERS = 6_000_000
MAX_TOKENS = 1_000_000
KINDS: dict[str, TypeKind] = {
    "scalar_type": "scalar", "object_type": "object", "interface_type": "interface", "union_type": "union",
    "enum_type": "enum", "input_object_type": "input",
}  # fmt: skip


def read(text: str, where: str) -> Outline:
    """Extensions are merged in, wherever they stand; directives other than the standard ones say nothing to us."""
    if len(text) > MAX_CHARACTERS:
        raise DocumentInvalid(
            f"{where} is larger than {MAX_CHARACTERS:,} characters", hint="use the introspection as JSON"
        )
    document = parse_sdl(text, where)
    types = {name: NamedType(name, "scalar") for name in SCALARS}
    named_roots: dict[str, str] = {}
    for node in document.definitions:
        if isinstance(node, ast.SchemaDefinitionNode | ast.SchemaExtensionNode):
            named_roots |= {one.operation.value: one.type.name.value for one in node.operation_types or ()}
        kind = KINDS.get(node.kind.removesuffix("_definition").removesuffix("_extension"))
        if kind is not None:
            add(types, node, kind, where)
    if not named_roots:
        standard = {"query": "Query", "mutation": "Mutation", "subscription": "Subscription"}
        named_roots = {operation: name for operation, name in standard.items() if name in types}
    return Outline(named_roots, types)


def parse_sdl(text: str, where: str) -> ast.DocumentNode:
    try:
        return parse(text, no_location=True, max_tokens=MAX_TOKENS)
    except GraphQLError as error:
        place = error.locations[0] if error.locations else None
        at = f" (line {place.line}, column {place.column})" if place else ""
        raise DocumentInvalid(
            f"{where} is not a GraphQL schema: {error.message[:200]}{at}",
            hint="use a schema in GraphQL's schema language, or an introspection result as JSON",
        ) from error
    except RecursionError as error:
        raise DocumentInvalid(f"{where} is nested too deeply", hint="check that it is a GraphQL schema") from error


def add(types: dict[str, NamedType], node: Any, kind: TypeKind, where: str) -> None:
    """The same name twice is merged if the kinds agree: files glued together repeat themselves."""
    name = node.name.value
    if name.startswith("__") or name in SCALARS or not GRAPHQL_NAME.match(name):
        return
    before = types.get(name) or NamedType(name, kind)
    if before.kind != kind:
        raise DocumentInvalid(
            f"{where}: {name} is defined as both {before.kind} and {kind}", hint="use one complete schema"
        )
    is_input = kind == "input"
    members = getattr(node, "types", None) if kind == "union" else None
    types[name] = NamedType(
        name,
        kind,
        before.description or text_of(node),
        fields=before.fields | {one.name.value: field(one) for one in fields_of(node, not is_input)},
        inputs=before.inputs | {one.name.value: argument(one) for one in fields_of(node, is_input)},
        values=merge_names(before.values, [one.name.value for one in getattr(node, "values", None) or ()]),
        members=merge_names(before.members, [one.name.value for one in members or ()]),
        interfaces=merge_names(before.interfaces, [one.name.value for one in getattr(node, "interfaces", None) or ()]),
        one_of=before.one_of or has_directive(node, "oneOf"),
    )


def fields_of(node: Any, wanted: bool) -> list[Any]:
    return list(getattr(node, "fields", None) or ()) if wanted else []


def merge_names(before: tuple[str, ...], more: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*before, *more]))


def field(node: ast.FieldDefinitionNode) -> Field:
    arguments = tuple(argument(one) for one in node.arguments or ())
    return Field(node.name.value, type_text(node.type), arguments, text_of(node), has_directive(node, "deprecated"))


def argument(node: ast.InputValueDefinitionNode) -> Argument:
    default = print_ast(node.default_value)[:MAX_DEFAULT] if node.default_value is not None else None
    return Argument(node.name.value, type_text(node.type), default, text_of(node), has_directive(node, "deprecated"))


def type_text(node: ast.TypeNode) -> str:
    if isinstance(node, ast.NonNullTypeNode):
        return f"{type_text(node.type)}!"
    if isinstance(node, ast.ListTypeNode):
        return f"[{type_text(node.type)}]"
    assert isinstance(node, ast.NamedTypeNode)  # noqa: S101 - there is no fourth
    return node.name.value


def text_of(node: Any) -> str:
    return node.description.value.strip() if getattr(node, "description", None) else ""


def has_directive(node: Any, name: str) -> bool:
    return any(one.name.value == name for one in node.directives or ())
