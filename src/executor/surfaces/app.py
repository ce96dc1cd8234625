"""Everything the daemon serves, behind one guard that is there from the first request on.

The server listens long before the database is open and FastAPI is imported. A request waits for the part it needs: for
`/mcp` that is the open database, for everything else the API too.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, TypeVar

from starlette.types import Receive, Scope, Send

from executor.errors import Forbidden
from executor.identity.local_tokens import Tokens
from executor.settings import Settings
from executor.surfaces.http import sandbox_callback
from executor.surfaces.http.deliveries import Deliveries
from executor.surfaces.http.guard import ACTOR, RUN, SHOWN, Guard
from executor.surfaces.http.health import healthy
from executor.surfaces.http.long_wait import LongWaits
from executor.surfaces.http.open_requests import OpenRequests
from executor.surfaces.http.page_paths import is_page
from executor.surfaces.http.refusal_audit import RefusalAudit
from executor.surfaces.web.pages import Pages

if TYPE_CHECKING:
    from fastapi import FastAPI

    from executor.daemon.wiring.executor import Executor
    from executor.identity.authentication import Authenticator
    from executor.surfaces.mcp.endpoint import McpEndpoint

T = TypeVar("T")
MCP_PATHS = ("/mcp", "/mcp/anonymous")
WITH_SLASH = {f"{path}/": path for path in MCP_PATHS}  # as some clients write them


class App:
    """`release` ends live streams and every wait; after it the server need not wait for anything when it stops."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._guard = Guard(self._route, settings, tokens)
        self._refusals = RefusalAudit(self._guard)
        self._held = LongWaits()
        self._requests = OpenRequests()
        self.deliveries = Deliveries(settings.state_dir)
        self._pages = Pages()
        loop = asyncio.get_running_loop()
        self._callers: asyncio.Future[Authenticator] = loop.create_future()
        self._mcp: asyncio.Future[McpEndpoint] = loop.create_future()
        self.api: asyncio.Future[FastAPI] = loop.create_future()

    async def load(self, executor: Executor) -> None:
        """Until everything that an open executor can do is served."""
        from executor.surfaces.mcp.endpoint import McpEndpoint

        self._requests.open(executor.authenticator)
        executor.feed.listen(self._requests.on_event)
        self._callers.set_result(executor.authenticator)
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
            await sandbox_callback.tool_call(self._held, scope, receive, send)
            return
        if SHOWN not in scope:
            await self._serve(scope, receive, send)
            return
        request = await self._requests.add(await self._wait_for(self._callers), scope[SHOWN], scope)
        scope[ACTOR] = request.actor
        try:
            if request.actor.via == "bearer" and scope["path"] not in MCP_PATHS:
                raise Forbidden(
                    "tokens of an authorization server are only valid for /mcp", hint="use a key for the API"
                )
            await self._serve(scope, request.receiving(receive), request.sending(scope, receive, send))
        finally:
            self._requests.remove(request)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in MCP_PATHS:
            await (await self._wait_for(self._mcp))(scope, receive, send)
        else:
            await (await self._wait_for(self.api))(scope, receive, send)

    async def _wait_for(self, part: asyncio.Future[T]) -> T:
        return part.result() if part.done() else await self._held.hold(_arrival(part))


async def _arrival(part: asyncio.Future[T]) -> T:
    return await asyncio.shield(part)
