"""The models of one session, as its executor process asks for them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from executor.errors import InvalidRequest
from executor.model.sessions.model_usage import PROVIDERS
from executor.sessions.model_proxy.access import Terms
from executor.sessions.model_proxy.proxy import ModelProxy
from executor.sessions.party import SessionParty
from executor.sessions.protocol.messages import ApiKey

RELAY = "http://localhost"  # what is behind it, the relay in front of the socket decides


class SessionModels:
    """From `open_models` until `close`. `socket` is where the agent's relay leads."""

    def __init__(self, proxy: ModelProxy, party: SessionParty, terms: Terms, socket: Path) -> None:
        self._proxy = proxy
        self._party = party
        self._terms = terms
        self.socket = socket

    async def issue(self, service: str) -> ApiKey:
        """A virtual key; each time another. `service` is a provider's name, as the agent's process says it."""
        provider = next((one for one in PROVIDERS if one == service), None)
        if provider is None:
            raise InvalidRequest(f"there is no model provider {service[:50]!r}", hint=f"use {', '.join(PROVIDERS)}")
        key = await self._proxy.open(self._party, provider, self._terms)
        expires_at = datetime.fromtimestamp(key.expires_at / 1000, UTC).isoformat()
        return {"api_key": key.api_key, "base_url": key.base_url_at(RELAY), "expires_at": expires_at}

    def take_budget_refusal(self) -> str:
        return self._proxy.take_budget_refusal(self._party.session_id)

    async def close(self) -> None:
        await self._proxy.close_session(self._party.session_id)


async def open_models(proxy: ModelProxy, party: SessionParty, terms: Terms) -> SessionModels:
    listener = await proxy.listen(party, terms)
    return SessionModels(proxy, party, terms, listener.path)
