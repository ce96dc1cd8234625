"""The OpenAPI document: FastAPI's, with names, refusals, credentials, tags and examples added."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from fastapi import FastAPI
from starlette.responses import StreamingResponse

from executor.surfaces.api.context import EdgeRoute
from executor.surfaces.api.idempotency import IDEMPOTENCY_KEY
from executor.surfaces.api.openapi.examples import EXAMPLES
from executor.surfaces.api.openapi.operations import answers_list, operation_id, summary
from executor.surfaces.api.openapi.refusals import components, refusals
from executor.surfaces.api.openapi.tags import TAGS
from executor.surfaces.api.sse import LiveStream

DESCRIPTION = """The API of an Executor daemon: run code, find tools, decide about calls, and administer sources, \
policies, credentials and people. The CLI, the web UI and the SDKs use the same routes.

Errors are problem documents (RFC 9457) with a stable `code` and a `hint`. The header `X-Executor-Workspace` chooses \
another workspace of the same person."""
SCHEMES: dict[str, Any] = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token of the operator, an agent or a key."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same tokens."},
    "browser": {"type": "apiKey", "in": "cookie", "name": "executor_session", "description": "A signed-in browser."},
}
STREAM = {"schema": {"type": "string", "description": "Server-sent events, if `Accept` names them."}}


def write_document(app: FastAPI, address: str) -> dict[str, Any]:
    """`address` is that of the daemon that serves it."""
    edges = [one for one in app.routes if isinstance(one, EdgeRoute)]
    routes = {(method.lower(), one.path): one for one in edges for method in one.methods or ()}
    for route in routes.values():
        route.describe_answer()
    document = FastAPI.openapi(app)
    document["info"] |= {
        "description": DESCRIPTION,
        "license": {"name": "MIT", "identifier": "MIT"},
        "contact": {"name": "The operator of this daemon"},
    }
    document["servers"] = [{"url": address, "description": "This daemon"}]
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    document["security"] = [{name: []} for name in SCHEMES]
    document["components"] |= {"securitySchemes": SCHEMES, "responses": components()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            complete(method, path, operation, routes[method, path], document["components"]["schemas"])
    return document


def complete(method: str, path: str, operation: dict[str, Any], route: EdgeRoute, schemas: dict[str, Any]) -> None:
    operation["operationId"] = operation_id(method, path, is_list=answers_list(operation, schemas))
    operation["summary"] = summary(operation.get("description", ""))
    if route.takes_key:
        operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
    if route.needs is None:
        operation["security"] = []
    success = {status: one for status, one in operation["responses"].items() if status.startswith("2")}
    if has_stream(route):
        next(iter(success.values()))["content"]["text/event-stream"] = STREAM
    operation["responses"] = {**success, **refusals(path, operation, is_public=route.needs is None)}
    if example := EXAMPLES.get(operation["operationId"]):
        operation["requestBody"]["content"]["application/json"]["examples"] = {
            name.replace(" ", "-"): {"summary": name, "value": value} for name, value in example.items()
        }


def has_stream(route: EdgeRoute) -> bool:
    """Whether it answers with JSON or with a stream, as the request wants."""
    kinds = get_args(get_type_hints(route.endpoint).get("return"))
    return any(isinstance(one, type) and issubclass(one, (LiveStream, StreamingResponse)) for one in kinds)
