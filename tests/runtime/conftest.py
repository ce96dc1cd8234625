from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from executor.runtime.typescript.runtime import TypeScriptRuntime


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("image")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def runtime(cache_dir: Path) -> AsyncIterator[TypeScriptRuntime]:
    started = TypeScriptRuntime(workers=1, slots=8, cache_dir=cache_dir)
    await started.start()
    yield started
    await started.close()
