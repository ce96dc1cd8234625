"""What the built-in kinds store of a source and its tools has the keys that their types name, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.model.source import Loaded
from executor.sources.graphql.loader import build_catalog as build_graphql
from executor.sources.graphql.storage_format import GraphQLBinding, GraphQLConfig
from executor.sources.mcp.storage_format import McpBinding, McpConfig
from executor.sources.mcp.tools.loader import build_catalog as build_mcp
from executor.sources.mcp.tools.tool_list import Listed
from executor.sources.mcp.transports.endpoint import Endpoint
from executor.sources.openapi.kind import build_catalog as build_openapi
from executor.sources.openapi.storage_format import OpenApiBinding, OpenApiConfig
from executor.sources.pagination.page_scheme import PageScheme
from executor.sources.source_request import SourceRequest
from tests.sources.openapi.documents import document

ADDRESS = "https://api.example.com/openapi.json"
LIST = {"type": "object", "properties": {"items": {"type": "array", "items": {}}, "next_cursor": {"type": "string"}}}
OPERATION = {
    "parameters": [
        {"name": "cursor", "in": "query", "schema": {"type": "string"}},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 50}},
        {"name": "api_key", "in": "query", "required": True, "schema": {"type": "string"}},
    ],
    "responses": {"200": {"description": "", "content": {"application/json": {"schema": LIST}}}},
}
SCHEMA = """
type Query { users(first: Int, after: String): Users user(id: ID!): User }
type Mutation { add(name: String): User }
type Users { nodes: [User] pageInfo: PageInfo! }
type PageInfo { hasNextPage: Boolean! endCursor: String }
type User { id: ID! }
"""


def openapi() -> Loaded:
    data = json.dumps(document({"/list": {"get": OPERATION}}, servers=[{"url": "https://api.example.com"}])).encode()
    return build_openapi(SourceRequest(location=ADDRESS), data, ADDRESS)


def graphql() -> Loaded:
    return build_graphql(SourceRequest(namespace="blog"), SCHEMA.encode(), "https://api.example.com/graphql", [])


def mcp() -> Loaded:
    wrapped = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    listed = [{"name": "say", "inputSchema": {"type": "object"}, "outputSchema": wrapped}]
    request = SourceRequest(namespace="said", options={"callSeconds": 5})
    every = Listed(
        [*listed, {"name": "slow", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}],
        resources=[{"uri": "a://b"}],
        templates=[{"uriTemplate": "a://{b}"}],
        prompts=[{"name": "ask"}],
    )
    return build_mcp(request, Endpoint("stdio", command=("say",), environment=(("A", None),)), {"name": "Say"}, every)


@pytest.mark.parametrize(
    ("load", "config", "binding"),
    [
        (openapi, OpenApiConfig, OpenApiBinding),
        (graphql, GraphQLConfig, GraphQLBinding),
        (mcp, McpConfig, McpBinding),
    ],
)
def test_what_is_stored_has_the_keys_of_its_type(load: Any, config: Any, binding: Any) -> None:
    loaded = load()
    assert loaded.config.keys() <= config.__annotations__.keys()
    assert loaded.tools
    for tool in loaded.tools:
        assert tool.binding.keys() <= binding.__annotations__.keys()
        assert tool.binding.get("all", {}).keys() <= PageScheme.__annotations__.keys()
        assert isinstance(tool.known_keys["operation"], str)


def test_lists_are_among_them() -> None:
    assert [sum("all" in tool.known_keys for tool in load().tools) for load in (openapi, graphql, mcp)] == [1, 1, 0]
