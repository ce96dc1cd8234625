"""Requests and streams as flows: what a refusal raises, and what is sent again when a connection breaks.

A request that could not be sent is sent again, one that was sent without an answer only if that is safe. Both only
for a daemon that has answered before: one that never did is not waited for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from executor import errors
from executor.errors import Busy, DaemonStarting, ExecutorError, ReplyLost, RequestUnsent
from executor.model.event import ENDINGS
from executor.sdk.flow import Close, Emissions, Emit, Flow, Open, Pause, Read, Reply, Request

T = TypeVar("T")
RECONNECT_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
PROBLEM = frozenset({"type", "title", "status", "detail", "code", "hint", "instance", "message"})


class Event(NamedTuple):
    """One server-sent event; `data` is read already."""

    id: str
    type: str
    data: Any


class Exchange:
    """What one client knows of its daemon."""

    def __init__(self, reconnect_seconds: float) -> None:
        self._reconnect_seconds = reconnect_seconds
        self._has_answered = False

    def send(self, request: Request) -> Flow[Any]:
        """The value of the answer."""
        return read_value((yield from self._reach(request)))

    def fetch(self, request: Request) -> Flow[Reply]:
        """The answer as it came."""
        reply: Reply = yield from self._reach(request)
        if reply.status >= 400:
            read_value(reply)
        return reply

    def follow(
        self, request: Request, read: Callable[[Event], T], has_ended: Callable[[], Flow[bool]] | None = None
    ) -> Emissions[T]:
        """Events; after a broken connection from the last one on. A daemon that stops ends its streams too, so one that
        ended without an event is over only if `has_ended` says so. Without it, more always comes."""
        last = ""
        pauses = Pauses(self._reconnect_seconds)
        while True:
            headers = {**request.headers, "Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
            stream = yield from self._reach(replace(request, headers=headers, repeatable=True), opens=True)
            if isinstance(stream, Reply):
                read_value(stream)
                raise ExecutorError("the daemon answered without a stream", hint="is this address an Executor?")
            reader, before = EventReader(), last
            error: ExecutorError | None = None
            try:
                while chunk := (yield Read(stream)):
                    for event in reader.feed(chunk):
                        last = event.id or last
                        pauses = Pauses(self._reconnect_seconds)
                        yield Emit(read(event))
                        if event.type in ENDINGS and has_ended is not None:
                            return
            except ReplyLost as lost:
                error = lost
            yield Close(stream)
            if error is None and last == before and has_ended is not None and (yield from has_ended()):
                return
            yield pauses.next_pause(error or ReplyLost("the daemon ended the stream", hint="is it running?"))

    def _reach(self, request: Request, *, opens: bool = False) -> Flow[Any]:
        pauses = Pauses(self._reconnect_seconds)
        while True:
            try:
                reply = yield Open(request) if opens else request
                self._has_answered = True
                if isinstance(reply, Reply) and reply.status == Busy.status and request.repeatable:
                    read_value(reply)
                return reply
            except (RequestUnsent, ReplyLost, Busy) as error:
                if not self._may_repeat(request, error):
                    raise
                yield pauses.next_pause(error)

    def _may_repeat(self, request: Request, error: ExecutorError) -> bool:
        if isinstance(error, DaemonStarting):
            return True
        return self._has_answered and (request.repeatable or isinstance(error, RequestUnsent))


class Pauses:
    """Longer and longer ones, until the time is up."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds
        self._pause = FIRST_PAUSE

    def next_pause(self, error: ExecutorError) -> Pause:
        if time.monotonic() >= self._ends_at:
            raise error
        pause, self._pause = self._pause, min(LONGEST_PAUSE, self._pause * 2)
        return Pause(pause)


class EventReader:
    """Server-sent events out of bytes that may be cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, str] = {}

    def feed(self, chunk: bytes) -> list[Event]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [event for line in lines if (event := self._read_line(line.decode()))]

    def _read_line(self, line: str) -> Event | None:
        if line:
            name, _, value = line.partition(": ")
            self._fields[name] = value
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None  # a heartbeat
        return Event(fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"]))


def read_value(reply: Reply) -> Any:
    try:
        value = json.loads(reply.body) if reply.body else None
    except ValueError:
        value = None
        if reply.status < 400:
            raise ExecutorError("the answer is not JSON", hint="is this address an Executor?") from None
    if reply.status < 400:
        return value
    raise error_from(value if isinstance(value, dict) else {}, reply.status)


def error_from(problem: Mapping[str, Any], status: int) -> ExecutorError:
    """The error that the daemon raised, by its code; `status` and `code` are those of the answer."""
    code = str(problem.get("code") or "internal")
    message = str(problem.get("detail") or problem.get("title") or f"the daemon answered with status {status}")
    details = {str(name): value for name, value in problem.items() if name not in PROBLEM}
    error = KINDS.get(code, ExecutorError)(message, hint=str(problem.get("hint") or ""), **details)
    error.code, error.status = code, status  # type: ignore[misc]  # of this one
    return error


def _kinds() -> dict[str, type[ExecutorError]]:
    """The first class of each code: those after it only say more about the same."""
    found: dict[str, type[ExecutorError]] = {}
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, ExecutorError) and "code" in vars(kind):
            found.setdefault(kind.code, kind)
    return found


KINDS = _kinds()
