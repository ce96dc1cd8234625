from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from executor.daemon import control
from executor.settings import Settings
from tests.support.shop import daemon, shop
from tests.support.tool_results import about, text_of, value_of
from tests.surfaces.api.daemon_server import Daemon

__all__ = ["about", "daemon", "shop", "text_of", "value_of"]


@asynccontextmanager
async def connect_client(daemon: Daemon, *, mode: str = "auto", role: str = "agent") -> AsyncIterator[Client]:
    """The official client over HTTP, with one of our tokens."""
    headers = {"Authorization": f"Bearer {getattr(daemon.tokens, role)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=240, trust_env=False) as http:
        transport = streamable_http_client(f"{daemon.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A data directory of its own, on any free port; whatever daemon was started there is stopped at the end."""
    folder = tmp_path_factory.mktemp("stdio")
    config = folder / "config.toml"
    config.write_text("workers = 1\n")
    names = {"PATH": os.environ["PATH"], "HOME": str(folder), "EXECUTOR_PORT": "0", "EXECUTOR_CONFIG": str(config)}
    found = {**names, "EXECUTOR_DATA_DIR": str(folder / "data"), "EXECUTOR_STATE_DIR": str(folder / "state")}
    yield found
    control.stop(Settings.load(found))


def operator(environment: dict[str, str], *arguments: str) -> Any:
    command = [sys.executable, "-m", "executor", *arguments, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)
