"""One runtime for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from executor.runtime.python import image
from executor.runtime.python.runtime import PythonRuntime


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def runtime() -> AsyncIterator[PythonRuntime]:
    started = PythonRuntime(workers=1, slots=4, cache_dir=image.BESIDE)
    await started.start()
    yield started
    await started.close()
