from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api.serving import Daemon, running_daemon, running_upstream


@pytest.fixture(scope="package")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(scope="package")
def shop(daemon: Daemon) -> Iterator[list[Any]]:
    with running_upstream() as (address, made):
        added = daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "shop"})
        assert added.status == 201, added.body
        yield made


@asynccontextmanager
async def connected(daemon: Daemon, *, mode: str = "auto", role: str = "agent") -> AsyncIterator[Client]:
    """The official client over HTTP, with one of our tokens."""
    headers = {"Authorization": f"Bearer {getattr(daemon.tokens, role)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(f"{daemon.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)
