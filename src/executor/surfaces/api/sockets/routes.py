"""Which WebSocket an address is. Any other address has none."""

from __future__ import annotations

import re

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from executor.errors import NotFound
from executor.surfaces.api.sockets import terminal, transcript
from executor.surfaces.api.sockets.socket import Socket

SOCKETS = (
    (re.compile(r"/v1/sessions/(?P<session_id>[^/]+)/terminals/(?P<terminal_id>[^/]+)/socket"), terminal.serve),
    (re.compile(r"/v1/sessions/(?P<session_id>[^/]+)/messages/socket"), transcript.serve),
)


async def serve(api: FastAPI, scope: Scope, receive: Receive, send: Send) -> None:
    for pattern, handler in SOCKETS:
        if found := pattern.fullmatch(scope["path"]):
            await handler(Socket(api, scope, receive, send), scope, **found.groupdict())
            return
    raise NotFound("there is no WebSocket at this address", hint="see the API reference")
