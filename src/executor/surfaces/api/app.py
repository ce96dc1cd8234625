"""The API: `/v1`. The guard is in front of it."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from executor import __version__
from executor.daemon.wiring.executor import Executor
from executor.errors import ExecutorError
from executor.surfaces.api import oauth_pages
from executor.surfaces.api.context import EdgeRoute, needs
from executor.surfaces.api.json_response import answer
from executor.surfaces.api.routes import audit, configuration, policies, status, well_known
from executor.surfaces.api.routes.catalog import catalog, source_history, sources, templates, tools
from executor.surfaces.api.routes.credentials import connections, oauth, secrets
from executor.surfaces.api.routes.executions import artifacts, events, executions, interactions
from executor.surfaces.api.routes.identity import anonymous, auth, clients, keys, members, oidc, workspaces
from executor.surfaces.http import problems
from executor.surfaces.http.guard import Edge
from executor.surfaces.http.long_wait import LongWaits

NOUNS = (
    executions,
    artifacts,
    interactions,
    sources,
    source_history,
    templates,
    tools,
    catalog,
    policies,
    configuration,
    events,
    audit,
    status,
    secrets,
    oauth,
    oauth_pages,
    connections,
    auth,
    oidc,
    well_known,
    anonymous,
    keys,
    clients,
    workspaces,
    members,
)


def create_app(executor: Executor, held: LongWaits) -> FastAPI:
    app = FastAPI(
        title="Executor",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # looked up for every request otherwise
        exception_handlers={
            ExecutorError: problems.on_executor_error,
            RequestValidationError: problems.on_validation_error,
            HTTPException: problems.on_http_exception,
        },
    )
    app.state.streams = held
    app.state.executor = executor
    for noun in NOUNS:
        app.router.routes.extend(noun.router.routes)  # flat: one list to match and to look at
    app.router.add_api_route("/v1/openapi.json", document, include_in_schema=False, route_class_override=EdgeRoute)
    app.add_middleware(Edge)  # before Starlette's own last resort, which answers in plain text
    app.openapi = lambda: describe_api(app)  # type: ignore[method-assign]  # the documented way to extend the document
    return app


@needs("credential")
async def document(request: Request) -> Response:
    """The OpenAPI document of `/v1`."""
    app: FastAPI = request.app
    return answer(await asyncio.to_thread(app.openapi))


def describe_api(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document plus what it can't know: the bearer tokens that the guard asks for."""
    if app.openapi_schema is None:
        for route in app.routes:
            if isinstance(route, EdgeRoute):
                route.describe_answer()
        app.openapi_schema = FastAPI.openapi(app)
        components = app.openapi_schema.setdefault("components", {})
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema["security"] = [{"token": []}]
    return app.openapi_schema
