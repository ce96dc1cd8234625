"""What a server asks of its client, and says, while calls are under way: passed to the call that it belongs to.

Over HTTP, a server sends it on the stream of the call. Over standard output and SSE there is one stream for everything:
there, a call is found only if there is one, or if all of them are the same actor's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST

from executor.errors import Busy, ExecutorError, InvalidRequest
from executor.model.interaction import CallListener, Elicitation, ElicitationAnswer
from executor.sources.mcp.sessions.elicitation import read_elicitation
from executor.sources.mcp.sessions.exchange import Exchange

ELICITATION, SAMPLING = "elicitation/create", "sampling/createMessage"
MAX_ELICITATIONS = 50  # open on one session
LEVELS = {"debug": "debug", "info": "info", "notice": "info", "warning": "warn"}
NO_SAMPLING = "Executor has no model of its own, so it does not offer sampling; return the data instead"


class ServerRequests:
    """`calls` are the exchanges under way, oldest first."""

    def __init__(self) -> None:
        self.calls: dict[Exchange, None] = {}

    @property
    def is_full(self) -> bool:
        return sum(len(one.elicitations) for one in self.calls) >= MAX_ELICITATIONS

    async def answer(
        self, method: str, params: Mapping[str, Any], stream: Exchange | None, leave_place: Callable[[], None]
    ) -> dict[str, Any]:
        """Raises MCPError, which the server gets. `leave_place` is called before a person is waited for."""
        if method == SAMPLING:
            self._warn("its server asked for sampling, which was refused", stream)
            raise MCPError(INVALID_REQUEST, NO_SAMPLING)
        try:
            elicitation = read_elicitation(params)
            exchange, candidates = self._find(stream)
            if self.is_full:
                raise Busy(f"this server already waits for {MAX_ELICITATIONS} answers", hint="wait for one of them")
            leave_place()
            answer = await elicit(exchange, elicitation, candidates)
        except ExecutorError as error:
            self._warn(f"its server asked for input, which was refused: {error.message}", stream)
            code = INVALID_PARAMS if isinstance(error, InvalidRequest) else INTERNAL_ERROR
            raise MCPError(code, f"{error.message}; {error.hint}" if error.hint else error.message) from error
        return result_of(answer)

    def _listener(self, stream: Exchange | None) -> CallListener | None:
        """Only where it is certain to whose execution something belongs."""
        found = [listener for _, listener in self._candidates(stream)]
        return found[-1] if len({listener.execution_id for listener in found}) == 1 else None

    def _warn(self, text: str, stream: Exchange | None) -> None:
        if (listener := self._listener(stream)) is not None:
            listener.warn(text)

    def hear_log(self, params: Mapping[str, Any], stream: Exchange | None) -> None:
        listener = self._listener(stream)
        if listener is None:
            return
        said, logger = params.get("data"), params.get("logger")
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
        named = f"[{logger[:100]}] {text}" if isinstance(logger, str) and logger else text
        listener.log(LEVELS.get(str(params.get("level")), "error"), named)

    def _candidates(self, stream: Exchange | None) -> list[tuple[Exchange, CallListener]]:
        if stream is not None and stream in self.calls:
            return [(stream, stream.listener)] if stream.listener is not None else []
        return [(one, one.listener) for one in self.calls if one.listener is not None]

    def _find(self, stream: Exchange | None) -> tuple[Exchange, int]:
        """Of several, the newest of those that ask nothing yet: a call usually asks one thing after the other."""
        found = self._candidates(stream)
        if not found:
            raise ExecutorError("no call is under way for which someone could be asked", hint="ask during a call")
        if len({listener.actor_id for _, listener in found}) > 1:
            raise ExecutorError(
                "calls of several actors are under way, and the server does not say which one it asks for",
                hint="ask over streamable HTTP, on the stream of the call",
            )
        exchange, _ = min(reversed(found), key=lambda one: len(one[0].elicitations))
        return exchange, len(found)


async def elicit(exchange: Exchange, elicitation: Elicitation, candidates: int) -> ElicitationAnswer:
    """Whatever time a person takes is not the server's. If the call ends first, no one has chosen anything."""
    assert exchange.listener is not None  # noqa: S101 - for the type checker: `_find` found it by that
    asked = Elicitation(elicitation.message, elicitation.schema, elicitation.url, candidates)
    task = asyncio.create_task(exchange.listener.elicit(asked))
    exchange.elicitations.add(task)
    exchange.pause()
    try:
        if exchange.leave_turn is not None:
            await exchange.leave_turn()
        return await task
    except asyncio.CancelledError:
        if not exchange.is_over or not task.cancelled():
            task.cancel()
            raise
        return ElicitationAnswer("cancel")
    finally:
        exchange.go_on()
        exchange.elicitations.discard(task)


def result_of(answer: ElicitationAnswer) -> dict[str, Any]:
    return {"action": answer.action, **({"content": answer.content} if answer.content is not None else {})}
