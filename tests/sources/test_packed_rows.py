"""Rows made of tools and definitions, and the references that are found in their text."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from executor.model.digest import digest
from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.schemas.digests import add_digests, with_digests
from executor.schemas.references import deep_digests, links_of, named_in, names_in
from executor.sources.documents.rows import pack, tool_rows
from executor.sources.openapi.documents import external_documents

AWKWARD = ("Pet", "", 'a"b', "back\\slash", "slash/properties/x", "ünï", "$ref", '"$ref":"#/$defs/Pet', "\\", "tab\t")


def schema(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(5) if depth < 4 else 0
    if kind == 0:
        return {"$ref": f"#/$defs/{rng.choice(AWKWARD)}", rng.choice(AWKWARD): rng.choice(AWKWARD)}
    if kind == 1:
        return [schema(rng, depth + 1) for _ in range(3)]
    if kind == 2:
        return {rng.choice(AWKWARD): f"#/$defs/{rng.choice(AWKWARD)}", 'x"$ref': "#/$defs/Pet", "x\\": {"$ref": 1}}
    return {f"{rng.choice(AWKWARD)}{n}": schema(rng, depth + 1) for n in range(3)} | {"$ref": rng.choice(AWKWARD)}


@pytest.mark.parametrize("seed", range(60))
def test_text_names_exactly_the_definitions_that_its_value_points_at(seed: int) -> None:
    value = schema(random.Random(seed))
    assert named_in(orjson.dumps(value)) == names_in(value)
    assert named_in(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)) == names_in(value)


def test_a_digest_is_still_the_one_of_the_whole_value() -> None:
    definitions = {"Pet": {"properties": {"friend": {"$ref": "#/$defs/Pet"}, "of": {"$ref": "#/$defs/Owner"}}}}
    definitions["Owner"] = {"type": "object"}  # type: ignore[dict-item]
    body = {"$ref": "#/$defs/Pet", "description": 'not "$ref":"#/$defs/Owner"'}
    tool = Tool("a.b.c", "", "", "write", {"properties": {"body": body}}, {"$ref": "#/$defs/Gone"}, {"path": "/x"})
    own = [tool.path, tool.effect, tool.idempotent, tool.input_schema, tool.output_schema, tool.binding]
    deep = deep_digests(definitions)
    (found,) = with_digests([tool], definitions)
    assert found.schema_digest == digest([own, {"Pet": deep["Pet"], "Gone": ""}])
    assert links_of(definitions) == {"Pet": ["Owner", "Pet"], "Owner": []}


def test_rows_have_digests_whether_the_tools_had_them_or_not() -> None:
    tools = tuple(Tool(f"a.b.c{n}", "", "", "read", {"properties": {"n": {"const": n}}}) for n in range(3))
    bare = Loaded("a", "a", tools, {}, (), "")
    full = add_digests(bare)
    assert add_digests(full) is full
    rows = [row for piece in pack(bare).tools for row in tool_rows(piece)]
    assert [row.schema_digest for row in rows] == [tool.schema_digest for tool in full.tools]
    assert len({row.schema_digest for row in rows}) == 3


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"$ref": "other.json#/x"}}',
        '{"a":{"$ref":"https://a.example/o.json"}}',
        "a:\n  $ref: other.yaml",
        "a: {$ref: 'other.yaml#/x'}",
        "- $ref: ./other.yaml",
        '{"a":' + " " * (external_documents.WINDOW - 9) + '{"$ref":"other.json"}}',
        '{"a":' + " " * (3 * external_documents.WINDOW) + '{"$ref" :\n "other.json"}}',
    ],
)
def test_a_reference_that_leaves_the_document_is_seen_in_its_text(text: str) -> None:
    assert external_documents.may_leave(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"$ref": "#/x"}}',
        "a:\n  $ref: '#/x'",
        '{"paths": {"/groups/{id}/$ref": {"get": {}}}}',
        "paths:\n  /groups/{id}/$ref:\n    get: {}",
        '{"properties": {"$ref": {"type": "string"}}}',
        "",
    ],
)
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert not external_documents.may_leave(text.encode())
