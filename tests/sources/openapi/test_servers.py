"""Which of a document's servers is called, and what it says about credentials."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.errors import DocumentInvalid
from executor.model.source import Loaded
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest
from tests.sources.openapi.documents import LOCATION, document, load

REGION = {"enum": ["eu", "us"], "default": "eu"}
SERVERS = [
    {"url": "https://{region}.example.com/{version}", "variables": {"region": REGION, "version": {"default": "v1"}}},
    {"url": "https://sandbox.example.com", "description": "Sandbox", "name": "sandbox"},
]


def loaded_with(options: dict[str, Any], servers: Any = None) -> Loaded:
    text = json.dumps(document({"/a": {"get": {}}}, servers=servers or SERVERS)).encode()
    return build_catalog(SourceRequest(location=LOCATION, options=options), text, LOCATION)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "https://eu.example.com/v1"),
        ({"variables": {"region": "us"}}, "https://us.example.com/v1"),
        ({"variables": {"version": "v2"}}, "https://eu.example.com/v2"),
        ({"server": 1}, "https://sandbox.example.com"),
        ({"server": "Sandbox"}, "https://sandbox.example.com"),
        ({"server": "sandbox"}, "https://sandbox.example.com"),
        ({"server": "https://sandbox.example.com"}, "https://sandbox.example.com"),
    ],
)
def test_a_server_and_its_variables_can_be_chosen(options: dict[str, Any], expected: str) -> None:
    assert loaded_with(options).config["base_url"] == expected


@pytest.mark.parametrize(
    ("options", "hint"),
    [({"variables": {"region": "mars"}}, "eu, us"), ({"server": "nowhere"}, "sandbox"), ({"server": 7}, "sandbox")],
)
def test_a_choice_that_does_not_exist_names_those_that_do(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(DocumentInvalid) as caught:
        loaded_with(options)
    assert hint in caught.value.hint


def test_a_variable_can_not_lead_to_another_scheme() -> None:
    servers = [{"url": "{scheme}://example.com", "variables": {"scheme": {"default": "file"}}}]
    with pytest.raises(Exception, match="scheme"):
        loaded_with({}, servers)


def test_a_variable_without_a_default_takes_the_first_allowed_value() -> None:
    assert (
        loaded_with({}, [{"url": "https://{r}.x.example", "variables": {"r": {"enum": ["a", "b"]}}}]).config["base_url"]
        == "https://a.x.example"
    )


def test_what_there_is_to_choose_from_is_kept() -> None:
    assert loaded_with({}).config["servers"][0] == {
        "url": SERVERS[0]["url"],
        "variables": {"region": ["eu", "us"], "version": []},
    }


SCHEMES = {
    "key": {"type": "apiKey", "in": "query", "name": "api_key", "description": "Ask us"},
    "bearer": {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
    "basic": {"type": "http", "scheme": "basic"},
    "digest": {"type": "http", "scheme": "digest"},
    "oauth": {
        "type": "oauth2",
        "flows": {"clientCredentials": {"tokenUrl": "https://a/t", "scopes": {"read": "", "write": ""}}},
    },
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://a/.well-known/openid-configuration"},
    "tls": {"type": "mutualTLS"},
    "odd": {"type": "magic"},
    "linked": {"$ref": "#/components/securitySchemes/basic"},
    "broken": {"$ref": "#/nope"},
}


def test_every_security_scheme_is_recognised() -> None:
    found = load({"/a": {"get": {}}}, components={"securitySchemes": SCHEMES}).config["auth"]
    assert [(one["name"], one["type"], one["details"]) for one in found] == [
        ("key", "apiKey", {"in": "query", "name": "api_key"}),
        ("bearer", "http-bearer", {"bearerFormat": "JWT"}),
        ("basic", "http-basic", {}),
        ("digest", "unknown", {"scheme": "digest"}),
        ("oauth", "oauth2", {"flows": {"clientCredentials": {"tokenUrl": "https://a/t", "scopes": ["read", "write"]}}}),
        ("oidc", "openIdConnect", {"openIdConnectUrl": "https://a/.well-known/openid-configuration"}),
        ("tls", "mutualTLS", {}),
        ("odd", "unknown", {"type": "magic"}),
        ("linked", "http-basic", {}),
    ]
    assert found[0]["description"] == "Ask us"


def test_each_operation_says_what_it_wants() -> None:
    paths = {
        "/a": {
            "get": {},
            "post": {"security": []},
            "put": {"security": [{"oauth": ["write"]}, {}]},
            "patch": {"security": None},
        },
    }
    loaded = load(paths, security=[{"key": [], "bearer": []}], components={"securitySchemes": SCHEMES})
    wanted = {tool.binding["method"]: tool.binding["security"] for tool in loaded.tools}
    assert wanted == {
        "GET": [{"key": [], "bearer": []}],
        "POST": [],
        "PUT": [{"oauth": ["write"]}, {}],
        "PATCH": [],
    }
