from __future__ import annotations

import json
from typing import Any

import pytest

from executor.errors import DocumentInvalid
from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.network.client import Outgoing
from executor.sources.openapi.calls.arguments import arrange
from executor.sources.openapi.calls.request import build
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest

LOCATION = "https://docs.example.com/api/swagger.json"


def load(paths: dict[str, Any], location: str = LOCATION, **parts: Any) -> Loaded:
    root = {"swagger": "2.0", "info": {"title": "Old", "version": "1"}, "host": "api.example.com", **parts}
    return build_catalog(SourceRequest(location=location), json.dumps({**root, "paths": paths}).encode(), location)


def one_tool(operation: dict[str, Any], method: str = "post", path: str = "/a", **parts: Any) -> Tool:
    loaded = load({path: {method: operation}}, **parts)
    assert not loaded.skipped
    return loaded.tools[0]


def build_request(operation: dict[str, Any], arguments: dict[str, Any], path: str = "/a", **parts: Any) -> Outgoing:
    tool = one_tool(operation, path=path, **parts)
    return build("https://x.example", tool.binding, arrange(tool, arguments), "")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, "https://api.example.com"),
        ({"basePath": "/v1/", "schemes": ["http", "https"]}, "https://api.example.com/v1"),
        ({"basePath": "v1", "schemes": ["http"]}, "http://api.example.com/v1"),
        ({"schemes": ["ws"]}, "https://api.example.com"),
        ({"host": "", "basePath": "/v2"}, "https://docs.example.com/v2"),
        ({"host": None}, "https://docs.example.com"),
    ],
)
def test_host_base_path_and_schemes_make_the_base_url(parts: dict[str, Any], expected: str) -> None:
    assert load({"/a": {"get": {}}}, **parts).config["base_url"] == expected


def test_a_file_without_a_host_asks_for_the_base_url() -> None:
    with pytest.raises(DocumentInvalid) as caught:
        load({"/a": {"get": {}}}, location="old.json", host="")
    assert "baseUrl" in caught.value.hint


@pytest.mark.parametrize(
    ("format", "written"),
    [(None, "q=a,b"), ("csv", "q=a,b"), ("multi", "q=a&q=b"), ("ssv", "q=a%20b"), ("pipes", "q=a%7Cb"),
     ("tsv", "q=a%09b")],
)  # fmt: skip
def test_lists_are_written_in_their_collection_format(format: str | None, written: str) -> None:
    parameter = {"name": "q", "in": "query", "type": "array", "items": {"type": "string"}}
    if format:
        parameter["collectionFormat"] = format
    assert build_request({"parameters": [parameter]}, {"q": ["a", "b"]}).url.partition("?")[2] == written


def test_the_type_of_a_parameter_is_its_schema() -> None:
    parameter = {
        "name": "q",
        "in": "query",
        "type": "integer",
        "maximum": 9,
        "required": True,
        "description": "how many",
    }
    tool = one_tool({"parameters": [parameter]}, "get")
    assert tool.input_schema["properties"]["q"] == {"type": "integer", "maximum": 9, "description": "how many"}
    assert tool.input_schema["required"] == ["q"]


def test_a_body_parameter_is_the_body_whatever_it_is_called() -> None:
    schema = {"$ref": "#/definitions/Thing"}
    thing = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    operation = {"parameters": [{"name": "payload", "in": "body", "required": True, "schema": schema}]}
    tool = one_tool(operation, definitions={"Thing": thing})
    assert tool.input_schema["required"] == ["name"]
    outgoing = build_request(operation, {"name": "x"}, definitions={"Thing": thing})
    assert (outgoing.body, outgoing.headers["Content-Type"]) == (b'{"name":"x"}', "application/json")


def test_shared_parameters_and_those_of_the_path_are_found() -> None:
    item = {
        "parameters": [{"$ref": "#/parameters/Limit"}],
        "get": {"parameters": [{"name": "name", "in": "formData", "type": "string"}]},
    }
    (tool,) = load({"/a": item}, parameters={"Limit": {"name": "limit", "in": "query", "type": "integer"}}).tools
    assert list(tool.input_schema["properties"]) == ["name", "limit", "body"]


FIELDS = [
    {"name": "name", "in": "formData", "type": "string", "required": True},
    {"name": "tags", "in": "formData", "type": "array", "items": {"type": "string"}},
    {"name": "ids", "in": "formData", "type": "array", "items": {"type": "integer"}, "collectionFormat": "multi"},
]


def test_form_fields_are_sent_as_a_form() -> None:
    outgoing = build_request({"parameters": FIELDS}, {"name": "a b", "tags": ["x", "y"], "ids": [1, 2]})
    assert outgoing.body == b"name=a%20b&tags=x,y&ids=1&ids=2"
    assert outgoing.headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_a_file_makes_the_form_multipart() -> None:
    file = {"name": "file", "in": "formData", "type": "file", "required": True}
    operation = {"consumes": ["application/x-www-form-urlencoded"], "parameters": [*FIELDS, file]}
    outgoing = build_request(operation, {"name": "a", "file": {"base64": "/wA=", "filename": "f.bin"}})
    assert outgoing.body is not None and b'name="file"; filename="f.bin"' in outgoing.body
    assert b"\r\n\r\n\xff\x00\r\n" in outgoing.body
    assert outgoing.headers["Content-Type"].startswith("multipart/form-data; boundary=")


@pytest.mark.parametrize(
    ("operation", "schema"),
    [
        ({"responses": {"200": {"schema": {"type": "array"}}}}, {"type": "array"}),
        ({"responses": {"200": {"schema": {"type": "string"}}}, "produces": ["text/csv"]}, {"type": "string"}),
        ({"responses": {"204": {"description": "done"}}}, {"type": "null"}),
        ({"responses": {"200": {"$ref": "#/responses/Ok"}}}, {"type": "integer"}),
    ],
)
def test_answers_have_their_schema(operation: dict[str, Any], schema: Any) -> None:
    tool = one_tool(operation, "get", responses={"Ok": {"schema": {"type": "integer"}}})
    assert tool.output_schema == schema


def test_a_file_as_an_answer_is_binary() -> None:
    tool = one_tool({"responses": {"200": {"schema": {"type": "file"}}}}, "get")
    assert tool.output_schema is not None and {"contentType", "base64", "artifact"} < set(
        tool.output_schema["properties"]
    )


def test_security_definitions_are_recognised() -> None:
    definitions = {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "login": {
            "type": "oauth2",
            "flow": "accessCode",
            "authorizationUrl": "https://a/1",
            "scopes": {"read": "Read"},
        },
    }
    loaded = load({"/a": {"get": {"security": [{"login": ["read"]}]}}}, securityDefinitions=definitions)
    assert [(one["name"], one["type"]) for one in loaded.config["auth"]] == [
        ("basic", "http-basic"), ("key", "apiKey"), ("login", "oauth2"),
    ]  # fmt: skip
    flows = loaded.config["auth"][2]["details"]["flows"]
    assert flows == {"authorizationCode": {"authorizationUrl": "https://a/1", "scopes": ["read"]}}
    assert loaded.tools[0].binding["security"] == [{"login": ["read"]}]


def test_a_vendors_nullable_is_understood() -> None:
    parameter = {"name": "q", "in": "query", "type": "string", "x-nullable": True}
    operation = {
        "parameters": [{"name": "b", "in": "body", "schema": {"type": "string", "x-nullable": True}}, parameter]
    }
    assert one_tool(operation).input_schema["properties"]["body"] == {"type": ["string", "null"]}
