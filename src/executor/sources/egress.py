"""The one outbound HTTP client: every request to a source's document or service goes through here.

Host names are resolved once, by `GuardedResolver`, at the moment a connection is made: the address that was checked is
the address that is used. Origins that an operator granted use a second pool, so that a connection made for one source
can't be borrowed by another that has no such grant.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from executor import __version__
from executor.errors import EgressRefused, SourceUnreachable
from executor.sources.addresses import Target, is_private, is_private_host, literal, parse, refusal, shown
from executor.sources.inflate import Inflater

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Shorter than the five seconds after which common servers drop an idle connection: a write must not meet that moment.
KEEP_ALIVE_SECONDS = 4.0
NO_ORIGINS: frozenset[str] = frozenset()
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Bounds:
    """`seconds` is for everything, redirects and body included; `size` counts bytes after decompression."""

    seconds: float = 60.0
    size: int = 10_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    url: str

    @property
    def media_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`headers` go only to the origin of `url`; a redirect elsewhere loses them all."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


class GuardedResolver(AbstractResolver):
    """Refuses a name if any of its addresses is private: an attacker chooses which one would be used."""

    def __init__(self) -> None:
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        for result in found:
            address = literal(result["host"].partition("%")[0])
            if address is None or is_private(address):
                raise refusal(Target("", "", host, port), result["host"])
        return found

    async def close(self) -> None:
        await self._inner.close()


class Egress:
    """`allow_private` opens private networks for every source: a setting for closed installations."""

    def __init__(self, *, allow_private: bool = False, connect_seconds: float = 10.0) -> None:
        self._allow_private = allow_private
        self._connect_seconds = connect_seconds
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def send(
        self, outgoing: Outgoing, *, origins: frozenset[str] = NO_ORIGINS, bounds: Bounds | None = None
    ) -> Answer:
        """Raises EgressRefused or SourceUnreachable; `details` tell the `reason` and if it may have been `sent`."""
        bounds = bounds or Bounds()
        check_headers(outgoing.headers)
        try:
            async with asyncio.timeout(bounds.seconds):
                return await self._follow(outgoing, origins, bounds)
        except TimeoutError as error:
            raise SourceUnreachable(
                f"{shown(outgoing.url)} did not answer within {bounds.seconds:g} seconds",
                hint="check that the service is up, then try again",
                reason="timeout",
                sent=True,
            ) from error

    async def close(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()

    async def _follow(self, outgoing: Outgoing, origins: frozenset[str], bounds: Bounds) -> Answer:
        visited = [outgoing.url]
        while True:
            target = parse(outgoing.url)
            answer = await self._once(outgoing, target, self._is_open(target, origins), bounds)
            location = answer.headers.get("Location")
            if answer.status not in REDIRECTS or location is None:
                return answer
            outgoing = redirected(outgoing, target, answer.status, location)
            if outgoing.url in visited:
                raise too_many(visited, f"redirects in a circle, back to {shown(outgoing.url)}")
            if len(visited) > MAX_REDIRECTS:
                raise too_many(visited, f"redirects more than {MAX_REDIRECTS} times")
            visited.append(outgoing.url)

    def _is_open(self, target: Target, origins: frozenset[str]) -> bool:
        if self._allow_private or target.origin in origins:
            return True
        if is_private_host(target.host):
            raise refusal(target)
        return False

    async def _once(self, outgoing: Outgoing, target: Target, is_open: bool, bounds: Bounds) -> Answer:
        attempts = 2 if outgoing.method in SAFE_METHODS else 1
        while True:
            attempts -= 1
            try:
                return await self._exchange(outgoing, target, is_open, bounds)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if attempts == 0 or isinstance(error, aiohttp.ClientConnectorError):
                    raise unreachable(target, error) from error
            except (aiohttp.ClientError, OSError) as error:
                raise unreachable(target, error) from error

    async def _exchange(self, outgoing: Outgoing, target: Target, is_open: bool, bounds: Bounds) -> Answer:
        session = self._sessions.get(is_open) or self._open_session(is_open)
        url = URL(target.url, encoded=True)
        async with session.request(
            outgoing.method, url, headers=outgoing.headers, data=outgoing.body, allow_redirects=False
        ) as response:
            body = await read_body(response, bounds.size)
            return Answer(response.status, response.headers, body, outgoing.url)

    def _open_session(self, is_open: bool) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            resolver=None if is_open else GuardedResolver(),
            limit=200,
            limit_per_host=100,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": f"executor/{__version__}", "Accept-Encoding": "gzip, deflate"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_seconds),
            auto_decompress=False,
            trust_env=False,
        )
        # aiohttp would silently send PUT and DELETE again; `_once` repeats only what is safe to repeat.
        session._retry_connection = False
        self._sessions[is_open] = session
        return session


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    inflater = Inflater(response.headers.get("Content-Encoding", ""), limit)
    declared = response.content_length
    if inflater.is_plain and declared is not None and declared <= limit:
        return await response.read()
    async for chunk in response.content.iter_any():
        if not inflater.feed(chunk):
            raise SourceUnreachable(
                f"{shown(str(response.url))} answered with more than {limit:,} bytes",
                hint="ask for less: a page, a filter or a smaller range",
                reason="too_large",
                sent=True,
            )
    return inflater.finish()


def redirected(outgoing: Outgoing, target: Target, status: int, location: str) -> Outgoing:
    """The request after a redirect. A body never leaves the origin it was meant for."""
    url = urljoin(outgoing.url, location)
    after = parse(url)
    same_origin = after.origin == target.origin
    if target.scheme == "https" and after.scheme == "http":
        raise EgressRefused(
            f"{shown(outgoing.url)} redirects to an unencrypted address", hint="use the final https:// address instead"
        )
    if outgoing.method in SAFE_METHODS:
        return Outgoing(outgoing.method, url, outgoing.headers if same_origin else {})
    if status == 303 and same_origin:
        return Outgoing("GET", url, without_body_headers(outgoing.headers))
    if status in (307, 308) and same_origin:
        return Outgoing(outgoing.method, url, outgoing.headers, outgoing.body)
    raise EgressRefused(
        f"{shown(outgoing.url)} redirects a {outgoing.method} ({status}) to {shown(url)}, which was not followed",
        hint="if the service has moved, add the source again with the new address as its base URL",
        sent=True,
    )


def without_body_headers(headers: Mapping[str, str]) -> CIMultiDict[str]:
    return CIMultiDict((name, value) for name, value in headers.items() if not name.lower().startswith("content-"))


def check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _TOKEN.match(name) or _UNSAFE_VALUE.search(value):
            raise EgressRefused(
                f"the header {name[:80]!r} contains characters that no header may have",
                hint="remove line breaks and control characters from its value",
            )


def too_many(visited: list[str], what: str) -> SourceUnreachable:
    return SourceUnreachable(
        f"{shown(visited[0])} {what}",
        hint="open the address in a browser and use the one it ends at",
        reason="redirects",
        sent=True,
        visited=[shown(url) for url in visited],
    )


def unreachable(target: Target, error: Exception) -> SourceUnreachable:
    where = target.origin
    sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        reason, message = "dns", f"the host {target.host} could not be found"
    elif isinstance(error, aiohttp.ClientSSLError):
        reason, message = "tls", f"{where} has no certificate that can be trusted: {cause(error)}"
    elif isinstance(error, aiohttp.ConnectionTimeoutError):
        reason, message = "timeout", f"{where} did not accept a connection in time"
    elif isinstance(error, aiohttp.ClientConnectorError):
        reason, message = "connect", f"{where} could not be reached: {cause(error)}"
    else:
        reason, message = "closed", f"{where} closed the connection before it answered in full"
    hint = "check the address and that the service is running, then try again"
    return SourceUnreachable(message, hint=hint, reason=reason, sent=sent)


def cause(error: Any) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
