"""The one outbound HTTP client: every request to a source's document or service goes through here.

What may be reached, and where a redirect may lead, is decided here; `transport` makes the connections.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from executor.dataclass import dataclass
from executor.errors import EgressRefused, SourceUnreachable
from executor.network.addresses import Target, display_url, is_private_host, parse, refusal
from executor.network.files import Kept, Upload
from executor.network.private_access import ANY, PUBLIC, Reach, reach_of
from executor.network.slots import QUEUE_SECONDS, HostSlots
from executor.network.strangers import TRAFFIC
from executor.telemetry import tracer

if TYPE_CHECKING:
    from executor.network.transport import Transport

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
ANSWER_BYTES = 10_000_000
NO_ORIGINS: frozenset[str] = frozenset()
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Bounds:
    """`seconds` is for everything, redirects and body included; `size` counts bytes after decompression.

    With `stream_seconds`, an answer that is a stream of events or lines is read that long, or until `size`, and what
    came by then is the answer. `queue_seconds` is how long it may wait for its turn; `seconds` starts after that.
    `file_from` says, by an answer's headers, from how many bytes on it is kept as a file; 0 for never. Then `seconds`
    count from piece to piece.
    """

    seconds: float = 60.0
    size: int = ANSWER_BYTES
    stream_seconds: float = 0.0
    queue_seconds: float = QUEUE_SECONDS
    file_from: Callable[[Mapping[str, str]], int] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`complete` is false for a stream that was left before its end. What was kept as a `file` has no body."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    complete: bool = True
    file: Kept | None = None

    @property
    def media_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`headers` go only to the origin of `url`; a redirect elsewhere loses them all."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Upload | None = None


# Asked before a request leads to another one, with both. Raises EgressRefused.
MayFollow = Callable[[Outgoing, Outgoing], Awaitable[None]]


class Attempt:
    """One request on its way. `sent` is true as soon as a byte of it may have left; `pause` stops its clock."""

    def __init__(self, seconds: float) -> None:
        self.sent = False
        self.timeout = asyncio.timeout(seconds)
        self._left = seconds

    def pause(self) -> None:
        if (ends := self.timeout.when()) is not None:
            self._left = ends - asyncio.get_running_loop().time()
            self.timeout.reschedule(None)

    def renew(self, seconds: float) -> None:
        """A file is under way, and a piece of it has just passed."""
        if self.timeout.when() is not None:
            self.timeout.reschedule(asyncio.get_running_loop().time() + seconds)

    def go_on(self) -> None:
        self.timeout.reschedule(asyncio.get_running_loop().time() + self._left)


class Egress:
    """`allow_private` opens private networks for every source: a setting for closed installations."""

    def __init__(self, *, allow_private: bool = False, connect_seconds: float = 10.0) -> None:
        self.allow_private = allow_private
        self._connect_seconds = connect_seconds
        self.slots = HostSlots()
        self._transport: Transport | None = None

    async def warm(self) -> Transport:
        """The HTTP library takes long to import, so it is not imported before it is needed, and then in a thread."""
        if self._transport is None:
            transport = await asyncio.to_thread(importlib.import_module, "executor.network.transport")
            self._transport = self._transport or transport.Transport(self._connect_seconds, self.slots)
        return self._transport

    async def send(
        self,
        outgoing: Outgoing,
        *,
        origins: frozenset[str] = NO_ORIGINS,
        bounds: Bounds | None = None,
        may_follow: MayFollow | None = None,
    ) -> Answer:
        """Raises EgressRefused or SourceUnreachable; `details` has the `reason` and whether it may have been `sent`."""
        bounds = bounds or Bounds()
        check_headers(outgoing.headers)
        attempt = Attempt(bounds.seconds)
        try:
            async with attempt.timeout:
                return await self._follow(outgoing, origins, bounds, attempt, may_follow)
        except TimeoutError as error:
            failed = "answer" if attempt.sent else "accept a connection"
            raise SourceUnreachable(
                f"{display_url(outgoing.url)} did not {failed} within {bounds.seconds:g} seconds",
                hint="check that the service is up, then try again",
                reason="timeout",
                sent=attempt.sent,
                request={"method": outgoing.method, "url": display_url(outgoing.url)},
            ) from error
        except (SourceUnreachable, EgressRefused) as error:
            error.details.setdefault("request", {"method": outgoing.method, "url": display_url(outgoing.url)})
            raise

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    async def _follow(
        self,
        outgoing: Outgoing,
        origins: frozenset[str],
        bounds: Bounds,
        attempt: Attempt,
        may_follow: MayFollow | None,
    ) -> Answer:
        visited = [outgoing.url]
        transport = self._transport or await self.warm()
        while True:
            target = parse(outgoing.url)
            answer = await self._send_once(transport, outgoing, target, origins, bounds, attempt)
            location = answer.headers.get("Location")
            if answer.status not in REDIRECTS or location is None:
                return answer
            before, outgoing = outgoing, redirect(outgoing, target, answer.status, location)
            if outgoing.url in visited:
                raise too_many(visited, f"redirects in a circle, back to {display_url(outgoing.url)}")
            if len(visited) > MAX_REDIRECTS:
                raise too_many(visited, f"redirects more than {MAX_REDIRECTS} times")
            if may_follow is not None:
                await may_follow(before, outgoing)
            visited.append(outgoing.url)

    async def _send_once(
        self,
        transport: Transport,
        outgoing: Outgoing,
        target: Target,
        origins: frozenset[str],
        bounds: Bounds,
        attempt: Attempt,
    ) -> Answer:
        traffic = TRAFFIC.get()
        if traffic is not None:
            bounds = replace(bounds, size=traffic.limit(bounds.size))
        reach = self.reach(target, origins)
        if tracer.CURRENT.get() is None:
            answer = await transport.send(outgoing, target, reach, bounds, attempt)
        else:
            from executor.network.request_trace import trace_request

            with trace_request(outgoing, target) as (traced, note):
                answer = note(await transport.send(traced, target, reach, bounds, attempt))
        if traffic is not None:
            traffic.left -= len(answer.body)
        return answer

    def reach(self, target: Target, origins: frozenset[str]) -> Reach:
        """Raises EgressRefused for a private address that was not granted."""
        if TRAFFIC.get() is not None:
            origins = NO_ORIGINS
        elif self.allow_private:
            return ANY
        reach = reach_of(target, origins)
        if reach == PUBLIC and is_private_host(target.host):
            raise refusal(target.host)
        return reach


def redirect(outgoing: Outgoing, target: Target, status: int, location: str) -> Outgoing:
    """The request after a redirect. A body never leaves the origin and the path it was meant for."""
    url = urljoin(outgoing.url, location)
    after = parse(url)
    same_origin = after.origin == target.origin
    if target.scheme == "https" and after.scheme == "http":
        raise EgressRefused(
            f"{display_url(outgoing.url)} redirects to an unencrypted address",
            hint="use the final https:// address instead",
        )
    if outgoing.method in SAFE_METHODS:
        return Outgoing(outgoing.method, url, without_body_headers(outgoing.headers) if same_origin else {})
    if status == 303 and same_origin:
        return Outgoing("GET", url, without_body_headers(outgoing.headers))
    if status in (307, 308) and same_origin and same_place(outgoing.url, url):
        return Outgoing(outgoing.method, url, outgoing.headers, outgoing.body)
    raise EgressRefused(
        f"{display_url(outgoing.url)} redirects a {outgoing.method} ({status}) to "
        f"{display_url(url)}; the redirect was not followed",
        hint="if the service has moved, add the source again with the new address as its base URL",
        sent=True,
    )


def same_place(one: str, other: str) -> bool:
    """Whether two addresses of one origin differ in nothing but a slash at the end of the path."""
    before, after = urlsplit(one), urlsplit(other)
    return before.path.rstrip("/") == after.path.rstrip("/") and before.query == after.query


def without_body_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if not name.lower().startswith("content-")}


def check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _TOKEN.match(name) or _UNSAFE_VALUE.search(value):
            raise EgressRefused(
                f"the header {name[:80]!r} contains characters that are not allowed in headers",
                hint="remove line breaks and control characters from its value",
            )


def too_many(visited: list[str], what: str) -> SourceUnreachable:
    return SourceUnreachable(
        f"{display_url(visited[0])} {what}",
        hint="open the address in a browser and use the address where it ends",
        reason="redirects",
        sent=True,
        visited=[display_url(url) for url in visited],
    )
