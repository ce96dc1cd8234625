"""The model proxy on a real database, in front of a provider on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from executor.model.identity.actor import Actor
from executor.model.sessions.model_usage import ModelProvider as ProviderName
from executor.model.sessions.model_usage import Spending
from executor.secrets.master import FileKeeper
from executor.secrets.master_keys import KeptKeys
from executor.secrets.sealing import Sealing
from executor.secrets.secrets import Secrets
from executor.sessions.model_proxy.access import Terms, VirtualKey
from executor.sessions.model_proxy.admission import Allowance
from executor.sessions.model_proxy.prices import load_prices
from executor.sessions.model_proxy.provider_keys import ProviderKeys
from executor.sessions.model_proxy.proxy import ModelProxy
from executor.sessions.model_proxy.upstream import Upstreams
from executor.sessions.noted_events import NotedEvents
from executor.sessions.party import SessionParty
from executor.sessions.socket_folder import SocketFolder
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import tenancy
from tests.sessions.database import open_database
from tests.support.conditions import until
from tests.support.model_provider import ModelProvider, serving

REAL_KEY = "sk-real-9f3kQz71LmXw22vB"
MODEL = "claude-opus-4-5-20251101"
PRICES = """
[anthropic."*"]
input = 1.0
output = 10.0
cache_read = 0.1
cache_write = 1.25
cache_write_1h = 2.0
context = 1000
max_output = 100
"""


@dataclass
class Place:
    database: Database
    secrets: Secrets
    keys: ProviderKeys
    proxy: ModelProxy
    noted: NotedEvents
    provider: ModelProvider
    workspace_id: str
    by: Actor

    def party(self, session_id: str = "ses_1", actor_id: str = "") -> SessionParty:
        return SessionParty(session_id, self.workspace_id, actor_id or self.by.id)

    async def open(
        self, provider: ProviderName = "anthropic", terms: Terms | None = None, **options: Any
    ) -> VirtualKey:
        return await self.proxy.open(self.party(), provider, terms, **options)

    async def spending(self, session_id: str = "ses_1") -> Spending:
        return await self.proxy.spending(self.workspace_id, session_id)

    async def spending_when_idle(self, session_id: str = "ses_1") -> Spending:
        """Once nothing is under way."""

        async def is_idle() -> Spending | None:
            found = await self.spending(session_id)
            return found if found.reserved == 0 and not self.proxy._exchanges else None

        found: Spending = await until(is_idle)
        return found

    async def events(self, type: str) -> list[dict[str, Any]]:
        await self.noted.flush()
        found = await self.database.read(lambda c: events.after(c, self.workspace_id, types=(type,)))
        return [one.data for one in found]

    async def close(self) -> None:
        await self.proxy.close()
        await self.noted.close()
        await self.database.close()


async def open_place(folder: Path, provider: ModelProvider, allowance: Allowance | None = None) -> Place:
    database = open_database(folder)
    made = await database.write(tenancy.provision)
    secrets = Secrets(database, Sealing(KeptKeys(FileKeeper(folder))), {})
    await secrets.finish_rotation()
    bases: dict[ProviderName, str] = {
        "anthropic": provider.origin,
        "openai": f"{provider.origin}/v1",
        "gemini": provider.origin,
    }
    upstreams = Upstreams(bases)
    keys = ProviderKeys(database, secrets, {name: one.origin for name, one in upstreams.known.items()})
    noted = NotedEvents(database)
    (folder / "prices.toml").write_text(PRICES)
    proxy = ModelProxy(
        database,
        keys,
        upstreams,
        load_prices(folder / "prices.toml"),
        SocketFolder(folder / "sockets"),
        noted,
        allowance or Allowance(session_requests=1_000_000, user_requests=1_000_000),
    )
    return Place(database, secrets, keys, proxy, noted, provider, made.workspace.id, made.operator)


@pytest.fixture
async def provider() -> AsyncIterator[ModelProvider]:
    async with serving() as provider:
        yield provider


@pytest.fixture
async def place(tmp_path: Path, provider: ModelProvider) -> AsyncIterator[Place]:
    place = await open_place(tmp_path / "data", provider)
    for name in ("anthropic", "openai", "gemini"):
        await place.keys.set(name, "workspace", value=REAL_KEY, by=place.by)  # type: ignore[arg-type]
    yield place
    await place.close()


@asynccontextmanager
async def agent(key: VirtualKey) -> AsyncIterator[aiohttp.ClientSession]:
    """As an agent in a sandbox: behind a relay of the Unix socket."""
    connector = aiohttp.UnixConnector(path=str(key.socket), limit=0)
    opened: list[aiohttp.ClientResponse] = []

    async def remember(session: object, context: object, params: aiohttp.TraceRequestEndParams) -> None:
        opened.append(params.response)

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(remember)
    async with aiohttp.ClientSession("http://localhost", connector=connector, trace_configs=[trace]) as session:
        yield session
    for response in opened:
        response.close()


def message(max_tokens: int = 20, *, stream: bool = True, **more: Any) -> dict[str, Any]:
    asked = [{"role": "user", "content": "hello"}]
    return {"model": MODEL, "max_tokens": max_tokens, "stream": stream, "messages": asked, **more}


async def send_raw(key: VirtualKey, request: bytes) -> bytes:
    """Bytes as they are, and whatever comes back until the end."""
    reader, writer = await asyncio.open_unix_connection(str(key.socket))
    writer.write(request)
    async with asyncio.timeout(60):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer
