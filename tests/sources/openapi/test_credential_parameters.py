from __future__ import annotations

import json
from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.credentials import Credential
from executor.model.source import Source
from executor.model.tool import Tool
from executor.network.addresses import parse
from executor.network.client import Egress
from executor.sources.openapi.calls.arguments import arrange
from executor.sources.openapi.calls.request import check_names
from executor.sources.openapi.kind import OpenApi
from executor.sources.openapi.tools.credential_parameters import is_credential
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import document, load
from tests.sources.upstream import Upstream, as_json

TEXT = {"type": "string"}
SLACK = "Authentication token. Requires scope: `admin.invites:read`"
KEY = {"key": {"type": "apiKey", "in": "query", "name": "sid"}}


def parameter(name: str, place: str, description: str = "", **parts: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": TEXT, "description": description, **parts}


def form(properties: dict[str, Any], media_type: str = "application/x-www-form-urlencoded", **parts: Any) -> Any:
    schema = {"type": "object", "properties": properties, **parts}
    return {"content": {media_type: {"schema": schema}}, "required": True}


def tool_of(operation: dict[str, Any], method: str = "post", **parts: Any) -> Tool:
    (tool,) = load({"/x": {method: operation}}, **parts).tools
    return tool


@pytest.mark.parametrize(
    ("name", "place", "description"),
    [
        ("token", "header", SLACK),
        ("token", "query", SLACK),
        ("token", "form", SLACK),
        ("api_key", "query", ""),
        ("apiKey", "query", "API key"),
        ("X-API-Key", "header", "Your key"),
        ("key", "query", "API key. Your API key identifies your project and provides you with API access."),
        ("access_token", "query", "OAuth access token."),
        ("oauth_token", "query", "OAuth 2.0 token for the current user."),
        ("PRIVATE-TOKEN", "header", ""),
        ("token", "header", ""),
        ("authorization", "query", "Bearer token"),
    ],
)
def test_a_parameter_for_a_credential_is_recognised(name: str, place: str, description: str) -> None:
    assert is_credential(name, place, description, [])


@pytest.mark.parametrize(
    ("name", "place", "description"),
    [
        ("token", "path", SLACK),
        ("token", "query", "The page token of the last answer"),
        ("token", "query", ""),
        ("key", "query", "The key of the project"),
        ("key", "header", ""),
        ("access_token", "query", "The access token to revoke"),
        ("token", "form", "The token of the device"),
        ("api_key", "form", ""),
        ("apiKey", "query", "The API key to delete"),
        ("next_token", "query", "Authentication is not needed"),
        ("refresh_token", "form", "Refresh token for authentication"),
        ("token", "body", SLACK),
    ],
)
def test_data_is_not_taken_for_a_credential(name: str, place: str, description: str) -> None:
    assert not is_credential(name, place, description, [])


def test_the_documents_own_scheme_decides() -> None:
    parts = {"components": {"securitySchemes": KEY}}
    tool = tool_of({"parameters": [parameter("sid", "query", required=True), parameter("sid", "cookie")]}, **parts)
    assert set(tool.input_schema["properties"]) == {"sid"}  # that of the cookie
    assert [one["in"] for one in tool.binding["credentials"]] == ["query"]


@pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_field_of_a_form_is_hidden_everywhere(media_type: str) -> None:
    fields = {"token": {**TEXT, "description": SLACK}, "channel": TEXT}
    tool = tool_of({"requestBody": form(fields, media_type, required=["token", "channel"])})
    assert "token" not in json.dumps(tool.input_schema)
    assert tool.input_schema["required"] == ["channel"]


@pytest.mark.parametrize("given", [{"token": "made-up"}, {"token": ""}, {"body": {"token": "made-up"}}])
def test_what_an_agent_makes_up_is_refused(given: dict[str, Any]) -> None:
    fields = {"token": {**TEXT, "description": SLACK}, "channel": TEXT}
    tool = tool_of({"requestBody": form(fields, additionalProperties=True)})
    with pytest.raises(ToolError, match="provides it"):
        arrange(tool, {"channel": "C1", **given} if "body" not in given else given)
    hidden = tool_of(
        {
            "parameters": [parameter("token", "header", SLACK)],
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
        }
    )
    if "body" not in given:
        with pytest.raises(ToolError, match="provides it"):
            arrange(hidden, given)


@pytest.mark.parametrize("name", ["TOKEN", "token[]", "Token"])
def test_other_spellings_are_refused_too(name: str) -> None:
    fields = {"token": {**TEXT, "description": SLACK}, "channel": TEXT}
    tool = tool_of({"requestBody": form(fields, additionalProperties=True)})
    with pytest.raises(ToolError):
        check_names(tool.binding, arrange(tool, {"channel": "C1", name: "made-up"}))
    more = {"name": "more", "in": "query", "schema": {"type": "object"}}
    tool = tool_of({"parameters": [parameter("token", "query", SLACK), more]}, "get")
    with pytest.raises(ToolError):
        check_names(tool.binding, arrange(tool, {"more": {name: "made-up"}}))


def test_a_document_without_schemes_asks_for_what_its_parameters_name() -> None:
    loaded = load({"/x": {"get": {"parameters": [parameter("api_key", "query", required=True)]}}})
    assert [one["details"] for one in loaded.config["auth"]] == [{"in": "query", "name": "api_key"}]
    assert loaded.tools[0].binding["security"] == [{"api_key": []}]


def test_other_tools_stay_as_they_were() -> None:
    tool = tool_of({"parameters": [parameter("q", "query")]})
    assert "credentials" not in tool.binding


BEARER = {"slack": {"type": "http", "scheme": "bearer"}}
OPERATION = {
    "operationId": "say",
    "parameters": [parameter("token", "query", SLACK, required=True), parameter("X-Api-Key", "header", required=True)],
    "requestBody": form({"auth": {**TEXT, "description": "API token"}, "text": TEXT}, required=["auth", "text"]),
}


@pytest.mark.parametrize("schemes", [{}, BEARER])
async def test_a_bearer_token_goes_where_the_document_wants_it(
    egress: Egress, upstream: Upstream, schemes: dict[str, Any]
) -> None:
    """Only there, and only if the document knows no header for it; elsewhere nothing of it is sent."""
    parts = {"components": {"securitySchemes": schemes}}
    upstream.routes["/openapi.json"] = as_json(document({"/x": {"post": OPERATION}}, **parts))
    upstream.routes["/x"] = as_json({})
    kind = OpenApi(egress, call_seconds=60.0)
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )
    source, (tool,) = Source("src", "ws", "openapi", "n", "n", loaded.config), loaded.tools
    assert tool.input_schema["required"] == ["text"]
    assert "t0ken" not in await kind.outline(source, tool, {"text": "hi"}, "")
    for origin in (parse(upstream.url).origin, "https://elsewhere.example"):
        headers = (("Authorization", "Bearer t0ken"),)
        credential = Credential("c", origin, "d", headers=headers, values=("t0ken",))
        await kind.invoke(source, tool, {"text": "hi"}, "", credential=credential)
        got = upstream.requests[-1]
        is_here = origin == parse(upstream.url).origin
        assert got.headers.get("authorization") == ("Bearer t0ken" if is_here else None)
        filled = is_here and not schemes
        assert (got.target, got.headers.get("x-api-key")) == (("/x?token=t0ken", "t0ken") if filled else ("/x", None))
        assert got.body.decode() == ("text=hi&auth=t0ken" if filled else "text=hi")
