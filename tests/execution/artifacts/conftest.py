"""Contents of artifacts on each database, in rows and on S3 servers of other people."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.files import CallFiles, FileStore
from executor.execution.artifacts.objects.store import Objects
from executor.model.artifact import Artifact
from executor.model.execution import Execution
from executor.model.ids import new_id, now_ms
from executor.storage.database import Database
from executor.storage.executions import artifacts, executions
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from tests.storage.test_contract import an_execution
from tests.support import object_store
from tests.support.databases import open_database

STORES = ["sqlite-rows", "sqlite-moto", "sqlite-s3rver", "postgresql-rows", "postgresql-moto"]


@dataclass
class Shelf:
    """A running execution, and where its artifacts are kept."""

    contents: Contents
    local: Tenancy
    execution: Execution

    @property
    def database(self) -> Database:
        return self.contents.database

    @property
    def files(self) -> CallFiles:
        return CallFiles(FileStore(self.contents), self.execution, 1, "drive.download")

    async def keep(self, content: bytes, declared: int | None = None) -> Artifact:
        """As a file that arrives in pieces of an odd size."""
        writer = self.files.begin("application/zip", "a.zip", declared)
        for start in range(0, len(content), 777_777):
            await writer.write(content[start : start + 777_777])
        kept = await writer.finish()
        return await self.find(kept.id)

    async def keep_result(self, content: bytes, **changes: object) -> Artifact:
        """As the result of a call, with the journal."""
        digest = hashlib.sha256(content).hexdigest()
        artifact = Artifact(
            id=new_id("art"),
            workspace_id=self.local.workspace.id,
            execution_id=self.execution.id,
            call_seq=0,
            name="result.txt",
            media_type="text/plain",
            form="text",
            size=len(content),
            digest=digest,
            preview="{}",
            created_at=now_ms(),
        )
        changed = replace(artifact, **changes)  # type: ignore[arg-type]
        return await self.database.write(lambda c: artifacts.add(c, changed, content))

    async def find(self, artifact_id: str) -> Artifact:
        found = await self.database.read(lambda c: artifacts.get(c, self.local.workspace.id, artifact_id))
        assert found is not None
        return found

    async def end(self) -> None:
        at = now_ms()
        await self.database.write(lambda c: executions.finish(c, self.execution.id, "completed", at, 1, "1", None))

    async def keys(self) -> list[str]:
        """What is in the store."""
        assert self.contents.store is not None
        return [key async for batch in self.contents.store.list() for key, _ in batch]


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    with object_store.serving_moto() as url:
        yield url


@pytest.fixture(scope="session")
def s3rver() -> Iterator[str]:
    with object_store.serving_s3rver() as url:
        yield url


@pytest.fixture(autouse=True)
def store_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in object_store.KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def proxy(moto: str) -> Iterator[object_store.FaultyProxy]:
    made = object_store.FaultyProxy(moto)
    yield made
    made.close()


async def open_shelf(database: Database, objects: Objects | None, least: int = 1) -> Shelf:
    local = await database.write(tenancy.provision)
    execution = an_execution(local)
    await database.write(lambda c: executions.insert(c, execution))
    return Shelf(Contents(database, objects, least), local, execution)


@pytest.fixture(params=STORES)
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shelf]:
    """One of each kind. Tests of objects alone use `object_shelf`."""
    engine, kind = request.param.split("-")
    url = "" if kind == "rows" else request.getfixturevalue(kind)
    objects = Objects(object_store.location(url, f"p/{secrets.token_hex(4)}")) if url else None
    async with open_database(engine, tmp_path) as database:
        yield await open_shelf(database, objects)
    if objects is not None:
        await objects.close()


@pytest.fixture(params=["sqlite", "postgresql"])
async def object_shelf(
    request: pytest.FixtureRequest, proxy: object_store.FaultyProxy, tmp_path: Path
) -> AsyncIterator[Shelf]:
    """Through a proxy that can fail."""
    objects = Objects(object_store.location(proxy.url, f"p/{secrets.token_hex(4)}"))
    async with open_database(request.param, tmp_path) as database:
        yield await open_shelf(database, objects)
    await objects.close()
