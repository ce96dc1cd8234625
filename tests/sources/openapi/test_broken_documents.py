"""What real and hostile documents hold: read where it can be, refused clearly where it can't."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.errors import DocumentInvalid
from executor.schemas.validation import compile_schema
from executor.sources.openapi.calls import arguments as forms
from executor.sources.openapi.documents.parser import MAX_BYTES, parse
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest
from executor.storage.catalog.definitions import with_definitions
from tests.sources.openapi.documents import LOCATION, answers, document, json_body, load, one_tool


def argument(schema: Any, value: Any) -> bool:
    """Whether the argument of a tool with this schema may have this value."""
    loaded = load({"/a": {"get": {"parameters": [{"name": "q", "in": "query", "schema": schema}]}}})
    strict = with_definitions(forms.strict_schema(loaded.tools[0]), dict(loaded.definitions))
    return compile_schema(strict).errors({"q": value}) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": [1, 2, True]}, "1"),
        ({"type": "string", "enum": [1, 2, True]}, "true"),
        ({"type": "integer", "enum": ["1", "2"]}, 2),
        ({"type": "boolean", "enum": ["true", "false"]}, False),
        ({"type": "integer", "enum": ["low", "high"]}, "low"),
        ({"type": "array", "items": {"type": "string"}, "enum": ["a", "b"]}, ["a", "b"]),
        ({"type": "String"}, "x"),
        ({"type": "int"}, 5),
        ({"type": ["string", "odd"]}, "x"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2),
        ({"type": "string", "pattern": "(unclosed"}, "x"),
        ({"type": "object", "required": True, "properties": {"a": {}}}, {}),
        ({"type": "object", "required": ["b"], "properties": {"a": {}}, "additionalProperties": False}, {"b": 1}),
        ({"enum": []}, 1),
        ({"type": None}, 1),
    ],
)
def test_slips_of_real_documents_do_not_block_a_correct_call(schema: Any, value: Any) -> None:
    assert argument(schema, value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": [1, 2]}, "3"),
        ({"type": "integer", "enum": ["1", "2"]}, 3),
        ({"type": "array", "items": {"type": "string"}, "enum": ["a", "b"]}, ["c"]),
        ({"type": "int"}, "x"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1),
    ],
)
def test_and_still_refuse_a_wrong_one(schema: Any, value: Any) -> None:
    assert not argument(schema, value)


CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}


def test_a_closed_schema_can_be_inherited_from() -> None:
    base = {"components": {"schemas": {"Base": CLOSED, "Plain": {"$ref": "#/components/schemas/Base"}}}}
    for parent in ({"$ref": "#/components/schemas/Base"}, CLOSED):
        schema = {"allOf": [parent], "properties": {"b": {"type": "integer"}}, "additionalProperties": False}
        body = {"requestBody": json_body(schema, required=True)}
        loaded = load({"/a": {"post": body}}, **base)
        strict = with_definitions(forms.strict_schema(loaded.tools[0]), dict(loaded.definitions))
        validator = compile_schema(strict)
        assert validator.errors({"body": {"a": 1, "b": 2}}) == []
        assert validator.errors({"body": {"a": "x"}})
        assert validator.errors({"body": {"c": 1}})


def test_a_read_only_property_behind_a_reference_is_not_demanded() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"$ref": "#/components/schemas/Id"}, "n": {}},
        "required": ["id", "n"],
    }
    parts = {"components": {"schemas": {"Id": {"type": "string", "readOnly": True}}}}
    tool = one_tool("/a", {"requestBody": json_body(schema, required=True)}, "post", **parts)
    assert tool.input_schema["required"] == ["n"]
    assert tool.input_schema["properties"]["body"]["required"] == ["n"]


def test_methods_of_newer_documents_are_tools() -> None:
    more = {"additionalOperations": {"LINK": {"operationId": "link"}, "bad method": {}, "CONNECT": {}}}
    loaded = load(
        {"/a": {"query": {"operationId": "search", "requestBody": json_body({"type": "object"})}, **more}},
        openapi="3.2.0",
    )
    assert {(tool.binding["method"], tool.effect) for tool in loaded.tools} == {("QUERY", "read"), ("LINK", "write")}
    assert [one.where for one in loaded.skipped] == ["BAD METHOD /a", "CONNECT /a"]


def test_methods_in_capitals_are_understood() -> None:
    assert [tool.binding["method"] for tool in load({"/a": {"GET": {}, "Post": {}}}).tools] == ["GET", "POST"]


def test_callbacks_and_webhooks_are_no_tools() -> None:
    operation = {"callbacks": {"done": {"{$request.body#/url}": {"post": {"operationId": "called"}}}}}
    loaded = load({"/a": {"post": operation}}, webhooks={"new": {"post": {"operationId": "hook"}}})
    assert len(loaded.tools) == 1 and loaded.skipped == ()


def test_a_document_of_webhooks_alone_is_read_and_says_that_nothing_can_be_called() -> None:
    loaded = load({}, webhooks={"newPet": {"post": {}}})
    assert loaded.tools == () and [one.where for one in loaded.skipped] == ["webhook newPet"]


def test_deprecated_operations_are_marked() -> None:
    assert one_tool("/a", {"deprecated": True}).deprecated and not one_tool("/a", {}).deprecated


def test_yaml_keys_of_any_type_are_read() -> None:
    text = b"""
openapi: 3.0.0
info: {title: Y, version: 1}
paths:
  /a:
    get:
      operationId: 5
      responses:
        200:
          description: x
          content:
            application/json:
              schema:
                type: object
                properties: {on: {type: string}, 5: {type: integer}, true: {type: boolean}, 2020-01-01: {}}
                required: [5, true]
"""
    (tool,) = build_catalog(SourceRequest(location=LOCATION), text, LOCATION).tools
    assert tool.output_schema is not None
    assert set(tool.output_schema["properties"]) == {"on", "5", "true", "2020-01-01"}
    assert tool.output_schema["required"] == ["5", "true"]


def test_utf_16_is_read() -> None:
    assert parse(json.dumps({"openapi": "3.1.0"}).encode("utf-16"), "it") == {"openapi": "3.1.0"}


def test_a_document_that_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(DocumentInvalid, match="larger than"):
        parse(bytes(MAX_BYTES + 1), "it")


@pytest.mark.parametrize("depth", [900, 5_000, 100_000])
@pytest.mark.parametrize("shape", ['{"items":%s}', '{"properties":{"a":%s}}', '{"allOf":[%s]}', "[%s]"])
def test_no_depth_brings_the_reader_down(depth: int, shape: str) -> None:
    before, _, after = shape.partition("%s")
    schema = before * depth + "{}" + after * depth
    text = json.dumps(document({"/a": {"get": {"responses": answers("HERE")}}})).replace('"HERE"', schema).encode()
    try:
        loaded = build_catalog(SourceRequest(location=LOCATION), text, LOCATION)
    except DocumentInvalid as error:
        assert error.hint
    else:
        assert len(loaded.tools) == 1


def test_deep_yaml_blocks_are_survived() -> None:
    lines = ["openapi: 3.1.0", "paths:", "  /a:", "    get:", "      responses:", "        200:"]
    lines += [" " * (10 + level) + "items:" for level in range(3_000)]
    try:
        build_catalog(SourceRequest(location=LOCATION), "\n".join(lines).encode(), LOCATION)
    except DocumentInvalid as error:
        assert error.hint


HOSTILE = ["__proto__", "constructor", "then", "toString", "", "x" * 1_000, "a.b", "\u202e", "class", "/", "1"]


def test_hostile_names_become_harmless_and_distinct_tools() -> None:
    paths = {f"/{index}": {"get": {"operationId": name, "tags": [name]}} for index, name in enumerate(HOSTILE)}
    loaded = load(paths)
    assert len({tool.path.lower() for tool in loaded.tools}) == len(HOSTILE)
    for tool in loaded.tools:
        assert len(tool.path) < 200
        assert not {"__proto__", "constructor", "then", "toString", "class"} & set(tool.path.split("."))


def test_hostile_names_of_arguments_and_fields_stay_in_their_place() -> None:
    names = ["__proto__", "constructor", "body", "a/b", "", "x" * 300, "$ref"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names if name != "$ref"}}
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    tool = one_tool("/a", {"parameters": parameters, "requestBody": json_body(schema)}, "post")
    assert len({one["argument"] for one in tool.binding["parameters"]}) == len(names)


def test_a_body_without_a_media_type_is_json() -> None:
    tool = one_tool("/a", {"requestBody": {"content": {"": {"schema": {"type": "object"}}}}}, "post")
    assert tool.binding["body"]["mediaType"] == "application/json"
