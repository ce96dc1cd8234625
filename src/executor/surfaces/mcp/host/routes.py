"""To which open response a message of the command goes.

Over standard output nothing says to which call a request or a log message belongs. It goes to the stream of the only
call under way. If there are several, it goes to the stream that belongs to no call, and never to a call by a guess: a
form that one person must fill in would be shown to another.
"""

from __future__ import annotations

from collections import deque

from executor.surfaces.mcp.host.message import PROGRESS, UNRELATED, Id, Message
from executor.surfaces.mcp.host.outbox import Outbox, Room

KEPT_MESSAGES, KEPT_BYTES = 64, 1_000_000  # for a client that has no stream open yet
MAX_LOST = 100


class Routes:
    """`calls` are the requests of the client under way. A lost one has no reader, and may still be worked on."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.calls: dict[Id, Outbox] = {}
        self._tokens: dict[Id, Id] = {}
        self._lost: dict[Id, None] = {}
        self._listener: Outbox | None = None
        self._kept: deque[Message] = deque()

    @property
    def has_readers(self) -> bool:
        return bool(self.calls) or self._listener is not None

    def begin(self, request: Message) -> Outbox:
        assert request.id is not None  # noqa: S101 - for the type checker
        self._lost.pop(request.id, None)
        outbox = self.calls[request.id] = Outbox(self._room)
        if request.token is not None:
            self._tokens[request.token] = request.id
        return outbox

    def lose(self, number: Id) -> None:
        """Cancelled, or its client has left: its answer, if it comes, is dropped."""
        if (outbox := self.calls.pop(number, None)) is not None:
            outbox.close()
            self._forget_token(number)
            self._lost[number] = None
            if len(self._lost) > MAX_LOST:
                del self._lost[next(iter(self._lost))]

    def answer(self, response: Message) -> Outbox | None:
        """Where a response goes; its call is over then. None for one that no one waits for."""
        if response.id is None:
            return None
        self._lost.pop(response.id, None)
        self._forget_token(response.id)
        return self.calls.pop(response.id, None)

    def _forget_token(self, number: Id) -> None:
        self._tokens = {token: one for token, one in self._tokens.items() if one != number}

    def find(self, message: Message) -> Outbox | None:
        """Where a request or a notification of the command goes. None if no stream is open that it may go to."""
        if message.method == PROGRESS and message.token in self._tokens:
            return self.calls.get(self._tokens[message.token])
        only = next(iter(self.calls.values())) if len(self.calls) == 1 and not self._lost else None
        if message.method == PROGRESS or message.method in UNRELATED:
            return self._listener or only
        return only or self._listener

    def keep(self, notification: Message) -> None:
        """Until a stream is opened; of too many, the oldest is dropped."""
        self._kept.append(notification)
        while len(self._kept) > KEPT_MESSAGES or sum(len(one.data) for one in self._kept) > KEPT_BYTES:
            self._kept.popleft()

    async def listen(self) -> Outbox:
        """A stream that belongs to no call. It replaces the one before, which may be broken."""
        if self._listener is not None:
            self._listener.close()
        outbox = self._listener = Outbox(self._room)
        while self._kept:
            await outbox.put(self._kept.popleft())
        return outbox

    def unlisten(self, outbox: Outbox) -> None:
        outbox.discard()
        if self._listener is outbox:
            self._listener = None

    def close(self, last: dict[Id, Message]) -> None:
        for number, outbox in self.calls.items():
            outbox.close(last.get(number))
        if self._listener is not None:
            self._listener.close()
