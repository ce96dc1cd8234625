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
from executor.sources.openapi.documents.detection import recognise
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
HERE = "bakery.json"
BASE = {"key": "baseUrl", "value": "https://api.bakery.net/v1"}


def load(*items: Any, wrapped: bool = False, **parts: Any) -> Loaded:
    root = {"info": {"name": "Bakery", "schema": SCHEMA}, "variable": [BASE], "item": list(items), **parts}
    text = json.dumps({"collection": root} if wrapped else root).encode()
    return build_catalog(SourceRequest(location=HERE), text, HERE)


def request_item(url: Any, method: str = "GET", name: str = "One", **parts: Any) -> dict[str, Any]:
    return {"name": name, "request": {"method": method, "url": url, **parts}}


def only(loaded: Loaded) -> Tool:
    assert not loaded.skipped
    (tool,) = loaded.tools
    return tool


def request_of(tool: Tool, arguments: dict[str, Any] | None = None) -> Outgoing:
    return build(tool.binding["server"], tool.binding, arrange(tool, arguments or {}), "")


def test_folders_are_groups_and_names_of_requests_name_tools() -> None:
    folder = {"name": "Cakes", "item": [request_item("{{baseUrl}}/cakes", name="List all cakes")]}
    loaded = load(folder, request_item("{{baseUrl}}/status", name="Status"))
    assert {tool.path for tool in loaded.tools} == {"bakery.cakes.listAllCakes", "bakery.status.status"}


def test_folders_of_the_same_name_are_distinguished_by_what_they_belong_to() -> None:
    def shop(name: str) -> dict[str, Any]:
        inner = {"name": "Cakes", "item": [request_item("{{baseUrl}}/" + name.lower(), name="List")]}
        return {"name": name, "item": [inner]}

    assert {tool.path for tool in load(shop("North"), shop("South")).tools} == {
        "bakery.northCakes.list",
        "bakery.southCakes.list",
    }


@pytest.mark.parametrize(
    ("url", "arguments", "sent"),
    [
        ("{{baseUrl}}/cakes/:id", {"id": 7}, "https://api.bakery.net/v1/cakes/7"),
        ("{{baseUrl}}/cakes/{{cake id}}", {"cake_id": "a/b"}, "https://api.bakery.net/v1/cakes/a%2Fb"),
        ("{{ baseUrl }}/cakes/:id/price.json", {"id": 7}, "https://api.bakery.net/v1/cakes/7/price.json"),
        ("https://other.net/x?a=1", {"a": "2"}, "https://other.net/x?a=2"),
        ("other.net/x", {}, "https://other.net/x"),
        ("localhost:8080/x", {}, "http://localhost:8080/x"),
        ({"raw": "{{baseUrl}}/a?b=1", "query": [{"key": "b", "value": "1"}]}, {}, "https://api.bakery.net/v1/a"),
        ({"protocol": "https", "host": ["a", "example", "com"], "path": ["b", ":c"]}, {"c": 1}, "https://a.example.com/b/1"),
    ],
)  # fmt: skip
def test_addresses_in_every_spelling(url: Any, arguments: dict[str, Any], sent: str) -> None:
    assert request_of(only(load(request_item(url))), arguments).url == sent


def test_requests_to_another_service_keep_its_address() -> None:
    loaded = load(
        request_item("{{baseUrl}}/a", name="a"),
        request_item("{{baseUrl}}/b", name="b"),
        request_item("https://x.example.com/c", name="c"),
    )
    assert loaded.config["base_url"] == "https://api.bakery.net"
    assert [request_of(tool).url for tool in loaded.tools] == [
        "https://api.bakery.net/v1/a",
        "https://api.bakery.net/v1/b",
        "https://x.example.com/c",
    ]


def test_an_unknown_address_is_asked_for_by_name() -> None:
    with pytest.raises(DocumentInvalid, match="shop_url") as raised:
        load(request_item("{{shop url}}/a"))
    assert "variables.shop_url" in raised.value.hint


def test_several_saved_requests_of_one_address_are_a_tool_each() -> None:
    loaded = load(
        request_item("{{baseUrl}}/cakes", "POST", "Order a cake", body={"mode": "raw", "raw": '{"cake": "plum"}'}),
        request_item("{{baseUrl}}/cakes", "POST", "Order many", body={"mode": "raw", "raw": '{"cakes": ["plum"]}'}),
        request_item("{{baseUrl}}/cakes", "POST", "Order many"),
    )
    assert len({tool.path for tool in loaded.tools}) == 3
    assert {request_of(tool).url for tool in loaded.tools} == {"https://api.bakery.net/v1/cakes"}


def test_parameters_of_a_query_are_optional_and_show_an_example() -> None:
    query = [
        {"key": "kind", "value": "plum", "description": "Which one"},
        {"key": "page", "value": "2", "disabled": True},
        {"key": "token", "value": "{{secret}}"},
    ]
    tool = only(load(request_item({"raw": "{{baseUrl}}/cakes?kind=plum", "query": query})))
    properties = tool.input_schema["properties"]
    assert properties["kind"]["description"] == "Which one Example: plum"
    assert not {"kind", "page"} & set(tool.input_schema.get("required", []))
    assert request_of(tool, {"kind": "plum", "page": 3}).url.endswith("/cakes?kind=plum&page=3")


def test_a_header_with_a_fixed_value_is_required_and_others_are_not() -> None:
    header = [
        {"key": "Bakery-Version", "value": "2024-01-01"},
        {"key": "X-Trace", "value": "{{trace}}"},
        {"key": "Content-Type", "value": "application/json"},
        {"key": "User-Agent", "value": "Postman"},
    ]
    tool = only(load(request_item("{{baseUrl}}/cakes", header=header)))
    assert set(tool.input_schema["properties"]) == {"Bakery-Version", "X-Trace"}
    assert tool.input_schema["required"] == ["Bakery-Version"]


@pytest.mark.parametrize(
    ("body", "arguments", "sent", "media_type"),
    [
        ({"mode": "raw", "raw": '{"name": "plum", "price": {{price}}}'}, {"name": "a", "price": 3},
         b'{"name":"a","price":3}', "application/json"),
        ({"mode": "urlencoded", "urlencoded": [{"key": "name", "value": "plum"}]}, {"name": "a b"},
         b"name=a%20b", "application/x-www-form-urlencoded"),
        ({"mode": "raw", "raw": "<cake/>", "options": {"raw": {"language": "xml"}}}, {"body": "<cake>1</cake>"},
         b"<cake>1</cake>", "application/xml"),
        ({"mode": "graphql", "graphql": {"query": "{ cakes }"}}, {"query": "{ cakes }"},
         b'{"query":"{ cakes }"}', "application/json"),
        ({"mode": "raw", "raw": "{ broken", "options": {"raw": {"language": "json"}}}, {"body": {"a": 1}},
         b'{"a":1}', "application/json"),
    ],
)  # fmt: skip
def test_bodies_of_every_mode(body: Any, arguments: dict[str, Any], sent: bytes, media_type: str) -> None:
    outgoing = request_of(only(load(request_item("{{baseUrl}}/cakes", "POST", body=body))), arguments)
    assert outgoing.body == sent
    assert outgoing.headers["Content-Type"].startswith(media_type)


def test_fields_of_a_body_have_the_types_of_their_examples() -> None:
    raw = json.dumps({"name": "plum", "price": 3.5, "fresh": True, "tags": ["a"], "baker": {"id": "{{baker}}"}})
    tool = only(load(request_item("{{baseUrl}}/cakes", "POST", body={"mode": "raw", "raw": raw})))
    properties = tool.input_schema["properties"]
    assert [properties[name].get("type") for name in ("name", "price", "fresh", "tags")] == [
        "string", "number", "boolean", "array",
    ]  # fmt: skip
    assert "type" not in properties["baker"]["properties"]["id"]


BEARER = {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]}


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        (BEARER, ("http-bearer", {})),
        ({"type": "basic", "basic": {"username": "a", "password": "b"}}, ("http-basic", {})),
        ({"type": "apikey", "apikey": [{"key": "key", "value": "X-Key"}, {"key": "in", "value": "header"}]},
         ("apiKey", {"in": "header", "name": "X-Key"})),
        ({"type": "apikey", "apikey": {"key": "token", "in": "query"}}, ("apiKey", {"in": "query", "name": "token"})),
        ({"type": "oauth2", "oauth2": []}, ("http-bearer", {})),
        ({"type": "awsv4", "awsv4": []}, ("unknown", {"type": "awsv4"})),
    ],
)  # fmt: skip
def test_authorization_becomes_a_security_scheme(auth: Any, expected: tuple[str, Any]) -> None:
    loaded = load(request_item("{{baseUrl}}/cakes"), auth=auth)
    (scheme,) = loaded.config["auth"]
    assert (scheme["type"], scheme["details"]) == expected
    assert loaded.tools[0].binding["security"] == [{scheme["name"]: []}]


def test_oauth_endpoints_of_a_collection_are_kept() -> None:
    values = {"authUrl": "https://id.net/a", "accessTokenUrl": "https://id.net/t", "scope": "read write"}
    (scheme,) = load(request_item("{{baseUrl}}/cakes"), auth={"type": "oauth2", "oauth2": values}).config["auth"]
    flow = scheme["details"]["flows"]["authorizationCode"]
    assert (flow["tokenUrl"], flow["scopes"]) == ("https://id.net/t", ["read", "write"])


def test_a_request_may_need_less_than_its_collection() -> None:
    open_one = request_item("{{baseUrl}}/status", name="Status", auth={"type": "noauth"})
    tools = load(request_item("{{baseUrl}}/cakes", name="Cakes"), open_one, auth=BEARER).tools
    assert [tool.binding["security"] for tool in tools] == [[{"bearer": []}], []]


def test_a_token_in_a_header_is_a_credential_and_not_an_argument() -> None:
    loaded = load(request_item("{{baseUrl}}/cakes", header=[{"key": "Authorization", "value": "Bearer {{token}}"}]))
    assert [one["type"] for one in loaded.config["auth"]] == ["http-bearer"]
    assert not loaded.tools[0].input_schema["properties"]


def test_an_export_of_postmans_api_is_unwrapped_and_odd_methods_are_sent() -> None:
    tool = only(load(request_item("{{baseUrl}}/cakes", "PURGE"), wrapped=True))
    assert request_of(tool).method == "PURGE"
    assert tool.effect == "destructive"


def test_it_is_recognised_by_what_it_says() -> None:
    root = {
        "info": {"name": "Bakery", "schema": SCHEMA},
        "variable": [BASE],
        "item": [request_item("{{baseUrl}}/cakes")],
    }
    found = recognise(SourceRequest(location=HERE), json.dumps(root).encode(), HERE, is_given=True)
    assert found is not None
    assert (found.kind, found.namespace, found.note) == ("openapi", "bakery", "a Postman collection")


@pytest.mark.parametrize(
    "items",
    [
        (),
        (7, None, "x"),
        ({"name": "Empty", "item": []},),
        ({"name": None, "request": None},),
        ({"name": "A", "item": {"name": "B"}},),
    ],
)
def test_a_collection_without_requests_is_refused_with_a_reason(items: tuple[Any, ...]) -> None:
    with pytest.raises(DocumentInvalid) as raised:
        load(*items)
    assert raised.value.hint


@pytest.mark.parametrize(
    "request_parts",
    [
        {"url": None},
        {"url": {"raw": None, "host": None, "path": 7}},
        {"url": "{{baseUrl}}/a", "header": "X: y", "body": 7, "auth": 7, "description": {"content": None}},
        {"url": "{{baseUrl}}/a", "body": {"mode": "formdata", "formdata": [1, {"key": None}]}},
        {"url": "{{baseUrl}}/a", "body": {"mode": "new"}},
        {"url": {"raw": "{{baseUrl}}/a", "query": {"a": 1}, "variable": 3}},
    ],
)
def test_parts_that_are_not_what_they_should_be_never_break_the_rest(request_parts: dict[str, Any]) -> None:
    odd = {"name": "odd", "request": {"method": "POST", **request_parts}}
    paths = {
        tool.path
        for tool in load(request_item("{{baseUrl}}/cakes", name="List"), request_item("{{baseUrl}}/b"), odd).tools
    }
    assert "bakery.cakes.list" in paths


def test_folders_without_end_are_passed_over() -> None:
    item = request_item("{{baseUrl}}/deep", name="Deep")
    for _ in range(60):
        item = {"name": "more", "item": [item]}
    assert only(load(request_item("{{baseUrl}}/cakes"), item)).path.startswith("bakery.cakes.")
