"""Against the schema that GitHub publishes: every query and mutation, and what calls of them would send."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    build_schema,
    get_named_type,
    is_required_argument,
    is_required_input_field,
    parse,
    validate,
)
from graphql.execution.values import get_variable_values
from graphql.language import OperationDefinitionNode

from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.sources.graphql import raw_documents
from executor.sources.graphql.loader import build_catalog, stored_schema
from executor.sources.graphql.request import Body, call_of
from executor.sources.source_request import Previous, SourceRequest
from executor.storage.catalog.definitions import with_definitions
from tests.support.packages import npm_modules

PLAIN: dict[str, Any] = {"Int": 1, "Float": 1.5, "Boolean": True}
ENDPOINT = "https://api.github.com/graphql"
MAX_DEPTH = 6


@pytest.fixture(scope="module")
def sdl() -> Path:
    return npm_modules() / "@octokit" / "graphql-schema" / "schema.graphql"


@pytest.fixture(scope="module")
def schema(sdl: Path) -> GraphQLSchema:
    """Read by graphql-core, not by us. It breaks a few rules of the standard, as GitHub does."""
    return build_schema(sdl.read_text(), assume_valid=True, assume_valid_sdl=True)


@pytest.fixture(scope="module")
def loaded(sdl: Path) -> Loaded:
    return build_catalog(SourceRequest(namespace="github", base_url=ENDPOINT), sdl.read_bytes(), ENDPOINT, [])


def fields(loaded: Loaded) -> Iterator[Tool]:
    """Those that ask for something by themselves; the pages of a list inside of a thing have to be chosen."""
    found = (tool for tool in loaded.tools if tool.binding["type"] in ("query", "mutation"))
    return (tool for tool in found if "nested" not in tool.binding.get("all", ()))


def roots(schema: GraphQLSchema) -> dict[str, Any]:
    assert schema.query_type is not None and schema.mutation_type is not None
    return {"query": schema.query_type.fields, "mutation": schema.mutation_type.fields}


def test_every_query_and_mutation_is_a_tool_or_named_with_its_reason(loaded: Loaded, schema: GraphQLSchema) -> None:
    wanted = {f"{operation}.{name}" for operation, found in roots(schema).items() for name in found}
    given = {tool.binding["operation"] for tool in fields(loaded)}
    named = {one.where for one in loaded.skipped if one.reason}
    assert len(wanted) > 250 and given | named >= wanted and given <= wanted
    assert given == wanted, f"left out: {wanted - given}"
    paths = [tool.path for tool in loaded.tools]
    assert len({path.lower() for path in paths}) == len(paths)
    assert "github.query.repository" in paths and "github.mutation.createIssue" in paths
    assert "github.query.search.all" in paths and "github.query.repository.all" in paths


def test_deprecated_fields_and_effects_are_those_of_the_schema(loaded: Loaded, schema: GraphQLSchema) -> None:
    for tool in fields(loaded):
        operation, _, name = tool.binding["operation"].partition(".")
        assert tool.deprecated == (roots(schema)[operation][name].deprecation_reason is not None), tool.path
        assert (tool.effect == "read") == (operation == "query"), tool.path
        assert name.startswith("delete") <= (tool.effect == "destructive"), tool.path


@pytest.mark.parametrize("everything", [False, True], ids=["required", "all"])
def test_what_calls_send_is_valid_for_the_schema(loaded: Loaded, schema: GraphQLSchema, everything: bool) -> None:
    """With the arguments that must be given, and with all there are. Values are made from GitHub's own types."""
    for tool in fields(loaded):
        arguments = arguments_of(tool, schema, everything)
        body = call_of(tool, arguments, tool.binding["selection"])
        check(schema, body)
        if "all" in tool.binding:
            continue
        reached = with_definitions(tool.input_schema, dict(loaded.definitions))
        problems = list(jsonschema_rs.iter_errors(reached, arguments))
        assert not problems, (tool.path, problems[:2])


def test_a_selection_of_ones_own_is_checked_and_sent(loaded: Loaded, schema: GraphQLSchema) -> None:
    tools = {tool.path: tool for tool in loaded.tools}
    arguments = {"owner": "o", "name": "n"}
    select = "{ issues(first: 2) { nodes { title author { login ... on User { email } } } } }"
    stored = stored_schema(loaded.config["schema"])
    body = raw_documents.select_fields(tools["github.query.repository"], {**arguments, "select": select}, stored)
    check(schema, body)
    assert "email" in body.query and body.variables == arguments


def test_results_have_schemas_that_stay_within_reason(loaded: Loaded) -> None:
    """A schema of all that could be asked for would be megabytes for each tool."""
    sizes = sorted(len(tool.binding["selection"]) for tool in fields(loaded))
    assert sizes[-1] < 10_000
    assert all(tool.output_schema for tool in fields(loaded))
    every = [{"$ref": f"#/$defs/{name}"} for name in loaded.definitions]
    jsonschema_rs.validator_for({"anyOf": every, "$defs": loaded.definitions})


def test_reading_the_same_schema_again_keeps_every_name(loaded: Loaded, sdl: Path) -> None:
    names = {tool.binding["operation"]: tool.path.removeprefix("github.") for tool in loaded.tools}
    request = SourceRequest(namespace="github", base_url=ENDPOINT, previous=Previous(names=names))
    again = build_catalog(request, sdl.read_bytes(), ENDPOINT, [])
    assert [tool.path for tool in again.tools] == [tool.path for tool in loaded.tools]
    assert again.document_digest == loaded.document_digest


def check(schema: GraphQLSchema, body: Body) -> None:
    document = parse(body.query)
    problems = validate(schema, document)
    assert not problems, (body.query[:300], problems[:2])
    [operation] = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    coerced = get_variable_values(schema, operation.variable_definitions or (), body.variables)
    assert not isinstance(coerced, list), (body.query[:300], coerced[:2])


def arguments_of(tool: Tool, schema: GraphQLSchema, everything: bool) -> dict[str, Any]:
    operation, _, name = tool.binding["operation"].partition(".")
    given = roots(schema)[operation][name].args
    make = partial(value_of, everything=everything)
    return {key: make(one.type) for key, one in given.items() if everything or is_required_argument(one)}


def value_of(type: GraphQLInputType, depth: int = 0, *, everything: bool) -> Any:
    if isinstance(type, GraphQLNonNull):
        return value_of(type.of_type, depth, everything=everything)
    if isinstance(type, GraphQLList):
        return [value_of(type.of_type, depth + 1, everything=everything)] if depth < MAX_DEPTH else []
    if isinstance(type, GraphQLEnumType):
        return next(iter(type.values))
    if isinstance(type, GraphQLInputObjectType):
        wanted = {
            name: field.type
            for name, field in type.fields.items()
            if is_required_input_field(field) or (everything and depth < MAX_DEPTH and not type.is_one_of)
        }
        return {name: value_of(one, depth + 1, everything=everything) for name, one in wanted.items()}
    return PLAIN.get(get_named_type(type).name, "text")
