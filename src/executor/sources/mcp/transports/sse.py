"""The older transport over HTTP: one stream for everything the server says, and a POST for each message to it.

Of this project, not of the SDK: that one posts messages one after the other, so that a slow answer to one holds up
all others, and waits without end when the server names an address elsewhere for them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from executor.errors import EgressRefused, SourceUnreachable
from executor.network.addresses import display_url, parse
from executor.sources.mcp.transports.stream import MessageStream


class EventStream(MessageStream):
    """An open stream of events, and the address that takes messages."""

    def __init__(self, client: httpx2.AsyncClient, events: AsyncIterator[httpx2.ServerSentEvent], post_to: str) -> None:
        self._client = client
        self._events = events
        self._post_to = post_to

    async def __anext__(self) -> SessionMessage | Exception:
        async for event in self._events:
            if event.event == "message" and event.data:
                try:
                    return SessionMessage(jsonrpc_message_adapter.validate_json(event.data, by_name=False))
                except ValidationError as error:
                    return error
        raise StopAsyncIteration

    async def send(self, item: SessionMessage) -> None:
        """In the task of the sender: the transport reports every failure to its request (see `exchange`)."""
        content = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        await self._client.post(self._post_to, content=content, headers={"Content-Type": "application/json"})


@asynccontextmanager
async def open_stream(client: httpx2.AsyncClient, url: str, limit: int) -> AsyncIterator[EventStream]:
    """Raises SourceUnreachable or EgressRefused. `limit` is for one event."""
    async with client.stream("GET", url, headers={"Accept": "text/event-stream"}) as response:
        if response.status_code != 200:
            raise no_stream(url, f"answered {response.status_code}")
        events = aiter(httpx2.EventSource(response, max_event_size=limit))
        yield EventStream(client, events, await endpoint_named(events, url))


async def endpoint_named(events: AsyncIterator[httpx2.ServerSentEvent], url: str) -> str:
    """Where messages are to be sent: the server says so first, and may name an address of its own origin only."""
    async for event in events:
        if event.event == "endpoint":
            named = urljoin(url, event.data)
            if parse(named).origin != parse(url).origin:
                raise EgressRefused(
                    f"{display_url(url)} wants messages sent to {display_url(named)}, "
                    "which is not where this source was added",
                    hint="if that address is correct, add the source again with it",
                )
            return named
    raise no_stream(url, "ended its stream before it named an address for messages")


def no_stream(url: str, what: str) -> SourceUnreachable:
    return SourceUnreachable(
        f"{display_url(url)} {what}",
        hint="check the address and that the server is up, then try again",
        reason="protocol",
        sent=True,
    )
