from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from executor.daemon.wiring.executor import Executor
from executor.settings import Settings
from tests.execution.conftest import shared_state
from tests.support.connection_harness import ConnectionHarness
from tests.support.protected_service import ProtectedService, running


@pytest.fixture
def service() -> Iterator[ProtectedService]:
    with running() as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    return Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"})


@pytest.fixture
async def harness(settings: Settings, service: ProtectedService) -> AsyncIterator[ConnectionHarness]:
    executor = await Executor.open(settings)
    harness = ConnectionHarness(executor, service)
    await harness.add_source()
    yield harness
    await executor.close()
