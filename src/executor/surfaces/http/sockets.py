"""WebSockets at the edge. Until one is accepted it is a request like any other, and refused like one.

It passes the same guard, with a method of its own: no route and no page answers it by accident. A browser attaches its
cookie to WebSockets of any page, so one that comes with a cookie must come from a page of ours.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect
from starlette.types import Message, Scope, Send

SOCKET = "executor.socket"  # in the scope of a request for a WebSocket: the workspace that it names, or nothing
METHOD = "CONNECT"
PREFIX = "http.response."
LONGEST_QUERY = 1000


def as_request(scope: Scope) -> Scope:
    """Browsers can't send headers with a WebSocket, so the workspace comes in the address."""
    found = parse_qs(scope["query_string"][:LONGEST_QUERY].decode("latin-1")).get("workspace", [""])
    return {**scope, "type": "http", "method": METHOD, SOCKET: found[0]}


def answering(send: Send) -> Send:
    async def send_refusal(message: Message) -> None:
        if message["type"].startswith(PREFIX):
            message = {**message, "type": f"websocket.{message['type']}"}
            if message["type"].endswith("body"):
                message.setdefault("body", b"")
        try:
            await send(message)
        except OSError:  # as the server says that the other side has gone
            raise ClientDisconnect from None

    return send_refusal
