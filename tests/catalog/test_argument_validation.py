from __future__ import annotations

from typing import Any

import pytest

from executor.errors import ToolError
from tests.catalog.conftest import CatalogHarness
from tests.sources.openapi.documents import json_body
from tests.sources.upstream import as_json

THING = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "size": {"type": "integer"},
        "tree": {"$ref": "#/components/schemas/Tree"},
    },
    "required": ["name"],
}
TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}}


def operation(schema: Any = None, **parts: Any) -> dict[str, Any]:
    body = json_body(schema or {"$ref": "#/components/schemas/Thing"}, required=True)
    limit = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
    return {"operationId": "make", "tags": ["t"], "requestBody": body, "parameters": [limit], **parts}


async def problems(harness: CatalogHarness, arguments: Any, schema: Any = None) -> list[dict[str, str]]:
    if await harness.catalog.source(harness.workspace, "things") is None:
        parts = {"components": {"schemas": {"Thing": THING, "Tree": TREE}}}
        await harness.connect({"/t/{id}": {"post": operation(schema)}}, **parts)
    try:
        await harness.catalog.check(await harness.tool("things.t.make"), arguments)
    except ToolError as error:
        assert error.tool_code == "invalid_arguments"
        assert "tools.things.t.make(args" in error.hint
        found: list[dict[str, str]] = error.tool_details["problems"]
        return found
    return []


@pytest.mark.parametrize(
    "arguments",
    [
        {"id": "1", "name": "a"},
        {"id": "1", "name": "a", "size": 2, "limit": 3},
        {"id": "1", "body": {"name": "a"}},
        {"id": "1", "size": 2, "body": {"name": "a"}},
        {"id": "1", "name": "a", "tree": {"kids": [{"kids": []}]}},
        {"id": "1", "body": {"name": "a", "unknown": "allowed by the schema"}},
    ],
)
async def test_right_arguments_pass(harness: CatalogHarness, arguments: dict[str, Any]) -> None:
    assert await problems(harness, arguments) == []


@pytest.mark.parametrize(
    ("arguments", "at", "says"),
    [
        ({"name": "a"}, "/id", "id is required"),
        ({"id": "1"}, "/name", "name is required"),
        ({"id": "1", "body": {}}, "/body/name", "name is required"),
        ({"id": "1", "name": 5}, "/name", "5 is not of type"),
        ({"id": "1", "body": {"name": 5}}, "/body/name", "5 is not of type"),
        ({"id": "1", "name": 5, "body": {"size": 1}}, "/name", "5 is not of type"),
        ({"id": "1", "name": "a", "limit": "x"}, "/limit", "not of type"),
        ({"id": "1", "name": "a", "nmae": "b"}, "/nmae", "did you mean 'name'"),
        ({"id": "1", "name": "a", "Limit": 1}, "/Limit", "did you mean 'limit'"),
        ({"id": "1", "name": "a", "zzz": 1}, "/zzz", "known: "),
        ({"id": "1", "name": "a", "tree": {"kids": [{"kids": 1}]}}, "/tree/kids/0/kids", "not of type"),
        ({"id": "1", "body": "text"}, "/body", "not of type"),
        ({"id": "1", "name": "a", "body": {"name": "b"}}, "/name", "both inside"),
        ([], "", "one object"),
        ("text", "", "one object"),
    ],
)
async def test_wrong_arguments_are_named_where_they_were_given(
    harness: CatalogHarness, arguments: Any, at: str, says: str
) -> None:
    parts = {"components": {"schemas": {"Thing": THING, "Tree": TREE}}}
    await harness.connect({"/t/{id}": {"post": operation()}}, **parts)
    with pytest.raises(ToolError) as caught:
        await harness.catalog.check(await harness.tool("things.t.make"), arguments)
    error = caught.value
    assert error.tool_code == "invalid_arguments"
    assert error.tool_details["problems"][0]["at"] == at
    assert says in error.tool_details["problems"][0]["message"]
    assert error.hint


async def test_all_problems_come_at_once(harness: CatalogHarness) -> None:
    found = await problems(harness, {"name": 1, "size": "x", "odd": 1})
    assert {one["at"] for one in found} == {"/id", "/name", "/size", "/odd"}


async def test_long_values_do_not_flood_the_message(harness: CatalogHarness) -> None:
    (found,) = await problems(harness, {"id": "1", "name": "a", "size": "x" * 100_000})
    assert len(found["message"]) < 400


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "string", "pattern": "(?<oops"},
        {"type": "string", "pattern": "\\p{Nonsense}"},
        {"type": "string", "maxLength": "ten"},
        {"type": "strange"},
        {"type": "string", "enum": "not a list"},
        {"type": "string", "required": True},
        {"type": "string", "$ref": 5},
        {"type": "string", "format": ["x"]},
        {"patternProperties": {"(": {}}},
        {"items": [{"type": "string"}]},
        {"$ref": "http://169.254.169.254/schema.json"},
        {"$dynamicRef": "#x", "$id": "http://127.0.0.1:1/x"},
    ],
)
async def test_a_broken_schema_never_blocks_a_call(harness: CatalogHarness, broken: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"odd": broken, "fine": {"type": "integer"}}}
    assert await problems(harness, {"id": "1", "odd": "x", "fine": 1}, schema) == []
    assert [one["at"] for one in await problems(harness, {"id": "1", "fine": "x"}, schema)] == ["/fine"]


async def test_a_pattern_that_explodes_gives_up_soon(harness: CatalogHarness) -> None:
    schema = {"type": "object", "properties": {"odd": {"type": "string", "pattern": r"^(a|a)*\1(?=b)(a+)+$"}}}
    assert await problems(harness, {"id": "1", "odd": "a" * 50_000 + "!"}, schema)


async def test_arguments_nested_without_end_are_refused_not_fatal(harness: CatalogHarness) -> None:
    tree: dict[str, Any] = {}
    for _ in range(900):
        tree = {"kids": [tree]}
    await problems(harness, {"id": "1", "name": "a", "tree": tree})


async def test_checked_arguments_reach_the_service(harness: CatalogHarness) -> None:
    await problems(harness, {"id": "a/b", "name": "x"})
    harness.upstream.otherwise = as_json({"done": True}, 201)
    tool = await harness.tool("things.t.make")
    answer = await harness.catalog.invoke(tool, {"id": "a/b", "name": "x", "limit": 3}, idempotency_key="k")
    assert answer == '{"done": true}'
    assert harness.upstream.requests[-1].target == "/t/a%2Fb?limit=3"
    assert harness.upstream.requests[-1].json == {"name": "x"}


def ladder(steps: int, last: Any) -> dict[str, Any]:
    """Each schema refers eight times to the next."""
    refs = "#/components/schemas/L"
    schemas: dict[str, Any] = {
        f"L{step}": {"anyOf": [{"$ref": f"{refs}{step + 1}"} for _ in range(8)]} for step in range(steps)
    }
    return {**schemas, f"L{steps}": last}


@pytest.mark.parametrize("inside", [True, False])
async def test_a_ladder_of_alternatives_is_opened_instead_of_compared_for_ever(
    harness: CatalogHarness, inside: bool
) -> None:
    first = {"$ref": "#/components/schemas/L0"}
    schema = {"type": "object", "properties": {"a": first}} if inside else first
    schemas = ladder(12, {"type": "object", "required": ["zz"]})
    source = await harness.connect({"/t": {"post": operation(schema)}}, components={"schemas": schemas})
    assert any("alternatives" in one.reason for one in source.skipped)
    tool = await harness.tool("things.t.make")
    arguments = {"a": 5} if inside else {"body": {"b": 5}}
    await harness.catalog.check(tool, arguments)
    with pytest.raises(ToolError):
        await harness.catalog.check(tool, {**arguments, "limit": "x"})


async def test_as_many_alternatives_as_real_documents_have_are_still_checked(harness: CatalogHarness) -> None:
    one_of = {
        "oneOf": [{"type": "object", "properties": {"kind": {"const": n}}, "required": ["kind"]} for n in range(300)]
    }
    body = {"type": "object", "properties": {"a": one_of}}
    assert await problems(harness, {"id": "1", "a": {"kind": 299}}, body) == []
    assert [one["at"] for one in await problems(harness, {"id": "1", "a": {"kind": 300}}, body)] == ["/a"]
