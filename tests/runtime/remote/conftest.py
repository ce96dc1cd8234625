from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from executor.runtime.registry import Runtimes
from executor.runtime.remote.host import SandboxHost
from executor.runtime.remote.live_runs import LiveRuns
from executor.runtime.remote.runtime import RemoteRuntime
from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.remote.host_process import Callback, serve_app

TOKEN = "exh_" + "t" * 43


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def callback() -> Callback:
    return Callback(LiveRuns())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def runtime(cache_dir: Path, callback: Callback) -> AsyncIterator[RemoteRuntime]:
    """A daemon's runtime, over HTTP to a host, whose sandboxes are real ones."""
    local = TypeScriptRuntime(workers=1, slots=8, cache_dir=cache_dir)
    await local.start()
    host = SandboxHost(Runtimes({"typescript": local}), token=TOKEN, places=8)
    async with serve_app(host) as url, serve_app(callback) as callback_url:
        remote = RemoteRuntime(url=url, token=TOKEN, callback_url=callback_url, runs=callback.runs)
        yield remote
        await remote.close()
    await host.close()
