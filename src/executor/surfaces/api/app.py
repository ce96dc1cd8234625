"""The API: `/v1`. The guard is in front of it."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from executor import __version__
from executor.daemon.wiring.executor import Executor
from executor.errors import ExecutorError
from executor.surfaces.api.context import EdgeRoute, needs
from executor.surfaces.api.idempotency import Answers
from executor.surfaces.api.json_response import answer
from executor.surfaces.api.route_modules import NAMES, RouteModules
from executor.surfaces.http import problems
from executor.surfaces.http.guard import Edge
from executor.surfaces.http.long_wait import LongWaits

DEFAULT_ADDRESS = "http://127.0.0.1:8788"  # in a document that no daemon serves


class Api(FastAPI):
    """Has the routes of modules that were requested, and imports others when they are."""

    modules: RouteModules

    @property
    def routes(self) -> list[BaseRoute]:
        """All of them, whatever was requested."""
        self.modules.load(NAMES)
        return self.router.routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if missing := self.modules.missing(scope["path"]):
            await asyncio.to_thread(self.modules.load, missing)
        await super().__call__(scope, receive, send)


def create_app(executor: Executor, held: LongWaits) -> Api:
    app = Api(
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
    app.state.answers = Answers()
    app.router.add_api_route("/v1/openapi.json", document, include_in_schema=False, route_class_override=EdgeRoute)
    app.modules = RouteModules(app.router)
    app.add_middleware(Edge)  # before Starlette's own last resort, which answers in plain text
    app.openapi = lambda: describe_api(app)  # type: ignore[method-assign]  # the documented way to extend the document
    return app


@needs("credential")
async def document(request: Request) -> Response:
    """The OpenAPI document of `/v1`."""
    app: FastAPI = request.app
    return answer(await asyncio.to_thread(app.openapi))


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Written when someone first requests it: few do."""
    if app.openapi_schema is None:
        from executor.surfaces.api.openapi.document import write_document

        executor: Executor | None = app.state.executor
        app.openapi_schema = write_document(app, executor.settings.address if executor else DEFAULT_ADDRESS)
    return app.openapi_schema
