from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api.serving import Daemon
from tests.support.shop import daemon, shop
from tests.support.tool_results import about, text_of, value_of

__all__ = ["about", "daemon", "shop", "text_of", "value_of"]


@asynccontextmanager
async def connected(daemon: Daemon, *, mode: str = "auto", role: str = "agent") -> AsyncIterator[Client]:
    """The official client over HTTP, with one of our tokens."""
    headers = {"Authorization": f"Bearer {getattr(daemon.tokens, role)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(f"{daemon.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client
