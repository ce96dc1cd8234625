"""18, 19, 22 and 24 once more: a large answer that echoes a credential is kept without it, in every form."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from executor.daemon.executor import Executor
from executor.secrets.redaction import MARK
from executor.settings import Settings
from executor.storage import artifacts
from tests.attacks.test_secrets import CANARY, writings
from tests.execution.conftest import shared_state
from tests.support.connected import Home
from tests.support.guarded import Guarded
from tests.support.leaky import leaking


@pytest.fixture
def service() -> Iterator[Guarded]:
    with leaking() as server:
        yield server


@pytest.fixture
async def home(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, service: Guarded) -> AsyncIterator[Home]:
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    executor = await Executor.open(Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"}))
    home = Home(executor, service)
    await home.add_source()
    yield home
    await executor.close()


async def test_a_large_echo_is_redacted_before_it_is_kept(home: Home, tmp_path: Path) -> None:
    """Defence: `errand.clean` in `Door.send` comes before the journal, and only the journal keeps artifacts."""
    await home.connect("token", {"token": CANARY})
    done = await home.run("return [await tools.guarded.use.hugeBearer({})]")
    assert done.execution.status == "completed", done.execution.failure
    found = await home.executor.database.read(lambda c: artifacts.page(c, home.workspace_id))
    assert sorted(one.call_seq for one in found) == [0, 1]
    for one in found:
        content = await home.executor.database.read(lambda c, one=one: artifacts.content(c, one))  # type: ignore[misc]
        assert MARK.encode() in content
        assert not writings(content.decode()) and not writings(one.preview)
    await home.executor.database.compact()
    assert not writings(_dump(tmp_path / "data" / "executor.db"))


def _dump(path: Path) -> str:
    with sqlite3.connect(path) as database:
        return "".join(row[0].decode("latin-1") for row in database.execute("select data from chunks"))
