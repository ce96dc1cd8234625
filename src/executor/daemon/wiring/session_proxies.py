"""The proxies of agent sessions. Imported and wired when the first session needs them."""

from __future__ import annotations

from executor.daemon.wiring.provider_keys import base_urls
from executor.sessions.egress.proxy import EgressProxy
from executor.sessions.model_proxy.admission import Allowance
from executor.sessions.model_proxy.prices import load_prices
from executor.sessions.model_proxy.provider_keys import ProviderKeys
from executor.sessions.model_proxy.proxy import ModelProxy
from executor.sessions.model_proxy.upstream import Upstreams
from executor.sessions.noted_events import NotedEvents
from executor.sessions.socket_folder import SocketFolder
from executor.settings import Settings
from executor.storage.database import Database


class SessionProxies:
    def __init__(self, settings: Settings, database: Database, keys: ProviderKeys) -> None:
        self._noted = NotedEvents(database)
        self.model = ModelProxy(
            database,
            keys,
            Upstreams(base_urls(settings), allow_private=settings.allow_private_hosts),
            load_prices(settings.model_prices_file),
            SocketFolder(settings.state_dir / "models"),
            self._noted,
            allowance_of(settings),
        )
        self.egress = EgressProxy(
            SocketFolder(settings.state_dir / "egress"), self._noted, allow_private=settings.allow_private_hosts
        )

    async def close_session(self, session_id: str) -> None:
        await self.egress.close_session(session_id)
        await self.model.close_session(session_id)

    async def close(self) -> None:
        """Before the database closes: what was used is written down."""
        await self.egress.close()
        await self.model.close()
        await self._noted.close()


def allowance_of(settings: Settings) -> Allowance:
    return Allowance(
        models=settings.model_allowed,
        session_budget=settings.model_session_budget,
        user_budget=settings.model_user_budget,
        session_requests=settings.model_session_requests,
        user_requests=settings.model_user_requests,
    )
