"""A service over HTTP, for what arrives there besides the arguments."""

from __future__ import annotations

from tests.sources.upstream import Reply, Upstream, as_json

TEXT = {"type": "string"}
DONE = {"200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}}


def describe(upstream: Upstream, elsewhere: str, answer: str) -> None:
    """A read, a write, and a read that leads elsewhere."""
    query = [{"name": "text", "in": "query", "schema": TEXT}]
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"text": TEXT}}}}}
    more = {"tags": ["n"], "responses": DONE}
    upstream.routes["/openapi.json"] = as_json(
        {
            "openapi": "3.1.0",
            "info": {"title": "Wary", "version": "1"},
            "servers": [{"url": upstream.url}],
            "paths": {
                "/look": {"get": {"operationId": "look", "parameters": query, **more}},
                "/move": {"get": {"operationId": "move", **more}},
                "/notes": {"post": {"operationId": "add", "requestBody": body, **more}},
            },
        }
    )
    upstream.routes["/look"] = upstream.routes["/notes"] = as_json({"answer": answer})
    upstream.routes["/move"] = Reply(302, b"", {"Location": f"{elsewhere}/landed"})
