"""Requests under way, each with the credential it came with: when the credential ends, so does the request.

A revocation is an event. From its commit on, the requests that it may concern are in doubt: none of them reads a body,
sends an answer or continues with a stream before its credential was looked up again. What no event announces (another
process, a changed clock) is found by looking up the credentials of long requests now and then.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from starlette.types import Message, Receive, Scope, Send

from executor.daemon.server.http_protocol import ABORT, LOST
from executor.errors import Busy, ExecutorError, Forbidden
from executor.model.event import Announcement, Revocation
from executor.model.ids import now_ms
from executor.surfaces.http import problems

if TYPE_CHECKING:
    from executor.identity.authentication import Authenticator
    from executor.identity.presented import Shown
    from executor.model.identity.actor import Actor

CONFIRM_SECONDS = 15.0
LONGEST_TIMER = 86_400.0
# The request that the code which looks here works for. Tasks that it starts inherit it.
CURRENT: ContextVar[OpenRequest | None] = ContextVar("open_request", default=None)


class OpenRequest:
    """`refusal` says why it may not continue."""

    def __init__(self, shown: Shown, actor: Actor, review: Callable[[Iterable[OpenRequest]], None]) -> None:
        self.shown = shown
        self.actor = actor
        self.needs: tuple[str, ...] = ()
        self.ends_itself = False
        self.refusal: ExecutorError | None = None
        self.on_leave: Callable[[], None] | None = None
        self.ended = asyncio.Event()
        self.doubt: asyncio.Task[None] | None = None
        self._review = review
        self._waits: set[asyncio.Task[Any]] = set()

    async def has_ended(self) -> bool:
        """Once that is certain."""
        while self.doubt is not None:
            await asyncio.shield(self.doubt)
        return self.refusal is not None

    async def confirm(self) -> None:
        """Raises when it may not continue."""
        if await self.has_ended() and self.refusal is not None:
            raise self.refusal

    @contextmanager
    def keep_open(self, task: asyncio.Task[Any] | None = None) -> Iterator[None]:
        """While it is a stream or a wait, which may outlast its credential. A `task` is cancelled when it ends."""
        expires_at, timer = self.actor.expires_at, None
        if expires_at is not None:
            seconds = max(0.0, (expires_at - now_ms()) / 1000) + 0.05
            timer = asyncio.get_running_loop().call_later(min(seconds, LONGEST_TIMER), self._review, (self,))
        if task is not None:
            self._waits.add(task)
        try:
            yield
        finally:
            if task is not None:
                self._waits.discard(task)
            if timer is not None:
                timer.cancel()

    def end(self, refusal: ExecutorError) -> None:
        self.refusal = refusal
        self.ended.set()
        for task in self._waits:
            task.cancel()

    def leave(self) -> None:
        """No one reads the answer now."""
        if self.refusal is None and self.on_leave is not None:
            self.on_leave()
        self.end(Busy("the client disconnected", hint="connect again"))

    def renew(self, actor: Actor) -> None:
        """The credential is still good. A request that needs a permission it has lost is ended."""
        lost = [need for need in self.needs if _may(self.actor, need) and not _may(actor, need)]
        self.actor = actor
        if lost:
            self.end(Forbidden(f"the permission `{lost[0]}` was revoked", hint="an admin or owner can change roles"))

    def is_concerned(self, revocation: Revocation) -> bool:
        ids = (self.actor.credential_id, self.actor.id, self.actor.account_id)
        return not self.ends_itself and not revocation.subjects.isdisjoint(ids)

    def receiving(self, receive: Receive) -> Receive:
        """A body may come long after its headers."""

        async def receive_checked() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                if self.actor.expires_at is not None and self.actor.expires_at <= now_ms():
                    self._review((self,))
                if self.doubt is not None or self.refusal is not None:
                    await self.confirm()
            return message

        return receive_checked

    def sending(self, scope: Scope, receive: Receive, send: Send) -> Send:
        """What is not answered yet is answered with the refusal, what is half sent is broken off."""
        has_started = has_refused = False

        async def send_checked(message: Message) -> None:
            nonlocal has_started, has_refused
            if self.doubt is not None:
                await self.has_ended()
            if self.refusal is None or (has_started and not message.get("body")):
                has_started = True
                await send(message)
            elif has_started:
                await abort(scope)
            elif not has_refused:
                has_refused = True
                await problems.respond(self.refusal)(scope, receive, send)

        return send_checked


class OpenRequests:
    def __init__(self) -> None:
        self._requests: set[OpenRequest] = set()
        self._callers: Authenticator | None = None
        self._watching: asyncio.Task[None] | None = None
        self._reviews: set[asyncio.Task[None]] = set()
        self._revocations = 0

    def open(self, callers: Authenticator) -> None:
        self._callers = callers
        self._watching = asyncio.create_task(self._watch())

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def add(self, callers: Authenticator, shown: Shown, scope: Scope) -> OpenRequest:
        """As anyone who it shows. Looked up again if anyone was revoked meanwhile: that event came too early for it."""
        while True:
            before = self._revocations
            actor = await callers.identify(shown)
            if self._revocations == before:
                break
        request = OpenRequest(shown, actor, self._review)
        self._requests.add(request)
        CURRENT.set(request)
        if "state" in scope:
            scope["state"][LOST] = request.leave
        return request

    def remove(self, request: OpenRequest) -> None:
        self._requests.discard(request)

    def on_event(self, announcement: Announcement) -> None:
        if isinstance(announcement, Revocation):
            self._revocations += 1
            self._review(request for request in self._requests if request.is_concerned(announcement))

    def _review(self, doubtful: Iterable[OpenRequest]) -> None:
        """Each credential once, however many requests show it."""
        alike: defaultdict[Shown, list[OpenRequest]] = defaultdict(list)
        for request in doubtful:
            alike[request.shown].append(request)
        if (callers := self._callers) is None:
            return
        for shown, requests in alike.items():
            task = asyncio.get_running_loop().create_task(self._look_up(callers, shown, requests))
            self._reviews.add(task)
            task.add_done_callback(self._reviews.discard)
            for request in requests:
                request.doubt = task

    async def _look_up(self, callers: Authenticator, shown: Shown, requests: list[OpenRequest]) -> None:
        try:
            actor = await callers.confirm(shown)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong, no one continues unrecognised
            refusal = error if isinstance(error, ExecutorError) else problems.opaque(error)
            for request in requests:
                request.end(refusal)
        else:
            for request in requests:
                request.renew(actor)
        finally:
            this = asyncio.current_task()
            for request in requests:
                if request.doubt is this:
                    request.doubt = None

    async def _watch(self) -> None:
        """Only what was there the last time: nearly every request is short."""
        before: set[OpenRequest] = set()
        while True:
            await asyncio.sleep(CONFIRM_SECONDS)
            self._review(before & self._requests)
            before = set(self._requests)


def current() -> OpenRequest:
    request = CURRENT.get()
    if request is None:
        raise RuntimeError("no request is in progress")
    return request


def declare_needs(any_of: tuple[str, ...]) -> None:
    """Without all of these that its credential had, the request under way may not continue."""
    request = CURRENT.get()
    if request is not None:
        request.needs = any_of


def expect_own_end() -> None:
    """The request under way ends its own credential, as a sign-out does, and is answered all the same."""
    request = CURRENT.get()
    if request is not None:
        request.ends_itself = True


async def abort(scope: Scope) -> None:
    """Drop the connection; what is sent afterwards goes nowhere."""
    drop = scope.get("state", {}).get(ABORT)
    if drop is not None:
        drop()
        await asyncio.sleep(0)  # until the server knows


def _may(actor: Actor, need: str) -> bool:
    return need in ("credential", "human", "stranger") or actor.may(need)  # type: ignore[arg-type]  # the routes' own words
