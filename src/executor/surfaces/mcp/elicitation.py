"""The page where a person decides, shown by the client itself where it can: elicitation in URL mode.

It decides nothing. A client that says `accept` has opened the page, or says so; only what is settled on that page lets
a call continue. Whatever it answers, the model reads the same text as everywhere.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol

from executor.dataclass import dataclass
from executor.surfaces.mcp.handshake import META, MODERN_VERSION
from executor.surfaces.mcp.session import is_session_with_pages, shows_pages
from executor.surfaces.views.base import View

CREATE: Final = "elicitation/create"
COMPLETE: Final = "notifications/elicitation/complete"
KEY: Final = "decision"  # of the one input that is ever asked for
ACCEPT: Final = "accept"
MOST_SHOWN: Final = 10_000
_PREFIX: Final = "elicitation-"

Message = dict[str, Any]


class Link(NamedTuple):
    message: str
    url: str


class Stream(Protocol):
    async def say(self, message: Message) -> None: ...


class Links:
    """Which pages were shown, so that none is shown twice, and which requests wait for a client's answer."""

    def __init__(self) -> None:
        self._shown: dict[str, None] = {}
        self._open: dict[str, tuple[str, asyncio.Future[str]]] = {}

    def take(self, view: View) -> Link | None:
        """The page of what an execution waits for, once."""
        fresh = [asked for asked in view["interactions"] if asked["id"] not in self._shown]
        if view["status"] != "paused" or not fresh:
            return None
        for asked in fresh:
            self._shown[asked["id"]] = None
        while len(self._shown) > MOST_SHOWN:
            del self._shown[next(iter(self._shown))]
        more = f" and {len(fresh) - 1} more" if len(fresh) > 1 else ""
        first = fresh[0]
        return Link(
            f"Executor needs your decision: {first['kind'].replace('_', ' ')}, {first['tool']}{more}", first["url"]
        )

    def open(self, actor_id: str) -> tuple[str, asyncio.Future[str]]:
        """The id of a request to this actor's client, and its answer."""
        number = f"{_PREFIX}{secrets.token_hex(16)}"
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open[number] = (actor_id, answer)
        return number, answer

    def close(self, number: str) -> None:
        del self._open[number]

    def settle(self, actor_id: str, message: Message) -> bool:
        """What a client answered; False if that is no answer to a request of ours."""
        number = message.get("id")
        if "method" in message or not isinstance(number, str) or not number.startswith(_PREFIX):
            return False
        owner, answer = self._open.get(number, ("", None))
        if answer is not None and owner == actor_id and not answer.done():
            result = message.get("result")
            answer.set_result(str(result.get("action")) if isinstance(result, dict) else "")
        return True


@dataclass(frozen=True, slots=True)
class Dialog:
    """How the client of a call shows a page: with a stream, as a request in it; else as a result that asks for it.

    `retried` is the execution that such a result was about, when the client comes back, and `is_accepted` what it says.
    """

    links: Links
    actor_id: str
    stream: Stream | None = None
    retried: str = ""
    is_accepted: bool = False

    async def show(self, link: Link, paused: View, wait: Callable[[], Awaitable[View]]) -> View:
        """In the stream; then wait, unless the client has no one to ask."""
        if self.stream is None:
            return paused
        number, answer = self.links.open(self.actor_id)
        params = {"mode": "url", "elicitationId": number, **link._asdict()}
        waiting = asyncio.ensure_future(wait())
        try:
            await self.stream.say({"jsonrpc": "2.0", "id": number, "method": CREATE, "params": params})
            await asyncio.wait((waiting, answer), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done() and answer.result() != ACCEPT:
                return paused
            view = await waiting
            if view["status"] != "paused":
                done = {"elicitationId": number}
                await self.stream.say({"jsonrpc": "2.0", "method": COMPLETE, "params": done})
            return view
        finally:
            waiting.cancel()
            self.links.close(number)


# Of the call under way. The SDK's own tasks start from the request's and inherit it.
DIALOG: ContextVar[Dialog | None] = ContextVar("dialog", default=None)


def required_input(link: Link, execution_id: str) -> Message:
    """The result of a call that its client repeats once the page was shown."""
    params = {"mode": "url", **link._asdict()}
    requests = {KEY: {"method": CREATE, "params": params}}
    return {"resultType": "input_required", "inputRequests": requests, "requestState": execution_id}


def dialog_of(
    links: Links, actor_id: str, message: Message, headers: Mapping[str, str], stream: Stream | None
) -> Dialog | None:
    """None for a client that has not said that it can show pages. `stream` is there if it reads streams.

    Codex says so although it speaks a revision that is older than such pages.
    """
    version = headers.get("mcp-protocol-version")
    params = message.get("params")
    if version == MODERN_VERSION and isinstance(params, dict):
        meta = params.get("_meta")
        if not isinstance(meta, dict) or not shows_pages(meta.get(f"{META}clientCapabilities")):
            return None
        state = params.get("requestState")
        return Dialog(links, actor_id, None, state if isinstance(state, str) else "", _is_accepted(params))
    is_shown = is_session_with_pages(headers.get("mcp-session-id", ""))
    return Dialog(links, actor_id, stream) if version != MODERN_VERSION and is_shown and stream else None


def _is_accepted(params: Message) -> bool:
    responses = params.get("inputResponses")
    response = responses.get(KEY) if isinstance(responses, dict) else None
    return isinstance(response, dict) and response.get("action") == ACCEPT
