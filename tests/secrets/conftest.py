"""Secrets on a real database in a directory of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from executor.model.identity.actor import Actor
from executor.secrets.master import FileKeeper
from executor.secrets.master_keys import KeptKeys
from executor.secrets.providers.environment import Environment
from executor.secrets.sealing import Sealing
from executor.secrets.secrets import Secrets
from executor.storage import migrate
from executor.storage.database import Database, open_engine
from executor.storage.identity import tenancy


@dataclass
class SecretsHarness:
    folder: Path
    database: Database
    secrets: Secrets
    workspace_id: str
    by: Actor


async def open_secrets(folder: Path, environ: dict[str, str] | None = None) -> SecretsHarness:
    folder.mkdir(exist_ok=True, mode=0o700)  # noqa: ASYNC240 - nothing else runs
    engine = open_engine(folder / "executor.db")
    migrate.migrate(engine)
    database = Database(engine)
    made = await database.write(tenancy.provision)
    providers = {"environment": Environment((), environ or {})}
    secrets = Secrets(database, Sealing(KeptKeys(FileKeeper(folder))), providers)
    await secrets.finish_rotation()
    return SecretsHarness(folder, database, secrets, made.workspace.id, made.operator)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[SecretsHarness]:
    place = await open_secrets(
        tmp_path / "data", {"EXECUTOR_SECRET_MAIL": "from-the-environment", "AWS_SECRET": "never"}
    )
    yield place
    await place.database.close()
