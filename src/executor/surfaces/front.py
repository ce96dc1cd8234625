"""Everything the daemon serves, behind one door that stands from the first request on.

The server listens long before the database is open and FastAPI is imported. A request waits for the part it needs: for
`/mcp` that is the open database, for everything else the API too.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from executor.errors import Forbidden
from executor.identity.tokens import Tokens
from executor.settings import Settings
from executor.surfaces import internal
from executor.surfaces.api.guard import ACTOR, RUN, SHOWN, Guard
from executor.surfaces.deliveries import Deliveries
from executor.surfaces.open_requests import OpenRequests
from executor.surfaces.refusals import Refusals
from executor.surfaces.waiting import Held
from executor.surfaces.web.pages import Pages
from executor.surfaces.web.paths import is_page

if TYPE_CHECKING:
    from fastapi import FastAPI

    from executor.daemon.executor import Executor
    from executor.identity.callers import Callers
    from executor.surfaces.mcp.endpoint import McpEndpoint

T = TypeVar("T")
MCP_PATHS = ("/mcp", "/mcp/anonymous")
WITH_SLASH = {f"{path}/": path for path in MCP_PATHS}  # as some clients write them


class Front:
    """`release` ends live streams and every wait; after it the server need not wait for anything when it stops."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._guard = Guard(self._route, settings, tokens)
        self._refusals = Refusals(self._guard)
        self._held = Held()
        self._requests = OpenRequests()
        self.deliveries = Deliveries(settings.state_dir)
        self._pages = Pages()
        loop = asyncio.get_running_loop()
        self._callers: asyncio.Future[Callers] = loop.create_future()
        self._mcp: asyncio.Future[McpEndpoint] = loop.create_future()
        self.api: asyncio.Future[FastAPI] = loop.create_future()

    async def load(self, executor: Executor) -> None:
        """Until everything that an open executor can do is served."""
        from executor.surfaces.mcp.endpoint import McpEndpoint

        self._requests.open(executor.callers)
        executor.feed.listen(self._requests.on_event)
        self._callers.set_result(executor.callers)
        self._refusals.open(executor)
        self._guard.runs = executor.remote_runs
        self._mcp.set_result(McpEndpoint(executor, self._held))
        app = await asyncio.to_thread(importlib.import_module, "executor.surfaces.api.app")
        self.api.set_result(app.create_app(executor, self._held))

    def release(self) -> None:
        self._held.close()

    async def close(self) -> None:
        self._held.close()
        self._requests.close()
        if self._mcp.done():
            await self._mcp.result().close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if path := WITH_SLASH.get(scope.get("path", "")):
            scope = {**scope, "path": path}
        await self._refusals(scope, receive, self.deliveries.sending(scope, send))

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/healthz" and scope["method"] == "GET":
            await healthy()(scope, receive, send)
            return
        if is_page(scope["method"], scope["path"]):
            await self._pages(scope, receive, send)
            return
        if RUN in scope:
            await internal.tool_call(self._held, scope, receive, send)
            return
        if SHOWN not in scope:
            await self._serve(scope, receive, send)
            return
        request = await self._requests.add(await self._loaded(self._callers), scope[SHOWN], scope)
        scope[ACTOR] = request.actor
        try:
            if request.actor.via == "bearer" and scope["path"] not in MCP_PATHS:
                raise Forbidden("a token of an authorization server is for /mcp alone", hint="use a key for the API")
            await self._serve(scope, request.receiving(receive), request.sending(scope, receive, send))
        finally:
            self._requests.remove(request)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in MCP_PATHS:
            await (await self._loaded(self._mcp))(scope, receive, send)
        else:
            await (await self._loaded(self.api))(scope, receive, send)

    async def _loaded(self, part: asyncio.Future[T]) -> T:
        return part.result() if part.done() else await self._held.hold(_arrival(part))


async def _arrival(part: asyncio.Future[T]) -> T:
    return await asyncio.shield(part)


def healthy() -> Response:
    return Response(b'{"ok":true}', media_type="application/json")
