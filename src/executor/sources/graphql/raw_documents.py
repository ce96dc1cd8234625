"""GraphQL documents that callers write: bounded, parsed, classified, and checked against the schema before they leave.

What is sent is printed from what was parsed, so the service can't read a document differently than it was judged here.
"""

from __future__ import annotations

import re
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    parse,
    print_ast,
    print_type,
    specified_rules,
    validate,
)
from graphql.language import ast
from graphql.pyutils import suggestion_list
from graphql.validation import KnownDirectivesRule, OverlappingFieldsCanBeMergedRule

from executor.errors import ToolError
from executor.model.tool import Tool
from executor.sources.graphql.pagination.selections import Unfit, complete_selection
from executor.sources.graphql.request import Body, call_of
from executor.sources.graphql.roots import ABOUT_TYPES, root_calls
from executor.sources.graphql.storage_format import binding_of
from executor.sources.graphql.tools import effect
from executor.sources.kind import HIDES, Part

MAX_CHARACTERS = 100_000
MAX_TOKENS = 5_000
MAX_DEPTH = 30
MAX_FRAGMENTS = 100
MAX_PROBLEMS = 5
# Comparing every field with every other costs too much on a hostile document, and services know directives of their
# own: both are theirs to judge.
RULES = tuple(rule for rule in specified_rules if rule not in (OverlappingFieldsCanBeMergedRule, KnownDirectivesRule))
_SUGGESTION = re.compile(r"\s*Did you mean [^?]*\?")
SELECT_HINT = "write it like `{ id author { login } }`"


def select_fields(tool: Tool, arguments: dict[str, Any], schema: GraphQLSchema | None) -> Body:
    """A document for one field with the fields that the caller chose. Raises ToolError."""
    name = binding_of(tool)["select"]
    document = selection_of(tool, arguments[name])
    if "all" in binding_of(tool):
        try:
            document = complete_selection(document, binding_of(tool)["all"])
        except Unfit as error:
            raise refusal_of(tool, name, str(error)) from error
    operation, *fragments = document.definitions
    assert isinstance(operation, ast.OperationDefinitionNode)  # noqa: S101 - selection_of put it first
    written = "".join(f"\n{print_ast(fragment)}" for fragment in fragments)
    body = call_of(tool, arguments, f" {print_ast(operation.selection_set)}", written)
    if schema is not None:
        check(tool, parse_document(tool, body.query, name), schema, name)
    return body


def selection_of(tool: Tool, text: Any) -> ast.DocumentNode:
    """The selection as the one operation of a document, then the fragments it uses."""
    name = binding_of(tool)["select"]
    if not isinstance(text, str) or not text.strip():
        raise refusal_of(tool, name, "it must be a GraphQL selection as text", hint=SELECT_HINT)
    text = text.strip()
    document = parse_document(tool, text if text.startswith("{") else f"{{{text}}}", name)
    operations = [one for one in document.definitions if isinstance(one, ast.OperationDefinitionNode)]
    fragments = [one for one in document.definitions if isinstance(one, ast.FragmentDefinitionNode)]
    if len(operations) != 1 or len(operations) + len(fragments) != len(document.definitions):
        raise refusal_of(tool, name, "it must be one selection, followed by the fragments it uses", hint=SELECT_HINT)
    operation = operations[0]
    if operation.operation.value != "query" or operation.name or operation.variable_definitions or operation.directives:
        raise refusal_of(tool, name, "it must be only a selection, not an operation", hint=SELECT_HINT)
    return ast.DocumentNode(definitions=(operation, *fragments))


def raw(tool: Tool, arguments: dict[str, Any], schema: GraphQLSchema | None) -> Body:
    """A whole document. One that holds anything but queries goes only through the tool for mutations."""
    document = classify(tool, arguments)
    if schema is not None:
        check(tool, document, schema, "query")
    return Body(print_ast(document), arguments.get("variables") or {}, arguments.get("operationName") or "")


def parts_of(tool: Tool, arguments: dict[str, Any], schema: GraphQLSchema) -> tuple[Part, ...]:
    """The calls that a document of the caller's own holds. Of a selection, those it holds besides its own field."""
    given = arguments.get("variables")
    try:
        if binding_of(tool)["type"] == "raw":
            return root_calls(classify(tool, arguments), schema, given if isinstance(given, dict) else {})
        body = select_fields(tool, arguments, None)
        return root_calls(parse_document(tool, body.query, binding_of(tool)["select"]), schema, body.variables)[1:]
    except RecursionError as error:
        raise refusal_of(tool, "query", "its fragments are nested too deeply") from error


def classify(tool: Tool, arguments: dict[str, Any]) -> ast.DocumentNode:
    """Judged by every operation in it, not by the one that would be run."""
    text = arguments.get("query")
    if not isinstance(text, str):
        raise refusal_of(tool, "query", "it must be one document as text; several can't be sent at once")
    document = parse_document(tool, text, "query")
    operations = [one for one in document.definitions if isinstance(one, ast.OperationDefinitionNode)]
    fragments = [one for one in document.definitions if isinstance(one, ast.FragmentDefinitionNode)]
    if not operations or len(operations) + len(fragments) != len(document.definitions):
        raise refusal_of(tool, "query", "it must contain only operations and fragments")
    for operation in operations:
        refuse_operation(tool, operation.operation.value)
    names = [one.name.value if one.name else "" for one in operations]
    wanted = arguments.get("operationName") or ""
    if (wanted or len(names) > 1) and names.count(wanted) != 1:
        known = ", ".join(sorted(filter(None, names)))
        message = f"it must name one of the document's operations: {known or 'none has a name'}"
        raise refusal_of(tool, "operationName", message)
    return document


def refuse_operation(tool: Tool, operation: str) -> None:
    if operation == "subscription":
        raise refusal_of(tool, "query", "subscriptions are not supported: a call has one answer")
    if operation == "mutation" and not binding_of(tool)["mutations"]:
        other = f"tools.{tool.path.rpartition('.')[0]}.mutate"
        raise refusal_of(tool, "query", "it contains a mutation, but this tool only sends queries", hint=f"use {other}")


def parse_document(tool: Tool, text: str, argument: str) -> ast.DocumentNode:
    if len(text) > MAX_CHARACTERS:
        raise refusal_of(tool, argument, f"it is longer than {MAX_CHARACTERS:,} characters")
    try:
        document = parse(text, max_tokens=MAX_TOKENS, allow_empty_selection_sets=False)
    except GraphQLError as error:
        message = error.message
        if "tokens" in message:
            message = f"it has more than {MAX_TOKENS:,} tokens"
        place = error.locations[0] if error.locations else None
        at = f" (line {place.line}, column {place.column})" if place else ""
        hint = SELECT_HINT if argument != "query" else ""
        raise refusal_of(tool, argument, f"{message[:300]}{at}", hint=hint) from error
    except RecursionError as error:
        raise refusal_of(tool, argument, "it is nested too deeply") from error
    refuse_large(tool, document, argument)
    return document


def refuse_large(tool: Tool, document: ast.DocumentNode, argument: str) -> None:
    fragments = sum(isinstance(one, ast.FragmentDefinitionNode) for one in document.definitions)
    if fragments > MAX_FRAGMENTS:
        raise refusal_of(tool, argument, f"it has more than {MAX_FRAGMENTS} fragments")
    waiting = [(getattr(one, "selection_set", None), 1) for one in document.definitions]
    while waiting:
        selections, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise refusal_of(tool, argument, f"it is nested more than {MAX_DEPTH} levels deep")
        for one in selections.selections if selections else ():
            waiting.append((getattr(one, "selection_set", None), depth + 1))


def check(tool: Tool, document: ast.DocumentNode, schema: GraphQLSchema, argument: str) -> None:
    try:
        errors = validate(schema, document, RULES, max_errors=MAX_PROBLEMS)
    except RecursionError as error:
        raise refusal_of(tool, argument, "its fragments are nested too deeply") from error
    found = [error.message[:300] for error in errors if "Too many validation errors" not in error.message]
    if hidden_fields(schema, schema.query_type) or hidden_fields(schema, schema.mutation_type):
        found = [_SUGGESTION.sub("", one) for one in found]
        if not found and any(part.operation in ABOUT_TYPES.values() for part in root_calls(document, schema, {})):
            raise introspection_denied(tool)
    if found:
        raise refusal_of(tool, argument, *found, hint=fields_hint(tool, found[0], schema))


def fields_hint(tool: Tool, message: str, schema: GraphQLSchema) -> str:
    found = re.search(r"on type '(\w+)'|type '\W*(\w+)\W*' must have a selection", message)
    name = (found[1] or found[2]) if found else ""
    named = schema.get_type(name) if name else None
    hidden = hidden_fields(schema, named)
    fields = [one for one in getattr(named, "fields", {}) if one not in hidden]
    where = f"tools.{tool.namespace}.graphql.type({{name: {name or 'Query'!r}}}) shows what is available"
    more = " …" if len(fields) > 40 else ""
    return f"{name} has: {', '.join(fields[:40])}{more}" if fields else where


def description_of(tool: Tool, schema: GraphQLSchema, name: str) -> str:
    """One type in GraphQL's schema language."""
    named = schema.get_type(name)
    if named is None:
        close = suggestion_list(name[:100], list(schema.type_map))[:5]
        hint = f"nearest: {', '.join(close)}" if close else "start with Query or Mutation"
        raise refusal_of(tool, "name", f"there is no type {name[:100]!r}", hint=hint)
    return print_type(without_hidden(schema, named))


def hidden_fields(schema: GraphQLSchema, named: GraphQLNamedType | None) -> set[str]:
    """Of a root type, the fields that are denied to the actor of the call: they are described nowhere."""
    hides, roots = HIDES.get(), (schema.query_type, schema.mutation_type)
    if hides is None or not isinstance(named, GraphQLObjectType) or named not in roots:
        return set()
    operation = "query" if named is schema.query_type else "mutation"
    return {name for name in named.fields if hides(f"{operation}.{name}", effect(operation, name))}


def without_hidden(schema: GraphQLSchema, named: GraphQLNamedType) -> GraphQLNamedType:
    hidden = hidden_fields(schema, named)
    if not hidden or not isinstance(named, GraphQLObjectType):
        return named
    kept = {name: one for name, one in named.fields.items() if name not in hidden}
    return GraphQLObjectType(named.name, kept, description=named.description)


def introspection_denied(tool: Tool) -> ToolError:
    return ToolError(
        "denied",
        f"{tool.path} can't introspect: some fields of {tool.namespace} are denied to you",
        hint=f"tools.{tool.namespace}.graphql.type shows the types without them",
    )


def refusal_of(tool: Tool, argument: str, *messages: str, hint: str = "") -> ToolError:
    problems = [{"at": f"/{argument}", "message": message} for message in messages]
    said = "; ".join(f"/{argument}: {message}" for message in messages[:3])
    return ToolError(
        "invalid_arguments",
        f"{tool.path} can't be called with these arguments: {said}",
        details={"problems": problems},
        hint=hint or "nothing was sent; correct the document and call again",
    )
