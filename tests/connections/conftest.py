from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from executor.daemon.wiring.executor import Executor
from executor.settings import Settings
from tests.execution.conftest import shared_state
from tests.support.connected import Home
from tests.support.guarded import Guarded, running


@pytest.fixture
def service() -> Iterator[Guarded]:
    with running() as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    return Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"})


@pytest.fixture
async def home(settings: Settings, service: Guarded) -> AsyncIterator[Home]:
    executor = await Executor.open(settings)
    home = Home(executor, service)
    await home.add_source()
    yield home
    await executor.close()
