"""The tool calls under way: which execution each waits for, so that its client can cancel it.

Request ids are the client's own, and every client counts from the same number. So a cancellation counts only with the
credential and the session of the call that it names, and only where that leaves one call.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from executor.errors import Conflict, NotFound
from executor.model.fairness import Counts
from executor.surfaces.http.open_requests import CURRENT as CURRENT_REQUEST

if TYPE_CHECKING:
    from executor.model.identity.actor import Actor
    from executor.surfaces.http.long_wait import LongWaits

CANCELLED: Final = "notifications/cancelled"
RETURN_SECONDS: Final = 5.0  # for a client that can come back to its stream
Key = tuple[object, ...]
Cancel = Callable[[], Coroutine[Any, Any, object]]
_TIME_OUT = re.compile(r"tim(ed?|ing)[ -]?(out|limit)|deadline", re.IGNORECASE)
logger = logging.getLogger(__name__)


class NamedEvents(Protocol):
    """A stream whose client can come back for the rest, once it has the name of an event."""

    has_named_events: bool

    def name_events(self, execution_id: str) -> None: ...


class OpenCall:
    """`stream` is what it is answered by, if its client can come back to it; `cancelling` is a cancellation under way,
    if its client asked for one."""

    def __init__(self, calls: OpenCalls) -> None:
        self._calls = calls
        self._execution_id = ""
        self._cancel: Cancel | None = None
        self._patience: float | None = None
        self._is_unwanted = False
        self._is_left = False
        self.stream: NamedEvents | None = None
        self.cancelling: asyncio.Task[None] | None = None

    def follow(self, execution_id: str, cancel: Cancel, patience: float | None) -> None:
        """It waits for this execution. `patience` is for how many seconds after its client went away the execution is
        left alone, unless someone asks for it; None is forever."""
        self._execution_id, self._cancel, self._patience = execution_id, cancel, patience
        if self.stream is not None:
            self.stream.name_events(execution_id)
        self._calls.keep(execution_id)
        if self._is_unwanted:
            self.cancel()
        elif self._is_left:
            self.leave()

    def cancel(self) -> None:
        self._is_unwanted = True
        if self._cancel is not None and self.cancelling is None:
            self.cancelling = self._calls.spawn(self._cancel)

    def leave(self) -> None:
        """Its client closed the request."""
        self._is_left = True
        execution_id = self._execution_id
        self.unfollow()
        if self._cancel is not None and self._patience is not None:
            can_return = self.stream is not None and self.stream.has_named_events
            self._calls.cancel_later(execution_id, self._cancel, RETURN_SECONDS if can_return else self._patience)

    def unfollow(self) -> None:
        followed, self._execution_id = self._execution_id, ""
        if followed:
            self._calls.release(followed)


# The call under way. The SDK's own tasks start from the request's and inherit it.
CURRENT_CALL: ContextVar[OpenCall] = ContextVar("open_call")


class OpenCalls:
    def __init__(self, held: LongWaits) -> None:
        self._held = held
        self._calls: dict[Key, list[OpenCall]] = {}
        self._followed: Counts[str] = Counts()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def track(self, key: Key) -> Iterator[None]:
        call = OpenCall(self)
        CURRENT_CALL.set(call)
        self._calls.setdefault(key, []).append(call)
        request = CURRENT_REQUEST.get()
        if request is not None:
            request.on_leave = call.leave
        try:
            yield
        finally:
            call.unfollow()
            if request is not None:
                request.on_leave = None  # else it would be a cycle
            self._calls[key].remove(call)
            if not self._calls[key]:
                del self._calls[key]

    def cancel(self, key: Key, reason: object) -> None:
        """A client that reached its own time limit wants no less than before that the execution ends well."""
        found = self._calls.get(key, ())
        if len(found) == 1 and not (isinstance(reason, str) and _TIME_OUT.search(reason[:1000])):
            found[0].cancel()

    def spawn(self, cancel: Cancel) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(_attempt(cancel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def keep(self, execution_id: str) -> None:
        """A call waits for it."""
        self._followed.add(execution_id)
        if timer := self._timers.pop(execution_id, None):
            timer.cancel()

    def release(self, execution_id: str) -> None:
        self._followed.remove(execution_id)

    def cancel_later(self, execution_id: str, cancel: Cancel, seconds: float) -> None:
        """Unless someone waits for it, or asks for it until then; and unless the daemon itself closes its requests."""
        if execution_id not in self._followed and not self._held.closed.is_set():
            later = asyncio.get_running_loop().call_later(seconds, self._cancel_left, execution_id, cancel)
            self._timers[execution_id] = later

    def _cancel_left(self, execution_id: str, cancel: Cancel) -> None:
        del self._timers[execution_id]
        if not self._held.closed.is_set():
            self.spawn(cancel)

    async def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def call_key(actor: Actor, headers: Mapping[str, str], number: object) -> Key:
    """The session is whatever the client says it is: it grants nothing. A call without a proper id has none here."""
    number = number if type(number) in (str, int) else None
    return actor.id, actor.credential_id, headers.get("mcp-session-id"), number


async def _attempt(cancel: Cancel) -> None:
    try:
        await cancel()
    except (Conflict, NotFound):
        return  # it had ended, or is none of this actor's
    except Exception as error:  # no caller is left to report it to
        logger.error("an execution could not be cancelled", exc_info=error)
