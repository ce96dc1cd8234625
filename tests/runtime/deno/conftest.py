from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.util import find_spec

import pytest_asyncio

from executor.runtime.deno.runtime import DenoRuntime

collect_ignore_glob = [] if find_spec("deno") is not None else ["test_*.py"]  # an extra


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def runtime() -> AsyncIterator[DenoRuntime]:
    started = DenoRuntime(processes=4)
    await started.start()
    yield started
    await started.close()
