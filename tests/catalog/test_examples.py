from __future__ import annotations

import ast
import json
from typing import Any

import pytest
import tree_sitter
import tree_sitter_typescript

from executor.catalog.declarations.loader import declarations
from executor.catalog.description import fits_pattern
from executor.catalog.signatures.example_call import call
from executor.catalog.signatures.signature import signature
from executor.model.language import Language
from executor.model.tool import Tool
from executor.schemas.examples import example
from executor.schemas.regex_samples import samples
from executor.sources.openapi.calls.arguments import arrange, strict_schema
from tests.catalog.conftest import CatalogHarness
from tests.catalog.schema_generator import SchemaGenerator, validator_of

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))


def make_example(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> dict[str, Any] | None:
    tool = Tool("a.b", "src", "Does it.", "read", schema)
    validator = validator_of(schema, definitions or {})
    return example(tool, schema, definitions or {}, lambda given: validator.errors(given) == [], fits_pattern)


def holding(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"it": schema}, "required": ["it"], "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 12, "maxLength": 12, "pattern": "^[0-9]+$"},
        {"type": "string", "maxLength": 1},
        {"type": "string", "pattern": r"^\d{3}-[A-F]{2}(x|y)?$"},
        {"type": "string", "pattern": r"^arn:aws:[a-z]+:[^:]*:\w+/.+$"},
        {"type": "string", "format": "date-time"},
        {"type": "integer", "minimum": 5, "exclusiveMaximum": 7},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "integer", "multipleOf": 7, "minimum": 20},
        {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 2, "uniqueItems": True},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2},
        {"type": "object", "minProperties": 2, "additionalProperties": {"type": "boolean"}},
        {"oneOf": [{"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}, {"type": "null"}]},
        {"allOf": [{"type": "object", "properties": {"a": {}}}, {"required": ["a"]}]},
        {"type": ["null", "boolean"]},
        {"not": {"type": "null"}},
        {"$ref": "#/$defs/Node"},
    ],
    ids=json.dumps,
)
def test_an_example_keeps_what_the_schema_demands(schema: dict[str, Any]) -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": "integer"}},
        "required": ["v"],
    }
    assert make_example(holding(schema), {"Node": node}) is not None


def test_an_example_says_what_must_be_given_and_no_more() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    assert make_example(schema) == {"b": "b"}


def test_without_a_value_that_would_do_there_is_no_example() -> None:
    assert make_example(holding(False)) is None
    assert make_example(holding({"$ref": "#/$defs/Endless"}), {"Endless": holding({"$ref": "#/$defs/Endless"})}) is None


def test_most_of_what_careless_schemas_ask_for_has_an_example() -> None:
    found = []
    for seed in range(150):
        making = SchemaGenerator(seed)
        schema = making.arguments()
        found.append(make_example(schema, making.definitions) is not None)
    assert sum(found) >= 0.9 * len(found)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(" * 500, "[", "(?<n>a)", r"\p{L}+", "a{1,99999999}", "(?=x)y", ".{0,70000}"]
)
def test_patterns_of_any_kind_are_sampled_in_no_time(pattern: str) -> None:
    assert all(len(text) <= 2_100 for text in samples(pattern, 100))


def test_calls_are_written_so_that_nothing_breaks_out() -> None:
    hostile = {
        "a-b": ["*/", "`${x}`", '"', "\\", "\u2028", "\ud800", "'''"],
        "__proto__": {"class": None},
        "": True,
        "é": 1.5,
    }
    written = call("a.b", hostile, "typescript")
    assert not PARSER.parse(written.encode("utf-8", "surrogatepass")).root_node.has_error, written
    assert '["__proto__"]' in written
    tree = ast.parse(call("a.b", hostile, "python"), mode="eval").body
    assert isinstance(tree, ast.Await) and isinstance(tree.value, ast.Call)
    assert ast.literal_eval(tree.value.args[0]) == hostile
    assert call("a.b", {"x": "y", "n": None}, "python") == 'await tools.a.b(x="y", n=None)'
    assert call("a.b", {}, "typescript") == "await tools.a.b()"


async def test_the_example_of_a_body_puts_its_fields_beside_the_parameters(harness: CatalogHarness) -> None:
    body = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["title"],
    }
    operation = {
        "operationId": "createThing",
        "parameters": [{"name": "id", "in": "query", "required": True, "schema": {"type": "string", "format": "uuid"}}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": {"description": "fine"}},
    }
    await harness.connect({"/things": {"post": operation}})
    path = next(head.path for head in await harness.catalog.page(harness.workspace))
    tool = await harness.tool(path)
    validator = validator_of(strict_schema(tool), {})
    found = example(
        tool, strict_schema(tool), {}, lambda given: validator.errors(arrange(tool, given)) == [], fits_pattern
    )
    assert found == {"id": "123e4567-e89b-42d3-a456-426614174000", "title": "title"}
    await harness.catalog.check(tool, found)
    described = await harness.catalog.describe(harness.workspace, path, language="python")
    assert described["example"] == f'await tools.{path}(id="{found["id"]}", title="title")'


def test_schemas_that_multiply_end_in_time() -> None:
    lists: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        lists = {"type": "array", "items": lists, "minItems": 50}
    assert make_example(holding(lists)) is None
    twice: dict[str, Any] = {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(40)}
    twice["D40"] = {"type": "object", "properties": {"x": {"type": "string"}}}
    tool = Tool("a.b", "src", "Does it.", "read", holding({"$ref": "#/$defs/D0"}), {"$ref": "#/$defs/D0"})
    assert example(tool, tool.input_schema, twice, lambda given: True, fits_pattern) is not None
    languages: tuple[Language, ...] = ("typescript", "python")
    for language in languages:
        assert signature(tool, twice, language=language)
        assert declarations(language, [tool], {"src": twice})
