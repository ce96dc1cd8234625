"""Everything the daemon serves, behind one guard that is there from the first request on.

The server listens long before the database is open. A request waits for the part it needs: for `/mcp` that is the open
database, for everything else the API too. The API is imported for its first request, since an agent never needs it: it
takes a third of a second and 30 MB.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from executor.errors import Forbidden, NotFound
from executor.identity.local_tokens import Tokens
from executor.settings import Settings
from executor.surfaces.http import sandbox_callback, sockets
from executor.surfaces.http.deliveries import Deliveries
from executor.surfaces.http.guard import ACTOR, METRICS, RUN, SHOWN, Guard
from executor.surfaces.http.health import healthy, readiness
from executor.surfaces.http.long_wait import LongWaits
from executor.surfaces.http.mcp_paths import is_mcp, without_slash
from executor.surfaces.http.observation import observe, trace_request
from executor.surfaces.http.open_requests import OpenRequests
from executor.surfaces.http.page_paths import is_page
from executor.surfaces.http.refusal_audit import RefusalAudit
from executor.surfaces.http.sockets import SOCKET
from executor.surfaces.scrape import SCRAPE, check_scrape
from executor.surfaces.web.pages import Pages

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.identity.authentication import Authenticator
    from executor.surfaces.api.app import Api
    from executor.surfaces.mcp.endpoint import McpEndpoint

T = TypeVar("T")


class App:
    """`release` ends live streams and every wait; after it the server need not wait for anything when it stops."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._refusals = RefusalAudit()
        self._guard = Guard(self._route, settings, tokens, self._refusals.note)
        self._held = LongWaits()
        self._requests = OpenRequests()
        self.deliveries = Deliveries(settings.state_dir)
        self._pages = Pages()
        loop = asyncio.get_running_loop()
        self._callers: asyncio.Future[Authenticator] = loop.create_future()
        self._mcp: asyncio.Future[McpEndpoint] = loop.create_future()
        self._executor: asyncio.Future[Executor] = loop.create_future()
        self._api: asyncio.Task[Api] | None = None

    async def load(self, executor: Executor) -> None:
        """Until everything that an open executor can do is served."""
        from executor.surfaces.mcp.endpoint import McpEndpoint

        self._requests.open(executor.authenticator)
        executor.feed.listen(self._requests.on_event)
        self._callers.set_result(executor.authenticator)
        self._refusals.open(executor)
        self._guard.runs = executor.remote_runs
        self._mcp.set_result(McpEndpoint(executor, self._held))
        self._executor.set_result(executor)

    def load_api(self) -> asyncio.Task[Api]:
        """The same for every caller. It is done when the executor is open and the API imported."""
        if self._api is None:
            self._api = asyncio.create_task(self._create_api())
        return self._api

    async def _create_api(self) -> Api:
        executor = await self._executor
        module = await asyncio.to_thread(importlib.import_module, "executor.surfaces.api.app")
        app: Api = module.create_app(executor, self._held)
        return app

    def release(self) -> None:
        self._held.close()

    async def close(self) -> None:
        self._held.close()
        self._requests.close()
        if self._api is not None:
            self._api.cancel()
        if self._mcp.done():
            await self._mcp.result().close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            scope, send = sockets.as_request(scope), sockets.answering(send)
        path = without_slash(scope.get("path", ""))
        if path != scope.get("path", ""):
            scope = {**scope, "path": path}
        await observe(self._guard, scope, receive, self.deliveries.sending(scope, send))

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if SOCKET in scope and SHOWN not in scope:
            raise NotFound("there is no WebSocket at this address", hint="see the API reference")
        if scope["path"] == "/healthz" and scope["method"] == "GET":
            await healthy()(scope, receive, send)
            return
        if scope["path"] == "/readyz" and scope["method"] == "GET":
            executor = self._executor.result() if self._executor.done() else None
            await readiness(executor, is_stopping=self._held.closed.is_set())(scope, receive, send)
            return
        if is_page(scope["method"], scope["path"]):
            await self._pages(scope, receive, send)
            return
        if RUN in scope:
            await sandbox_callback.tool_call(self._held, scope, receive, send)
            return
        if SCRAPE in scope:
            await self._show_metrics(scope, receive, send)
            return
        if SHOWN not in scope:
            await self._serve(scope, receive, send)
            return
        request = await self._requests.add(await self._wait_for(self._callers), scope[SHOWN], scope)
        scope[ACTOR] = request.actor
        try:
            if request.actor.via == "bearer" and not is_mcp(scope["path"]):
                raise Forbidden(
                    "tokens of an authorization server are only valid for /mcp", hint="use a key for the API"
                )
            with trace_request(scope, request.actor):
                await self._serve(scope, request.receiving(receive), request.sending(scope, receive, send))
        finally:
            self._requests.remove(request)

    async def _show_metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        from executor.daemon.metrics import gather
        from executor.telemetry.prometheus import CONTENT_TYPE, render

        check_scrape(scope)
        found = await gather(await self._wait_for(self._executor))
        await Response(render(found), media_type=CONTENT_TYPE)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if SOCKET in scope:
            await self._serve_socket(scope, receive, send)
        elif scope["path"] == METRICS:
            await self._show_metrics(scope, receive, send)
        elif is_mcp(scope["path"]):
            await (await self._wait_for(self._mcp))(scope, receive, send)
        else:
            await (await self._wait_for(self.load_api()))(scope, receive, send)

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        from executor.surfaces.api.sockets.routes import serve

        api = await self._wait_for(self.load_api())
        await serve(api, scope, receive, send)

    async def _wait_for(self, part: asyncio.Future[T]) -> T:
        return part.result() if part.done() else await self._held.hold(_arrival(part))


async def _arrival(part: asyncio.Future[T]) -> T:
    return await asyncio.shield(part)
