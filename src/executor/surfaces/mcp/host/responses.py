"""What is written to clients: one JSON object, or a stream of events for as long as messages may come."""

from __future__ import annotations

from starlette.types import Message as Event
from starlette.types import Receive, Send

from executor.surfaces.mcp.host.message import Id, Message, error_message
from executor.surfaces.mcp.host.outbox import Outbox

PING_SECONDS = 15.0
SESSION_HEADER = b"mcp-session-id"
Headers = list[tuple[bytes, bytes]]


async def send_json(send: Send, status: int, body: bytes, headers: Headers | None = None) -> None:
    kind = [(b"content-type", b"application/json")] if body else []
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*kind, length, *(headers or [])]})
    await send({"type": "http.response.body", "body": body})


async def send_error(send: Send, status: int, code: int, text: str, number: Id | None = None) -> None:
    await send_json(send, status, error_message(number, code, text).data)


async def send_answer(outbox: Outbox, send: Send, headers: Headers) -> None:
    """As JSON if the answer is the first that comes, else as events that end with it."""
    first = await outbox.next(PING_SECONDS)
    if first is not None and first.is_response:
        await send_json(send, 200, first.data, headers)
        outbox.release(first)
        return
    await begin_events(send, headers)
    await send_events(outbox, send, first)


async def begin_events(send: Send, headers: Headers) -> None:
    kind = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
    await send({"type": "http.response.start", "status": 200, "headers": [*kind, *headers]})
    await send(part(b": open\n\n"))


async def send_events(outbox: Outbox, send: Send, first: Message | None = None) -> None:
    message = first
    while True:
        if message is not None:
            await send(part(b"event: message\ndata: " + message.data + b"\n\n"))
            outbox.release(message)
        if outbox.is_over:
            break
        message = await outbox.next(PING_SECONDS)
        if message is None and not outbox.is_over:
            await send(part(b": ping\n\n"))
    await send({"type": "http.response.body", "body": b""})


def part(body: bytes) -> Event:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
