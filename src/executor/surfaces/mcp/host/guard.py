"""Who may talk to a host: the checks of the daemon's own guard, with one token and without pages."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from executor.dataclass import dataclass
from executor.errors import BodyTooLarge, HostRefused, Unauthorized
from executor.settings import bracket_host
from executor.surfaces.http.guard import (
    LOOPBACK,
    MCP_BODY,
    STATUS,
    Edge,
    Headers,
    check_media_type,
    check_origin,
    declared_length,
    drain,
    harden,
    presented_token,
)
from executor.surfaces.http.health import healthy
from executor.surfaces.mcp.host.host import McpHost

HEALTH = "/healthz"
WELL_KNOWN_PORT = 80


@dataclass(frozen=True, slots=True)
class Access:
    """Without a `token` anyone who can connect is let in. `names` are what clients may call this host besides the
    address that it is `bound` to, each with or without a port."""

    bound: str
    token: str | None = field(repr=False)
    names: Sequence[str] = ()


class HostGuard:
    def __init__(self, host: McpHost, access: Access) -> None:
        self._host = host
        self._edge = Edge(self._serve)
        self._digest = hashlib.sha256(access.token.encode()).digest() if access.token is not None else None
        self._names = LOOPBACK | {bracket_host(access.bound.lower())}
        self._others = frozenset(name.lower() for name in access.names)
        self._closing: asyncio.Task[None] | None = None
        self._watching = asyncio.create_task(host.watch())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._edge(scope, receive, send)

    async def load(self, executor: Any) -> None:
        """A host has no executor."""

    def release(self) -> None:
        """End the sessions, and with them their streams, which the server would wait for."""
        self._watching.cancel()
        self._closing = asyncio.create_task(self._host.close())

    async def close(self) -> None:
        if self._closing is not None:
            await self._closing
        with suppress(asyncio.CancelledError):
            await self._watching

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope[STATUS] = message["status"]
                message["headers"] = harden(message.get("headers", ()))
            await send(message)

        headers = Headers(scope["headers"])
        self._check_host(scope, headers)
        check_origin(headers, frozenset(), navigable=False)
        if scope["path"] == HEALTH and scope["method"] == "GET":
            await healthy()(scope, receive, send_hardened)
            return
        self._check_token(headers)
        check_media_type(headers, scope["method"])
        await self._host(scope, limit_body(scope, receive), send_hardened)

    def _check_host(self, scope: Scope, headers: Headers) -> None:
        """A page can give its own name the address of this host; it can't choose what the browser sends as Host."""
        address, port = scope.get("server") or ("", 0)
        named = (headers.get(b"host") or "").lower()
        suffix = "" if port == WELL_KNOWN_PORT else f":{port}"
        ours = {f"{name}{suffix}" for name in (*self._names, bracket_host(address), *self._others)} | self._others
        if named not in ours:
            raise HostRefused(
                "the Host header does not name this host",
                hint="start it with --allow-host NAME for each name that clients use",
            )

    def _check_token(self, headers: Headers) -> None:
        if self._digest is None:
            return
        scheme, _, token = (presented_token(headers) or "").partition(" ")
        presented = hashlib.sha256(token.strip().encode("utf-8", "surrogateescape")).digest()
        if scheme.lower() != "bearer" or not hmac.compare_digest(presented, self._digest):
            raise Unauthorized(
                "this request does not carry the token of this host",
                hint="send `Authorization: Bearer <token>` with the content of its token file",
            )


def limit_body(scope: Scope, receive: Receive) -> Receive:
    declared, arrived = declared_length(scope), 0

    async def receive_limited() -> Message:
        nonlocal arrived
        message: Message = {"more_body": True}
        if declared <= MCP_BODY:
            message = await receive()
            arrived += len(message.get("body", b""))
        if max(declared, arrived) > MCP_BODY:
            if message.get("more_body", False):
                await drain(receive, max(declared, arrived))
            raise BodyTooLarge(f"the request is larger than {MCP_BODY} bytes", hint="send less", limit=MCP_BODY)
        return message

    return receive_limited
