"""Habits of real documents that the standard leaves open, forbids, or allows only since its newer versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.source import Loaded
from executor.network.client import Outgoing
from executor.schemas.validation import compile_schema
from executor.sources.openapi.calls import arguments as forms
from executor.sources.openapi.calls.request import build
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest
from executor.storage.catalog.definitions import with_definitions
from tests.sources.openapi.documents import document, json_body, load, one_tool

FIXTURES = Path(__file__).parent / "fixtures"


def fixture(name: str, location: str = "") -> Loaded:
    path = FIXTURES / name
    location = location or f"https://docs.example.com/{name}"
    return build_catalog(SourceRequest(location=location), path.read_bytes(), location)


def accepts(loaded: Loaded, arguments: dict[str, Any]) -> bool:
    (tool,) = loaded.tools
    strict = with_definitions(forms.strict_schema(tool), dict(loaded.definitions))
    return compile_schema(strict).errors(forms.arrange(tool, arguments)) == []


def build_request(operation: dict[str, Any], arguments: dict[str, Any], method: str = "post") -> Outgoing:
    tool = one_tool("/a", operation, method)
    return build("https://x.example", tool.binding, forms.arrange(tool, arguments), "")


def override(**schema: Any) -> dict[str, Any]:
    return {"parameters": [{"name": "X-HTTP-Method-Override", "in": "header", "required": True, "schema": schema}]}


@pytest.mark.parametrize("schema", [{"default": "GET"}, {"enum": ["GET", "DELETE"]}, {"const": "GET"}])
def test_a_header_may_turn_a_write_into_a_read(schema: Any) -> None:
    loaded = load({"/a": {"post": override(**schema)}})
    assert accepts(loaded, {"X-HTTP-Method-Override": "GET"})
    assert not accepts(loaded, {"X-HTTP-Method-Override": "DELETE"})
    assert (
        build_request(override(**schema), {"X-HTTP-Method-Override": "GET"}).headers["X-HTTP-Method-Override"] == "GET"
    )


def test_but_never_into_anything_else() -> None:
    assert (
        "X-HTTP-Method-Override"
        not in build_request(override(default="GET"), {"X-HTTP-Method-Override": "DELETE"}).headers
    )
    for schema in ({"type": "string"}, {"default": "DELETE"}, {"enum": ["PUT"]}):
        assert one_tool("/a", override(**schema), "get").input_schema["properties"] == {}


def body(media_type: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media_type: {}}}}


@pytest.mark.parametrize(
    ("media_type", "given", "told"),
    [
        ("image/*", {"base64": "AA==", "contentType": "image/png"}, "image/png"),
        ("text/*", "x", "text/plain; charset=utf-8"),
        ("video/*", {"base64": "AA==", "contentType": "Video/MP4"}, "Video/MP4"),
    ],
)
def test_a_range_of_media_types_is_kept_to(media_type: str, given: Any, told: str) -> None:
    assert build_request(body(media_type), {"body": given}).headers["Content-Type"] == told


@pytest.mark.parametrize("given", ["x", {"base64": "AA=="}, {"base64": "AA==", "contentType": "text/html"}])
def test_a_body_out_of_the_range_is_refused_with_what_would_do(given: Any) -> None:
    with pytest.raises(ToolError, match=r"image/\*"):
        build_request(body("image/*"), {"body": given})


BASE = {
    "components": {
        "schemas": {
            "Base": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "next": {"$ref": "#/components/schemas/Base"}},
                "additionalProperties": False,
            }
        }
    }
}
MORE = {"$ref": "#/components/schemas/Base", "properties": {"b": {"type": "string"}}, "required": ["b"]}


def test_what_stands_beside_a_reference_counts_since_3_1() -> None:
    loaded = load({"/a": {"post": {"requestBody": json_body(MORE, required=True)}}}, openapi="3.1.0", **BASE)
    assert set(loaded.tools[0].input_schema["properties"]) == {"a", "next", "b", "body"}
    assert loaded.tools[0].input_schema["required"] == ["b"]
    assert accepts(loaded, {"a": 1, "b": "x"})
    assert not accepts(loaded, {"a": 1})
    assert not accepts(loaded, {"a": "x", "b": "x"})


def test_and_not_before() -> None:
    loaded = load({"/a": {"post": {"requestBody": json_body(MORE, required=True)}}}, openapi="3.0.3", **BASE)
    assert accepts(loaded, {"a": 1})
    assert not accepts(loaded, {"a": 1, "b": "x"})


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_reference_that_may_be_null_is_understood_in_every_version(version: str) -> None:
    part = {"type": "object", "properties": {"base": {"$ref": "#/components/schemas/Base", "nullable": True}}}
    loaded = load({"/a": {"post": {"requestBody": json_body(part)}}}, openapi=version, **BASE)
    assert accepts(loaded, {"base": None}) and accepts(loaded, {"base": {"a": 1}})
    assert not accepts(loaded, {"base": {"a": "x"}})


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "string", "pattern": "/^[a-z]+$/i"}, "abc", "1"),
        ({"type": "string", "pattern": "/^[a-z]+$/"}, "abc", "/abc/"),
        ({"type": "string", "pattern": "^/a/$"}, "/a/", "a"),
        ({"type": "string", "minLength": 9, "maxLength": 3}, "abcd", 1),
        ({"type": "integer", "minimum": 9, "maximum": 3}, 5, "x"),
    ],
)
def test_words_that_no_value_could_fit_are_read_as_they_were_meant(schema: Any, right: Any, wrong: Any) -> None:
    loaded = load({"/a": {"get": {"parameters": [{"name": "q", "in": "query", "schema": schema}]}}})
    assert accepts(loaded, {"q": right})
    assert not accepts(loaded, {"q": wrong})


def test_a_query_parameter_that_the_path_names_is_sent_once() -> None:
    parameters = [{"name": "q", "in": "query", "required": True, "schema": {"type": "string"}}]
    tool = one_tool("/search?q={q}&kind=all", {"parameters": parameters})
    assert tool.input_schema["required"] == ["q"] and list(tool.input_schema["properties"]) == ["q"]
    assert build("https://x.example", tool.binding, {"q": "a&b"}, "").url == "https://x.example/search?q=a%26b&kind=all"


def test_a_parameter_replaces_what_the_path_says_of_the_same_name() -> None:
    parameters = [{"name": "view", "in": "query", "schema": {"type": "string"}}]
    tool = one_tool("/status?view=short&kind=all", {"parameters": parameters})
    assert build("https://x.example", tool.binding, {}, "").url.endswith("/status?view=short&kind=all")
    assert build("https://x.example", tool.binding, {"view": "long"}, "").url.endswith("/status?kind=all&view=long")


@pytest.mark.parametrize(("value", "written"), [("a/b", "a%2Fb"), (5, "5"), ({"a": "b"}, "%7B%22a%22%3A%22b%22%7D")])
def test_text_of_json_content_stands_in_a_path_without_quotes(value: Any, written: str) -> None:
    parameters = [{"name": "id", "in": "path", "required": True, "content": {"application/json": {"schema": {}}}}]
    tool = one_tool("/a/{id}", {"parameters": parameters})
    assert build("https://x.example", tool.binding, {"id": value}, "").url == f"https://x.example/a/{written}"


def test_a_media_type_without_its_slash_is_json_all_the_same() -> None:
    content = {"applicationjson;version=2": {"schema": {"type": "object", "properties": {"a": {}}}}}
    outgoing = build_request({"requestBody": {"content": content}}, {"a": 1})
    assert (outgoing.body, outgoing.headers["Content-Type"]) == (b'{"a":1}', "application/json")


def test_a_form_is_made_of_fields_whatever_its_schema_says() -> None:
    content = {"application/x-www-form-urlencoded": {"schema": {"type": "array", "items": {"type": "object"}}}}
    outgoing = build_request({"requestBody": {"required": True, "content": content}}, {"tasks[0][name]": "cut"})
    assert outgoing.body == b"tasks%5B0%5D%5Bname%5D=cut"


@pytest.mark.parametrize("server", ["//api.example.com/v1", "api.example.com/v1"])
def test_a_server_without_a_scheme_is_found_also_from_a_file(server: str) -> None:
    text = json.dumps(document({"/a": {"get": {}}}, servers=[{"url": server}])).encode()
    loaded = build_catalog(SourceRequest(location="/somewhere/api.json"), text, "/somewhere/api.json")
    assert loaded.config["base_url"] == "https://api.example.com/v1"


def test_a_relative_server_of_an_operation_is_relative_to_the_others_when_the_document_is_a_file() -> None:
    text = b"""
openapi: 3.0.0
servers: [{url: "https://api.example.com/v1"}]
paths:
  /a: {servers: [{url: /v2}], get: {}}
  /b: {get: {servers: [{url: ../v3}]}}
"""
    loaded = build_catalog(SourceRequest(location="/somewhere/api.yaml"), text, "/somewhere/api.yaml")
    assert [tool.binding["server"] for tool in loaded.tools] == [
        "https://api.example.com/v2",
        "https://api.example.com/v3",
    ]


def test_yaml_dates_and_switches_stay_the_words_they_were() -> None:
    tools = {tool.binding["operation"]: tool for tool in fixture("yaml-habits.yml").tools}
    fields = tools["POST /anchored"].input_schema["properties"]
    assert fields["date"]["enum"] == ["2020-01-01", "2020-02-02"]
    assert fields["yes"]["enum"] == ["yes", "no", "on", "off"]
    assert tools["GET /anchored"].input_schema["properties"]["limit"]["minimum"] == 1


def test_templated_servers_offer_their_choices() -> None:
    loaded = fixture("newer-schemas.json")
    assert loaded.config["base_url"] == "https://us.example.com:8443/v1"
    assert loaded.config["servers"][0]["variables"]["region"] == ["eu", "us"]
