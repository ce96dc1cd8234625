"""An authorization server that an operator trusts: what it publishes about itself, read when needed, kept a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from executor.errors import IssuerUnavailable, OAuthFailed
from executor.identity.oidc.network import HttpClient

KEPT_SECONDS = 3_600.0
RETRY_SECONDS = 10.0  # after a failure: no one who sends us tokens makes us ask more often
OAUTH = "oauth-authorization-server"
OPENID = "openid-configuration"


class Issuer:
    """`metadata` of exactly `url`: anyone who answers for another one could pass its keys off as that one's."""

    def __init__(self, url: str, http: HttpClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self._http = http
        self._clock = clock
        self._lock = asyncio.Lock()
        self._found: Mapping[str, Any] | None = None
        self._read_at = 0.0
        self._failed: tuple[float, str] | None = None

    async def metadata(self) -> Mapping[str, Any]:
        async with self._lock:
            now = self._clock()
            if self._found is not None and now - self._read_at < KEPT_SECONDS:
                return self._found
            if self._failed is None or now - self._failed[0] >= RETRY_SECONDS:
                await self._read(now)
            if self._found is None:
                raise unavailable(self.url, self._failed[1] if self._failed else "its metadata was never read")
            return self._found

    async def address(self, name: str) -> str:
        """One of its endpoints. Empty if it has none."""
        value = (await self.metadata()).get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > 2_000 or urlsplit(value).scheme not in ("https", "http"):
            raise unavailable(self.url, f"its `{name}` is not an address")
        if value.startswith("http:") and not same_origin(value, self.url):
            raise unavailable(self.url, f"its `{name}` is not encrypted")
        return value

    async def _read(self, now: float) -> None:
        """What was read before stays good if the next attempt fails."""
        self._failed = (now, "it publishes no metadata")
        for place in places(self.url):
            try:
                document = await self._http.document(place)
            except OAuthFailed as error:
                self._failed = (now, error.message)
                continue
            if document is None:
                continue
            if document.get("issuer") != self.url:
                self._failed = (now, "its metadata names another issuer")
                continue
            self._found, self._read_at, self._failed = document, now, None
            return


def places(issuer: str) -> list[str]:
    """RFC 8414 puts the well-known part before the issuer's path, OpenID behind it."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    found = [f"{path}/.well-known/{OPENID}", f"/.well-known/{OAUTH}{path}", f"/.well-known/{OPENID}{path}"]
    return list(dict.fromkeys(urlunsplit((parts.scheme, parts.netloc, one, "", "")) for one in found))


def same_origin(one: str, other: str) -> bool:
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def unavailable(issuer: str, why: str) -> IssuerUnavailable:
    return IssuerUnavailable(
        f"the authorization server {issuer} can't be used: {why}",
        hint="an operator must check the settings of the issuer and that it can be reached from here",
    )
