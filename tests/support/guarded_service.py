"""A service that shows nothing without a credential: an OpenAPI document, a GraphQL endpoint and an MCP server."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from graphql import build_schema, graphql_sync

from tests.support.loopback import Answer, Authority

TOKEN = "canary-77aa-token"
SCHEMA = build_schema("type Query { me: String! }")
METADATA = "/.well-known/oauth-protected-resource"


@dataclass
class GuardedService:
    """Takes the `token`, or with an `authority` the tokens of that. `silent` says nothing about what it takes.

    A request with a wrong token is answered once `refuses` is set. `api` is where the document sends calls. `seen`
    are path and `Authorization` of every request.
    """

    origin: str
    authority: Authority | None = None
    token: str = TOKEN
    status: int = 401
    silent: bool = False
    api: str = ""
    schemes: dict[str, Any] = field(default_factory=dict)
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    refuses: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.refuses.set()

    def sent_to(self, path: str) -> list[str]:
        return [authorization for _, target, authorization in self.seen if target == path]

    def answer(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        path, authorization = urlsplit(target).path, headers.get("authorization", "")
        self.seen.append((method, path, authorization))
        if path == METADATA and self.authority is not None:
            published = {"resource": self.origin, "authorization_servers": [self.authority.issuer]}
            return 200, {**published, "scopes_supported": ["read"]}, {}
        if path.startswith("/.well-known/"):
            return 404, {}, {}
        if not self.knows(authorization.removeprefix("Bearer ")):
            if authorization:
                self.refuses.wait(120)
            return self.status, {"got": authorization}, {} if self.silent else {"WWW-Authenticate": self.challenge}
        answers = {"/openapi.json": self.document, "/api": self.document, "/api/me": lambda: {"name": "Ann"}}
        if path in answers:
            return 200, answers[path](), {}
        if method == "POST" and path in ("/graphql", "/mcp"):
            return (graphql if path == "/graphql" else mcp)(json.loads(body))
        return 404, {}, {}

    def knows(self, token: str) -> bool:
        return self.authority.ledger.token(token) is not None if self.authority is not None else token == self.token

    @property
    def challenge(self) -> str:
        return f'Bearer resource_metadata="{self.origin}{METADATA}"' if self.authority is not None else "Bearer"

    def document(self) -> dict[str, Any]:
        me = {"operationId": "getMe", "tags": ["me"], "responses": {"200": {"description": "me"}}}
        return {
            "openapi": "3.1.0",
            "info": {"title": "Guarded things", "version": "1"},
            "servers": [{"url": self.api or f"{self.origin}/api"}],
            "components": {"securitySchemes": self.schemes},
            "security": [{name: []} for name in self.schemes],
            "paths": {"/me": {"get": me}},
        }


def graphql(asked: dict[str, Any]) -> Answer:
    if "query" not in asked:
        return 400, {"errors": [{"message": "there is no query"}]}, {}
    result = graphql_sync(SCHEMA, asked["query"], root_value={"me": "Ann"})
    return 200, result.formatted, {}


def mcp(asked: dict[str, Any]) -> Answer:
    if "id" not in asked:
        return 202, "", {}
    text = {"type": "text", "text": "Ann"}
    answers: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "Guarded server", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "me", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [text]},
    }
    if asked["method"] not in answers:
        return 200, {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no such method"}}, {}
    return 200, {"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}, {}
