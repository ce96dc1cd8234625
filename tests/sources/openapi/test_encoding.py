"""How values are written in each place and style."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.errors import ToolError
from executor.network.client import Outgoing
from executor.sources.openapi.calls.arguments import arrange
from executor.sources.openapi.calls.request import build
from tests.sources.openapi.documents import one_tool


def request(place: str, parameter: dict[str, Any], value: Any, path: str = "/x") -> Outgoing:
    tool = one_tool(path, {"parameters": [{"name": "p", "in": place, **parameter}]})
    return build("https://a.example", tool.binding, arrange(tool, {"p": value}), "")


LIST, OBJECT = ["a", "b/c"], {"r": 1, "g": "x,y"}


@pytest.mark.parametrize(
    ("parameter", "value", "written"),
    [
        ({}, "a,b", "a%2Cb"),
        ({}, LIST, "a,b%2Fc"),
        ({"explode": True}, LIST, "a,b%2Fc"),
        ({}, OBJECT, "r,1,g,x%2Cy"),
        ({"explode": True}, OBJECT, "r=1,g=x%2Cy"),
        ({"style": "label"}, "a.b", ".a.b"),
        ({"style": "label"}, LIST, ".a,b%2Fc"),
        ({"style": "label", "explode": True}, LIST, ".a.b%2Fc"),
        ({"style": "label"}, OBJECT, ".r,1,g,x%2Cy"),
        ({"style": "label", "explode": True}, OBJECT, ".r=1.g=x%2Cy"),
        ({"style": "matrix"}, "a", ";p=a"),
        ({"style": "matrix"}, LIST, ";p=a,b%2Fc"),
        ({"style": "matrix", "explode": True}, LIST, ";p=a;p=b%2Fc"),
        ({"style": "matrix"}, OBJECT, ";p=r,1,g,x%2Cy"),
        ({"style": "matrix", "explode": True}, OBJECT, ";r=1;g=x%2Cy"),
        ({"style": "unheard-of"}, "a", "a"),
        ({"content": {"application/json": {}}}, {"a": "/"}, "%7B%22a%22%3A%22%2F%22%7D"),
    ],
)
def test_path_values_are_written_in_their_style(parameter: dict[str, Any], value: Any, written: str) -> None:
    assert request("path", parameter, value, "/x/{p}/y").url == f"https://a.example/x/{written}/y"


@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
@given(st.text(min_size=1).filter(lambda text: text not in (".", "..") and text.isprintable()))
def test_no_style_lets_a_path_value_leave_its_segment(style: str, value: str) -> None:
    try:
        url = request("path", {"style": style}, value, "/x/{p}/y").url
    except ToolError:
        return
    assert url.startswith("https://a.example/x/") and url.endswith("/y")
    assert "/" not in url.removeprefix("https://a.example/x/").removesuffix("/y")
    assert unquote(url).endswith(f"{value}/y")


@pytest.mark.parametrize(
    ("parameter", "value", "written"),
    [
        ({"style": "spaceDelimited", "explode": False}, OBJECT, "p=r%201%20g%20x%2Cy"),
        ({"style": "pipeDelimited", "explode": False}, OBJECT, "p=r%7C1%7Cg%7Cx%2Cy"),
        ({"style": "deepObject"}, {"a": [{"b": 1}, {"b": 2}]}, "p%5Ba%5D%5B0%5D%5Bb%5D=1&p%5Ba%5D%5B1%5D%5Bb%5D=2"),
        ({"style": "deepObject"}, ["a", "b"], "p%5B%5D=a&p%5B%5D=b"),
        ({"style": "deepObject"}, "a", "p=a"),
        ({"allowReserved": True}, "a/b:c?d@e!f", "p=a/b:c?d@e!f"),
        ({"allowReserved": True}, "a%2Fb 50%", "p=a%2Fb%2050%25"),
        ({"allowReserved": True}, "a&b=c#d+[e]", "p=a%26b=c%23d%2B%5Be%5D"),
        ({"allowReserved": True, "explode": False}, ["/", "b"], "p=/,b"),
        ({"content": {"text/plain": {}}}, "a b", "p=a%20b"),
        ({"content": {"application/vnd.x+json": {}}}, [1], "p=%5B1%5D"),
    ],
)
def test_query_values_are_written_in_every_style(parameter: dict[str, Any], value: Any, written: str) -> None:
    assert request("query", parameter, value).url.partition("?")[2] == written


@pytest.mark.parametrize(
    ("parameter", "value", "written"),
    [
        ({}, "a b", "a b"),
        ({}, ["a", "b"], "a,b"),
        ({}, {"r": 1, "g": True}, "r,1,g,true"),
        ({"explode": True}, {"r": 1, "g": True}, "r=1,g=true"),
        ({"content": {"application/json": {}}}, {"a": 1}, '{"a":1}'),
    ],
)
def test_header_values_are_written_in_their_style(parameter: dict[str, Any], value: Any, written: str) -> None:
    assert request("header", parameter, value).headers["p"] == written


@pytest.mark.parametrize(
    ("parameter", "value", "written"),
    [
        ({}, "a;b c", "p=a%3Bb%20c"),
        ({}, ["a", "b"], "p=a; p=b"),
        ({"explode": False}, ["a", "b"], "p=a,b"),
        ({}, {"r": 1, "g": 2}, "r=1; g=2"),
        ({"style": "cookie"}, "a=b", "p=a=b"),
    ],
)
def test_cookies_are_written_in_one_header(parameter: dict[str, Any], value: Any, written: str) -> None:
    assert request("cookie", parameter, value).headers["Cookie"] == written


@pytest.mark.parametrize("value", ["a; session=stolen", "a\r\nX: y", "a\0"])
def test_a_cookie_can_not_set_another(value: str) -> None:
    with pytest.raises(ToolError):
        request("cookie", {"style": "cookie"}, value)
    assert ";" not in request("cookie", {}, value).headers["Cookie"]


def test_a_whole_query_string_is_made_of_an_object() -> None:
    form = {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}}
    assert request("querystring", form, {"a": "x y", "b": [1, 2]}).url == "https://a.example/x?a=x%20y&b=1&b=2"
    assert request("querystring", {"content": {"application/json": {}}}, {"a": 1}).url.endswith("?%7B%22a%22%3A1%7D")


def test_two_spellings_of_a_header_are_one() -> None:
    item = {
        "parameters": [{"name": "X-Trace", "in": "header", "schema": {"type": "string"}}],
        "get": {"parameters": [{"name": "x-trace", "in": "header", "schema": {"type": "integer"}}]},
    }
    from tests.sources.openapi.documents import load

    (tool,) = load({"/x": item}).tools
    assert tool.input_schema["properties"] == {"x-trace": {"type": "integer"}}


@pytest.mark.parametrize(
    ("path", "declared"), [("/x/{+name}", "name"), ("/x/{name*}", "name"), ("/x/{proxy+}", "proxy"), ("/x/{Id}", "id")]
)
def test_unusual_spellings_of_a_path_parameter_are_matched(path: str, declared: str) -> None:
    parameter = {"name": declared, "in": "path", "required": True, "schema": {"type": "integer"}}
    tool = one_tool(path, {"parameters": [parameter]})
    (argument,) = tool.input_schema["properties"]
    assert tool.input_schema["properties"][argument] == {"type": "integer"}
    assert build("https://a.example", tool.binding, {argument: 5}, "").url == "https://a.example/x/5"


def test_a_path_without_a_slash_in_front_gets_one() -> None:
    assert build("https://a.example", one_tool("things", {}).binding, {}, "").url == "https://a.example/things"
