"""One runtime for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from executor.runtime.cpython import image
from executor.runtime.cpython.runtime import CPythonRuntime


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def runtime() -> AsyncIterator[CPythonRuntime]:
    if not image.COMPONENT.exists():
        pytest.skip("CPython was not built for the sandbox")
    started = CPythonRuntime(workers=1, slots=4, cache_dir=image.BESIDE)
    await started.start()
    yield started
    await started.close()
