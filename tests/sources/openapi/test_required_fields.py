"""Which fields of a body are demanded: what the arguments show and what validation wants are always the same."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from executor.catalog.signatures.typescript import Types
from executor.model.tool import Tool
from executor.sources.openapi.calls.arguments import arrange, strict_schema
from tests.sources.openapi.documents import answers, json_body, load

READ_ONLY = {
    "type": "object",
    "properties": {"id": {"type": "string", "readOnly": True}, "made": {"$ref": "#/components/schemas/Made"}},
}
SCHEMAS: dict[str, Any] = {
    "ReadOnly": READ_ONLY,
    "Made": {"type": "string", "readOnly": True},
    "Base": {"type": "object", "properties": {"id": {"type": "string"}, "kind": {"type": "string"}}},
    "Tag": {"type": "object", "properties": {"id": {"type": "string", "readOnly": True}, "kind": {"type": "string"}}},
}
NAME = {"name": {"type": "string"}}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def is_accepted(tool: Tool, definitions: Any, arguments: dict[str, Any]) -> bool:
    schema = {**strict_schema(tool), "$defs": dict(definitions)}
    return jsonschema_rs.validator_for(schema).is_valid(arrange(tool, arguments))


SHAPES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "the part stands elsewhere": (
        {"allOf": [ref("ReadOnly")], "properties": NAME, "required": ["id", "made", "name"]},
        {"name"},
    ),
    "the part stands here": (
        {"allOf": [READ_ONLY, {"properties": NAME, "required": ["id", "name"]}]},
        {"name"},
    ),
    "parts of parts": (
        {"allOf": [{"allOf": [ref("ReadOnly")]}, {"allOf": [{"properties": NAME, "required": ["made", "name"]}]}]},
        {"name"},
    ),
    "beside a reference": (
        {**ref("ReadOnly"), "properties": NAME, "required": ["id", "name"]},
        {"name"},
    ),
    "in one of the choices": (
        {"properties": NAME, "required": ["id", "name"], "anyOf": [READ_ONLY, {"properties": {"n": {}}}]},
        {"name"},
    ),
    "of a property that is composed": (
        {"properties": {**NAME, "at": {"allOf": [ref("Made")], "description": "d"}}, "required": ["name", "at"]},
        {"name"},
    ),
    "one part has it read-only, another one not": (
        {"allOf": [ref("ReadOnly"), ref("Base")], "required": ["id", "kind"]},
        {"id", "kind"},
    ),
    "a part that does nothing but require": (
        {"allOf": [ref("Tag"), {"type": "object", "required": ["id", "kind"]}]},
        {"id", "kind"},
    ),
    "nothing but required beside a reference": ({**ref("Tag"), "required": ["id"]}, {"id"}),
    "required and declared nowhere": ({"properties": NAME, "required": ["name", "Other"]}, {"name", "Other"}),
    "required without any properties": ({"type": "object", "required": ["a"]}, {"a"}),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_shown_as_required_is_exactly_what_validation_demands(shape: str) -> None:
    schema, expected = SHAPES[shape]
    schema = {"type": "object", **schema}
    post = {"requestBody": json_body(schema, required=True), "responses": answers(schema)}
    nested = {"requestBody": json_body({"type": "object", "properties": {"inner": schema}}, required=True)}
    loaded = load({"/a": {"post": post}, "/b": {"post": nested}}, components={"schemas": SCHEMAS})
    assert not loaded.skipped
    whole, within = loaded.tools
    assert set(whole.input_schema.get("required", ())) == expected
    call = dict.fromkeys(expected, "x")
    assert is_accepted(whole, loaded.definitions, call)
    assert is_accepted(within, loaded.definitions, {"inner": call})
    for name in expected:
        less = {other: value for other, value in call.items() if other != name}
        assert not is_accepted(whole, loaded.definitions, less)
        assert not is_accepted(within, loaded.definitions, {"inner": less})
    shown = Types(loaded.definitions, notes=False).render(within.input_schema["properties"]["inner"])
    assert all(f"{name}: " in shown for name in expected), shown


def test_a_field_that_is_only_sent_is_not_expected_in_answers() -> None:
    schemas = {
        "Secret": {"type": "string", "writeOnly": True},
        "Login": {"type": "object", "properties": {"password": {"$ref": "#/components/schemas/Secret"}}},
    }
    schema = {"allOf": [ref("Login")], "properties": {"id": {"type": "string"}}, "required": ["id", "password"]}
    get = {"responses": answers(schema)}
    loaded = load({"/a": {"get": get}}, components={"schemas": schemas})
    assert list(loaded.tools[0].binding["answers"]["200"]["fields"]) == ["id"]
