"""A service with notes that a toolkit is given and a vault that it is not, as an OpenAPI and as a GraphQL source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.sources.graphql.shapes import FORGE, MadeUp
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.surfaces.api.daemon_server import Daemon

PATTERNS = ["office.notes.*", "forge.query.viewer", "forge.graphql.*"]
# What someone in the toolkit must not learn: paths, words of descriptions and arguments of what is outside.
OUTSIDE = ("vault", "combination", "openVault", "repository", "createUser", "createIssue", "executor.sources")


def operation(name: str, tag: str, *, body: dict[str, Any] | None = None) -> dict[str, Any]:
    taken = {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}} if body else {}
    return {"operationId": name, "tags": [tag], "responses": {"200": {"description": "done"}}, **taken}


def document(url: str) -> dict[str, Any]:
    note = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    combination = {"type": "object", "properties": {"combination": {"type": "string"}}, "required": ["combination"]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Office", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            "/notes": {"get": operation("listNotes", "notes"), "post": operation("createNote", "notes", body=note)},
            "/moved": {"get": operation("readMoved", "notes")},
            "/vault": {"get": operation("listVault", "vault")},
            "/vault/open": {"post": operation("openVault", "vault", body=combination)},
        },
    }


@contextmanager
def office(daemon: Daemon) -> Iterator[Upstream]:
    """The sources `office` and `forge`, connected to a daemon."""
    with serving() as upstream:
        routes(upstream)
        for location, namespace in (("/openapi.json", "office"), ("/graphql", "forge")):
            added = daemon.post("/v1/sources", {"location": f"{upstream.url}{location}", "namespace": namespace})
            assert added.status == 201, added.body
        yield upstream


def routes(upstream: Upstream) -> None:
    def notes(got: Got, handler: Handler) -> Reply:
        return as_json([{"text": "milk"}] if got.method == "GET" else {"made": got.json})

    upstream.routes["/openapi.json"] = lambda got, handler: as_json(document(upstream.url))
    upstream.routes["/notes"] = notes
    upstream.routes["/moved"] = Reply(302, b"", {"Location": "/vault"})
    upstream.routes["/vault"] = as_json(["gold"])
    upstream.routes["/vault/open"] = as_json({"opened": True})
    upstream.routes["/graphql"] = MadeUp(FORGE)


def visits_to_vault(upstream: Upstream) -> list[str]:
    """Where the vault was asked for, however that came about."""
    return [got.target for got in upstream.requests if "/vault" in got.target]


def add_toolkit(daemon: Daemon, slug: str, **fields: Any) -> Any:
    made = daemon.post("/v1/toolkits", {"slug": slug, "patterns": PATTERNS, **fields})
    assert made.status == 201, made.body
    return made.json


def create_key(daemon: Daemon, slug: str, name: str) -> str:
    made = daemon.post(f"/v1/toolkits/{slug}/keys", {"name": name})
    assert made.status == 201, made.body
    return str(made.json["token"])


HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def ask_mcp(daemon: Daemon, path: str, token: str, method: str, **params: Any) -> Any:
    """The result of one message, or its error, or the problem that it was refused with."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, **({"params": params} if params else {})}
    answer = daemon.post(path, message, role=token, headers=HEADERS).json
    return answer.get("result", answer.get("error", answer))


def execute(daemon: Daemon, slug: str, token: str, code: str, language: str = "typescript") -> tuple[str, str]:
    """The status and the text that the client is shown."""
    called = ask_mcp(daemon, f"/mcp/toolkits/{slug}", token, "tools/call", name="execute",
                     arguments={"code": code, "language": language})  # fmt: skip
    return called["_meta"]["executor/execution"]["status"], called["content"][0]["text"]
