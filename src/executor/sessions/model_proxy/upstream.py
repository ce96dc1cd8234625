"""Connections to the providers: to one fixed address each, without redirects, cookies or environment proxies."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
from yarl import URL

from executor.dataclass import dataclass
from executor.model.sessions.model_usage import PROVIDERS, ModelProvider
from executor.network.addresses import Target, parse
from executor.network.private_access import ANY, grant_of, reach_of
from executor.network.transport import GuardedResolver
from executor.sessions.model_proxy.access import BASE_PATHS
from executor.sessions.model_proxy.wire.headers import Pairs

CONNECT_SECONDS = 15.0
SILENT_SECONDS = 600.0  # a model may think for minutes before it says a word
TOTAL_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """`base` is written as the provider's SDKs take it; `origin` is where its key may be sent."""

    base: str
    origin: str


def read_upstreams(bases: Mapping[ModelProvider, str]) -> dict[ModelProvider, Upstream]:
    return {provider: Upstream(bases[provider].rstrip("/"), parse(bases[provider]).origin) for provider in PROVIDERS}


class Upstreams:
    """An operator wrote the addresses, so one on a private network is meant; but only that one."""

    def __init__(self, bases: Mapping[ModelProvider, str], *, allow_private: bool = False) -> None:
        self.known = read_upstreams(bases)
        self._allow_private = allow_private
        self._sessions: dict[ModelProvider, aiohttp.ClientSession] = {}

    async def send(
        self, provider: ModelProvider, method: str, target: str, headers: Pairs, body: bytes
    ) -> aiohttp.ClientResponse:
        """The response once its headers are there. The caller reads and closes it.

        What costs is a POST, which aiohttp never sends again.
        """
        session = self._sessions.get(provider) or await self._open(provider)
        url = URL(self.known[provider].base + target.removeprefix(BASE_PATHS[provider]), encoded=True)
        return await session.request(method, url, headers=headers, data=body or None, allow_redirects=False)

    async def _open(self, provider: ModelProvider) -> aiohttp.ClientSession:
        target = parse(self.known[provider].base)
        connector = aiohttp.TCPConnector(resolver=await self._resolver(target), limit=0, keepalive_timeout=4.0)
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Content-Type", "User-Agent", "Accept"),
            timeout=aiohttp.ClientTimeout(TOTAL_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=SILENT_SECONDS),
            trust_env=False,
        )
        existing = self._sessions.setdefault(provider, session)
        if existing is not session:
            await session.close()
        return existing

    async def _resolver(self, target: Target) -> GuardedResolver | None:
        grant = await grant_of(target)
        reach = ANY if self._allow_private else reach_of(target, frozenset({grant} if grant else ()))
        return None if reach == ANY else GuardedResolver(reach)

    async def close(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()
