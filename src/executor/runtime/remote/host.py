"""The sandbox host: an ASGI application that owns sandboxes and nothing else: no database, no catalog, no secrets.

`POST /runs` reserves a place and stays open for as long as the run lives; closing it ends the run. `GET /host` reports
what is here. Both ask for the host's token.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import aiohttp
import orjson

from executor import __version__
from executor.errors import ExecutorError, InvalidRequest, NotFound, Unauthorized
from executor.runtime.protocol import Sandbox
from executor.runtime.registry import Runtimes
from executor.runtime.remote import address, messages
from executor.runtime.remote.host_run import HostRun, Unreached
from executor.runtime.remote.runtime import BEAT_SECONDS
from executor.runtime.worker.seal import Layer

_LARGEST_BODY = 16 * 1024

logger = logging.getLogger(__name__)
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class SandboxHost:
    """`places` is how many runs there are at once; the others wait, each on its own open request."""

    def __init__(self, runtimes: Runtimes, *, token: str, places: int, layers: Sequence[Layer] = ()) -> None:
        self._runtimes, self._layers = runtimes, layers
        self._digest = hashlib.sha256(token.encode()).digest()
        self._places = asyncio.Semaphore(places)
        self._most = places
        self._session: aiohttp.ClientSession | None = None
        self.runs = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            await self._route(scope, receive, send)
        except ExecutorError as error:
            await _respond(send, error.status, {"code": error.code, "detail": error.message, "hint": error.hint})

    async def _route(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        self._authenticate(headers)
        where = (scope["method"], scope["path"])
        if where == ("GET", "/host"):
            await _respond(send, 200, self._describe())
        elif where == ("POST", "/runs"):
            await self._serve(await _body(receive), receive, send)
        else:
            raise NotFound("there is nothing at this address", hint="a sandbox host has POST /runs and GET /host")

    def _describe(self) -> dict[str, Any]:
        layers = [{"name": layer.name, "active": layer.active, "detail": layer.detail} for layer in self._layers]
        about = {"version": __version__, "runtimes": self._runtimes.ids, "layers": layers}
        return {**about, "places": self._most, "runs": self.runs}

    def _authenticate(self, headers: dict[bytes, bytes]) -> None:
        """No browser has business here: a request that comes from a page says so."""
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        presented = hashlib.sha256(token.strip()).digest()
        known = hmac.compare_digest(presented, self._digest)
        if not known or scheme.lower() != b"bearer" or b"origin" in headers:
            raise Unauthorized("this is not the token of this sandbox host", hint="set remote_token_file to its file")

    async def _serve(self, body: dict[str, Any], receive: Receive, send: Send) -> None:
        try:
            run, token, callback = (str(body[name]) for name in ("run", "token", "callback"))
        except KeyError as error:
            raise InvalidRequest(f"the body has no {error}", hint="use the same version on both sides") from error
        callback = address.check_url(callback, "callback")
        if not run.isascii() or not run.replace("_", "").isalnum():
            raise InvalidRequest("run is not an ID", hint="use the same version on both sides")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        work = asyncio.create_task(self._host(run, token, callback, send))
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        beat = asyncio.create_task(_beat(send))
        try:
            await asyncio.wait((work, gone, beat), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone, beat):
                task.cancel()
            outcome, *_ = await asyncio.gather(work, gone, beat, return_exceptions=True)
            if isinstance(outcome, Exception):  # the edge: the daemon sees the run end and takes it up again
                logger.error("a run failed here", exc_info=outcome)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _host(self, run: str, token: str, callback: str, send: Send) -> None:
        async with self._places:
            self.runs += 1
            try:
                await send({"type": "http.response.body", "body": b"ready\n", "more_body": True})
                await HostRun(self._client(), run, token, callback, self._open).stay()
            except Unreached as error:
                logger.warning("the daemon can't be reached at %s: %s", callback, error)
                await send({"type": "http.response.body", "body": b"unreached\n", "more_body": True})
            finally:
                self.runs -= 1

    async def _open(self, language: str) -> Sandbox:
        return await self._runtimes.get(language).open()

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        await self._runtimes.close()


async def _body(receive: Receive) -> dict[str, Any]:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise InvalidRequest("the body ended early", hint="send it again")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > _LARGEST_BODY:
            raise InvalidRequest(f"the body is larger than {_LARGEST_BODY} bytes", hint="send less")
    return messages.loads(b"".join(parts))


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _beat(send: Send) -> None:
    with contextlib.suppress(OSError):
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await send({"type": "http.response.body", "body": b"\n", "more_body": True})


async def _respond(send: Send, status: int, value: dict[str, Any]) -> None:
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": orjson.dumps(value), "more_body": False})
