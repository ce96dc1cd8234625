from __future__ import annotations

import json

import pytest

from executor.errors import DocumentInvalid
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest
from tests.sources.openapi.documents import LOCATION, answers, document, json_body, load, one_tool

THING = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def test_tools_are_named_by_namespace_tag_and_operation() -> None:
    tool = one_tool(
        "/things", {"operationId": "createThing", "tags": ["things"], "requestBody": json_body(THING)}, "post"
    )
    assert tool.path == "things.things.createThing"


@pytest.mark.parametrize(
    ("method", "effect"),
    [("get", "read"), ("head", "read"), ("options", "read"), ("query", "read"), ("post", "write"), ("put", "write"),
     ("patch", "write"), ("trace", "write"), ("delete", "destructive")],
)  # fmt: skip
def test_the_method_tells_the_effect(method: str, effect: str) -> None:
    assert one_tool("/a", {}, method).effect == effect


def test_fields_of_an_object_body_stand_beside_the_parameters() -> None:
    body = json_body({"$ref": "#/components/schemas/Thing"}, required=True)
    parts = {"components": {"schemas": {"Thing": THING}}}
    tool = one_tool("/things/{id}", {"requestBody": body}, "put", **parts)
    assert list(tool.input_schema["properties"]) == ["id", "name", "body"]
    assert tool.input_schema["required"] == ["id", "name"]
    assert tool.input_schema["additionalProperties"] is False


def test_a_name_used_twice_stays_under_body() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "required": ["id"],
    }
    tool = one_tool("/things/{id}", {"requestBody": json_body(schema, required=True)}, "put")
    assert tool.binding["body"]["flat"] == ["name"]
    assert tool.input_schema["required"] == ["id", "body"]
    assert tool.input_schema["properties"]["id"] == {"type": "string"}


@pytest.mark.parametrize(
    "schema", [{"type": "array", "items": {}}, {"type": "string"}, {}, {"oneOf": [THING, {"type": "null"}]}]
)
def test_a_body_that_is_no_object_goes_under_body(schema: dict[str, object]) -> None:
    tool = one_tool("/a", {"requestBody": json_body(schema, required=True)}, "post")
    assert list(tool.input_schema["properties"]) == ["body"]
    assert tool.input_schema["required"] == ["body"]


def test_bodies_made_of_parts_are_flattened() -> None:
    other = {"type": "object", "properties": {"size": {"type": "integer"}}}
    tool = one_tool("/a", {"requestBody": json_body({"allOf": [THING, other]}, required=True)}, "post")
    assert tool.binding["body"]["flat"] == ["name", "size"]
    either = one_tool("/a", {"requestBody": json_body({"oneOf": [THING, other]}, required=True)}, "post")
    assert either.binding["body"]["flat"] == ["name", "size"]
    assert "required" not in either.input_schema


def test_read_only_fields_are_not_asked_for() -> None:
    properties = {"id": {"type": "string", "readOnly": True}, "name": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["id", "name"]}
    tool = one_tool("/a", {"requestBody": json_body(schema, required=True)}, "post")
    assert tool.input_schema["required"] == ["name"]
    assert tool.input_schema["properties"]["body"]["required"] == ["name"]


def test_parameters_of_the_path_item_apply_unless_replaced() -> None:
    item = {
        "parameters": [{"name": "a", "in": "query", "schema": {"type": "string"}}, {"name": "b", "in": "query"}],
        "get": {"parameters": [{"name": "a", "in": "query", "schema": {"type": "integer"}}]},
    }
    (tool,) = load({"/x": item}).tools
    assert tool.input_schema["properties"] == {"a": {"type": "integer"}, "b": {}}


def test_the_same_name_in_two_places_is_distinguished() -> None:
    parameters = [
        {"name": "id", "in": "query"},
        {"name": "id", "in": "path", "required": True},
        {"name": "body", "in": "query"},
    ]
    tool = one_tool("/x/{id}", {"parameters": parameters})
    assert list(tool.input_schema["properties"]) == ["id", "id_query", "body_query"]


def test_a_path_parameter_that_no_one_declared_is_added() -> None:
    assert one_tool("/x/{id}", {}).input_schema["required"] == ["id"]


@pytest.mark.parametrize(
    "name",
    ["Authorization", "host", "Content-Length", "Cookie", "Accept", "Content-Type", "X-Forwarded-For", "a b", "a\r\nb"],
)
def test_headers_that_arguments_may_not_set_are_no_arguments(name: str) -> None:
    tool = one_tool(
        "/x", {"parameters": [{"name": name, "in": "header", "required": True, "schema": {"type": "string"}}]}
    )
    assert tool.input_schema["properties"] == {}


def test_an_idempotency_key_makes_a_tool_idempotent() -> None:
    parameters = [{"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}]
    tool = one_tool("/x", {"parameters": parameters}, "post")
    assert tool.idempotent and "required" not in tool.input_schema
    assert not one_tool("/x", {}, "post").idempotent


def test_recursive_schemas_keep_their_references() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/components/schemas/Node"}, "value": {"type": "string"}},
    }
    loaded = load(
        {"/a": {"get": {"responses": answers({"$ref": "#/components/schemas/Node"})}}},
        components={"schemas": {"Node": node}},
    )
    assert loaded.tools[0].output_schema == {"$ref": "#/$defs/Node"}
    assert loaded.definitions["Node"]["properties"]["next"] == {"$ref": "#/$defs/Node"}


def test_definitions_of_the_same_last_name_do_not_mix() -> None:
    loaded = load(
        {
            "/a": {
                "get": {"responses": answers({"anyOf": [{"$ref": "#/components/schemas/X"}, {"$ref": "#/x-more/X"}]})}
            }
        },
        components={"schemas": {"X": {"type": "string"}}},
        **{"x-more": {"X": {"type": "integer"}}},
    )
    assert loaded.tools[0].output_schema == {"anyOf": [{"$ref": "#/$defs/X"}, {"$ref": "#/$defs/X_2"}]}
    assert loaded.definitions == {"X": {"type": "string"}, "X_2": {"type": "integer"}}


def test_the_dialect_of_openapi_3_0_becomes_json_schema() -> None:
    schema = {
        "type": "integer",
        "nullable": True,
        "minimum": 1,
        "exclusiveMinimum": True,
        "enum": [2],
        "example": 3,
        "x-a": 1,
    }
    parameters = [{"name": "a", "in": "query", "schema": schema}]
    tool = one_tool("/x", {"parameters": parameters}, openapi="3.0.3")
    expected = {"type": ["integer", "null"], "exclusiveMinimum": 1, "enum": [2, None]}
    assert tool.input_schema["properties"]["a"] == expected


def test_a_partly_broken_document_gives_what_it_can_and_names_the_rest() -> None:
    loaded = load(
        {
            "/good": {"get": {"operationId": "good"}},
            "/ref": {"get": {"parameters": [{"$ref": "#/nope"}]}},
            "/outside": {"$ref": "other.yaml"},
            "/null": None,
            "/op": {"get": "text"},
            "/nameless": {"get": {"parameters": [{"in": "query"}]}},
            "/up/../up": {"get": {}},
            "https://elsewhere.example/x": {"get": {}},
            "/place": {"get": {"parameters": [{"name": "c", "in": "body"}]}},
        }
    )
    assert [tool.path for tool in loaded.tools] == ["things.good.good"]
    assert {one.where for one in loaded.skipped} == {
        "GET /ref", "/outside", "/null", "GET /op", "GET /nameless", "GET /up/../up",
        "GET https://elsewhere.example/x", "GET /place",
    }  # fmt: skip
    assert all(one.reason for one in loaded.skipped)


def test_an_unresolved_schema_accepts_anything_and_is_named() -> None:
    loaded = load({"/a": {"get": {"parameters": [{"name": "a", "in": "query", "schema": {"$ref": "#/nope"}}]}}})
    assert loaded.definitions == {"nope": {}}
    assert loaded.skipped[0].where == "#/nope"


@pytest.mark.parametrize("paths", [{}, {"/a": {}}, {"/a": {"parameters": []}}, None, []])
def test_a_document_without_operations_is_refused(paths: object) -> None:
    text = json.dumps({**document({}), "paths": paths}).encode()
    with pytest.raises(DocumentInvalid, match="no operations"):
        build_catalog(SourceRequest(location=LOCATION), text, LOCATION)


def test_a_document_where_nothing_is_usable_says_why() -> None:
    with pytest.raises(DocumentInvalid, match="none of the 1 operations") as caught:
        load({"/a": {"get": {"parameters": [{"in": "query"}]}}})
    assert "no name" in caught.value.hint


def test_deep_nesting_does_not_bring_the_reader_down() -> None:
    schema: dict[str, object] = {}
    for _ in range(300):
        schema = {"type": "array", "items": schema}
    assert len(load({"/a": {"get": {"responses": answers(schema)}}}).tools) == 1


def test_answers_are_the_union_of_what_success_may_be() -> None:
    responses = {**answers({"type": "string"}), **answers({"type": "integer"}, "201"), "204": {"description": ""}}
    tool = one_tool("/a", {"responses": responses}, "post")
    assert tool.output_schema == {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}


def test_descriptions_are_printable_and_bounded() -> None:
    tool = one_tool("/a", {"summary": "\x1b[31mred\u202e", "description": "x" * 10_000})
    assert tool.description.startswith(" [31mred")
    assert len(tool.description) <= 2_000


def test_the_digest_changes_with_everything_a_decision_rests_on() -> None:
    def digest(schema: object, **operation: object) -> str:
        body = json_body({"$ref": "#/components/schemas/A"})
        holder = {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}}
        parts = {"components": {"schemas": {"A": holder, "B": schema}}}
        return one_tool("/a", {"operationId": "x", "requestBody": body, **operation}, "post", **parts).schema_digest

    deep = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}, "c": {"type": "string"}}}
    assert digest({"type": "string"}) == digest({"type": "string"})
    assert digest({"type": "string"}) != digest({"type": "integer"})
    assert digest(deep) != digest({**deep, "required": ["c"]})
    assert digest(deep) != digest(deep, parameters=[{"name": "q", "in": "query"}])
    assert digest(deep) == digest(deep, summary="other words")


def test_the_same_document_always_gives_the_same_tools() -> None:
    paths = {"/b": {"get": {}, "post": {}}, "/a/{x}": {"get": {"operationId": "dup"}, "delete": {"operationId": "dup"}}}
    assert load(paths).tools == load(paths).tools
    moved = {path: dict(reversed(item.items())) for path, item in reversed(paths.items())}
    assert {tool.path for tool in load(moved).tools} == {tool.path for tool in load(paths).tools}


def test_texts_may_stand_elsewhere_in_the_document() -> None:
    texts = {"name": "cancelOrder", "about": "Cancels an order."}
    linked = {
        "operationId": {"$ref": "#/x-texts/name"},
        "summary": {"$ref": "#/x-texts/about"},
        "description": {"$ref": "#/x-texts/nowhere"},
    }
    tool = one_tool("/orders", {**linked, "tags": ["orders"]}, "post", **{"x-texts": texts})
    assert (tool.path, tool.description) == ("things.orders.cancelOrder", "Cancels an order.")


def test_a_name_that_is_no_text_is_none() -> None:
    tool = one_tool("/orders", {"operationId": {"$ref": "#/nowhere"}, "tags": ["orders"]}, "post")
    assert tool.path == one_tool("/orders", {"tags": ["orders"]}, "post").path
