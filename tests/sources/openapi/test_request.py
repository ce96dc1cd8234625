from __future__ import annotations

import contextlib
import re
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.errors import ToolError
from executor.network.client import Outgoing
from executor.sources.openapi.calls.arguments import arrange
from executor.sources.openapi.calls.request import build
from tests.sources.openapi.documents import json_body, one_tool

BASE = "https://api.example.com/v1"


def request(
    path: str, operation: dict[str, Any], arguments: dict[str, Any], method: str = "get", key: str = ""
) -> Outgoing:
    tool = one_tool(path, operation, method)
    return build(BASE, tool.binding, arrange(tool, arguments), key)


def query(parameter: dict[str, Any], value: Any) -> str:
    operation = {"parameters": [{"name": "q", "in": "query", **parameter}]}
    return request("/x", operation, {"q": value}).url.partition("?")[2]


@given(st.text(min_size=1).filter(lambda text: text != "." and ".." not in re.split(r"[/\\]", text)))
def test_a_path_value_never_leaves_its_segment(value: str) -> None:
    if any("\ud800" <= c <= "\udfff" for c in value):
        return
    url = urlsplit(request("/things/{id}/end", {}, {"id": value}).url)
    assert (url.scheme, url.netloc, url.query, url.fragment) == ("https", "api.example.com", "", "")
    version, things, segment, end = url.path.split("/")[1:]
    assert (version, things, end, unquote(segment)) == ("v1", "things", "end", value)


@pytest.mark.parametrize(
    "value", ["..admin", "a../b", "a/b", "%2f", "//evil.com", "@evil.com", "a;b", "a?b=c", "a#b", "\\", "..%2f"]
)
def test_known_tricks_are_only_text(value: str) -> None:
    url = request("/things/{id}", {}, {"id": value}).url
    assert url.startswith(f"{BASE}/things/")
    assert unquote(url.rpartition("/")[2]) == value


@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
@pytest.mark.parametrize("value", ["../b", "b/..", "%2e%2e/b", "b%2f..", "..;b", "%2E./b"])
def test_no_style_lets_a_value_climb_even_if_it_may_hold_reserved_characters(style: str, value: str) -> None:
    parameter = {"name": "x", "in": "path", "required": True, "style": style, "allowReserved": True}
    with contextlib.suppress(ToolError):
        url = request("/a/{x}", {"parameters": [parameter]}, {"x": value}).url
        written = re.split(r"[/\\\\;]", unquote(url.removeprefix(BASE)))
        assert ".." not in written


@pytest.mark.parametrize(
    ("template", "arguments"),
    [
        ("/a/{x}", {"x": ".."}),
        ("/a/{x}", {"x": "."}),
        ("/a/{x}/b", {"x": ""}),
        ("/a/{x}{y}", {"x": ".", "y": "."}),
        ("/a/.{x}", {"x": "."}),
        ("/a/{x}", {"x": []}),
        ("/a/{x}", {"x": "../b"}),
        ("/a/{x}", {"x": "b/.."}),
        ("/a/{x}", {"x": "b\\..\\c"}),
        ("/a/{x}", {"x": "b/../c"}),
        ("/a/{x}", {"x": ["b", "../c"]}),
        ("/a/{x}", {"x": {"b": "../c"}}),
        ("/a/{x}{y}", {"x": ".", "y": "./b"}),
        ("/a/.{x}", {"x": "./b"}),
        ("/a/{x}", {}),
    ],
)
def test_values_that_would_change_the_path_are_refused(template: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError) as caught:
        request(template, {}, arguments)
    assert caught.value.tool_code == "invalid_arguments"


@pytest.mark.parametrize(
    ("parameter", "value", "written"),
    [
        ({}, "a b&c=d", "q=a%20b%26c%3Dd"),
        ({}, True, "q=true"),
        ({}, 3.0, "q=3"),
        ({}, 1.5, "q=1.5"),
        ({}, ["a", "b,c"], "q=a&q=b%2Cc"),
        ({"explode": False}, ["a", "b,c"], "q=a,b%2Cc"),
        ({"style": "spaceDelimited", "explode": False}, ["a", "b"], "q=a%20b"),
        ({"style": "pipeDelimited", "explode": False}, ["a", "b"], "q=a%7Cb"),
        ({}, {"a": 1, "b": None, "c": "x"}, "a=1&c=x"),
        ({"explode": False}, {"a": 1, "c": "x"}, "q=a,1,c,x"),
        ({"style": "deepObject"}, {"a": {"b": 1}, "c": [1, 2]}, "q%5Ba%5D%5Bb%5D=1&q%5Bc%5D%5B%5D=1&q%5Bc%5D%5B%5D=2"),
        ({"content": {"application/json": {"schema": {}}}}, {"a": [1]}, "q=%7B%22a%22%3A%5B1%5D%7D"),
        ({}, None, ""),
        ({}, "", "q="),
        ({}, [], ""),
    ],
)
def test_query_values_are_written_in_their_style(parameter: dict[str, Any], value: Any, written: str) -> None:
    assert query(parameter, value) == written


@given(st.text())
def test_a_query_value_never_adds_another(value: str) -> None:
    if any("\ud800" <= c <= "\udfff" for c in value):
        return
    assert parse_qsl(query({}, value), keep_blank_values=True) == [("q", value)]


@pytest.mark.parametrize("value", ["\ud800", "a\udfff"])
def test_half_a_surrogate_pair_is_refused(value: str) -> None:
    with pytest.raises(ToolError):
        query({}, value)


@pytest.mark.parametrize("value", ["a\r\nHost: evil", "a\nb", "a\0b", "\x7f"])
def test_a_header_value_can_not_start_another_header(value: str) -> None:
    with pytest.raises(ToolError) as caught:
        request("/x", {"parameters": [{"name": "X-A", "in": "header"}]}, {"X-A": value})
    assert caught.value.tool_details["problems"][0]["at"] == "/X-A"


def test_a_template_may_hold_a_query_of_its_own() -> None:
    outgoing = request("/x?action=do#frag", {"parameters": [{"name": "q", "in": "query"}]}, {"q": 1})
    assert outgoing.url == f"{BASE}/x?action=do&q=1"


def test_an_idempotency_key_is_filled_in_unless_given() -> None:
    operation = {"parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}]}
    assert request("/x", operation, {}, "post", "k1").headers["Idempotency-Key"] == "k1"
    given_key = request("/x", operation, {"Idempotency-Key": "mine"}, "post", "k1")
    assert given_key.headers["Idempotency-Key"] == "mine"
    assert "Idempotency-Key" not in request("/x", {}, {}, "post", "k1").headers


OBJECT = {"type": "object", "properties": {"name": {"type": "string"}, "size": {}, "id": {}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("schema", "arguments", "body"),
    [
        (OBJECT, {"id": "1", "name": "a"}, b'{"name":"a"}'),
        (OBJECT, {"id": "1", "body": {"name": "a", "id": 2}}, b'{"name":"a","id":2}'),
        (OBJECT, {"id": "1", "name": "a", "body": {"id": 2}}, b'{"id":2,"name":"a"}'),
        ({"type": "array"}, {"id": "1", "body": [1]}, b"[1]"),
        ({"type": "string"}, {"id": "1", "body": "x"}, b'"x"'),
        ({"type": "object", "additionalProperties": True}, {"id": "1", "any": 1}, b'{"any":1}'),
        ({"type": "object"}, {"id": "1", "any": 1}, b'{"any":1}'),
        ({"type": "object"}, {"id": "1"}, b"{}"),
        ({"type": "object", "properties": {"body": {"type": "string"}}}, {"id": "1", "body": "t"}, b'{"body":"t"}'),
        (
            {"type": "object", "properties": {"body": {"type": "string"}}},
            {"id": "1", "body": {"body": "t"}},
            b'{"body":"t"}',
        ),
        (
            {"type": "object", "properties": {"body": {"type": "object"}}},
            {"id": "1", "body": {"body": {}}},
            b'{"body":{"body":{}}}',
        ),
        (
            {"type": "object", "properties": {"body": {"type": "object"}}},
            {"id": "1", "requestBody": {"body": {}}},
            b'{"body":{}}',
        ),
    ],
)
def test_bodies_are_accepted_flat_whole_or_mixed(schema: Any, arguments: dict[str, Any], body: bytes) -> None:
    outgoing = request("/x/{id}", {"requestBody": json_body(schema, required=True)}, arguments, "put")
    assert outgoing.body == body
    assert outgoing.headers["Content-Type"] == "application/json"


def test_an_optional_body_that_no_one_gave_is_not_sent() -> None:
    outgoing = request("/x", {"requestBody": json_body(OBJECT)}, {}, "post")
    assert outgoing.body is None and "Content-Type" not in outgoing.headers


@pytest.mark.parametrize("arguments", [{"name": "a", "body": {"name": "b"}}, {"name": "a", "body": [1]}])
def test_a_field_given_in_two_places_is_a_contradiction(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError) as caught:
        request("/x", {"requestBody": json_body(OBJECT)}, arguments, "post")
    assert caught.value.tool_code == "invalid_arguments"
