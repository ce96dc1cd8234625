"""What the repository of artifacts promises, whatever the database behind it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import NotFound
from executor.model.artifact import Artifact
from executor.model.ids import new_id, now_ms
from executor.storage.database import Database
from executor.storage.executions import artifacts, executions
from executor.storage.identity.tenancy import Tenancy
from executor.storage.tables.core import chunks
from tests.storage.test_contract import an_execution

CONTENT = bytes(range(256)) * 4 * 1024  # 1 MB: four pieces


def an_artifact(execution_id: str, local: Tenancy, content: bytes = CONTENT, **changes: object) -> Artifact:
    digest = hashlib.sha256(content).hexdigest()
    artifact = Artifact(
        new_id("art"),
        local.workspace.id,
        execution_id,
        0,
        "result.bin",
        "image/png",
        "bytes",
        len(content),
        digest,
        "{}",
        now_ms(),
    )
    return replace(artifact, **changes)  # type: ignore[arg-type]


async def store_artifact(database: Database, local: Tenancy) -> Artifact:
    execution = an_execution(local)
    artifact = an_artifact(execution.id, local)

    def job(c: Connection) -> Artifact:
        executions.insert(c, execution)
        return artifacts.add(c, artifact, CONTENT)

    return await database.write(job)


async def pieces(database: Database) -> int:
    count = sa.select(sa.func.count()).select_from(chunks)
    return await database.read(lambda c: int(c.execute(count).scalar_one()))


async def test_content_comes_back_whole_and_in_any_part(database: Database, local: Tenancy) -> None:
    artifact = await store_artifact(database, local)
    assert await database.read(lambda c: artifacts.get(c, local.workspace.id, artifact.id)) == artifact
    assert await database.read(lambda c: artifacts.content(c, artifact)) == CONTENT
    size, edge = len(CONTENT), artifacts.CHUNK
    for start, end in ((0, 1), (size - 1, size), (edge - 1, edge + 1), (edge, edge), (edge, 2 * edge), (5, size)):
        part = await database.read(lambda c, s=start, e=end: artifacts.content(c, artifact, s, e))  # type: ignore[misc]
        assert part == CONTENT[start:end], (start, end)


async def test_the_same_content_of_an_execution_is_written_once(database: Database, local: Tenancy) -> None:
    artifact = await store_artifact(database, local)
    again = replace(artifact, id=new_id("art"))
    other = replace(artifact, id=new_id("art"), call_seq=3, name="of-a-call.bin")
    assert (await database.write(lambda c: artifacts.add(c, again, CONTENT))).id == artifact.id
    assert (await database.write(lambda c: artifacts.add(c, other, CONTENT))).id == other.id
    assert await pieces(database) == 4


async def test_content_goes_with_the_last_artifact_that_has_it(database: Database, local: Tenancy) -> None:
    artifact = await store_artifact(database, local)
    other = replace(artifact, id=new_id("art"), call_seq=3)
    await database.write(lambda c: artifacts.add(c, other, CONTENT))
    assert await database.write(lambda c: artifacts.delete(c, artifact))
    assert not await database.write(lambda c: artifacts.delete(c, artifact))
    assert await pieces(database) == 4
    assert await database.read(lambda c: artifacts.content(c, other)) == CONTENT
    assert await database.write(lambda c: artifacts.delete(c, other))
    assert await pieces(database) == 0
    known = await database.read(lambda c: artifacts.get(c, local.workspace.id, artifact.id))
    assert known is not None and known.deleted_at and known.digest == artifact.digest
    assert await database.read(lambda c: artifacts.page(c, local.workspace.id)) == []


async def test_another_workspace_and_another_actor_see_nothing(database: Database, local: Tenancy) -> None:
    artifact = await store_artifact(database, local)
    ws = local.workspace.id
    assert await database.read(lambda c: artifacts.get(c, "ws_other", artifact.id)) is None
    assert await database.read(lambda c: artifacts.page(c, "ws_other")) == []
    elsewhere = replace(artifact, workspace_id="ws_other")
    with pytest.raises(NotFound):
        await database.read(lambda c: artifacts.content(c, elsewhere))
    assert await database.read(lambda c: artifacts.page(c, ws, actor_id="act_other")) == []
    assert await database.read(lambda c: artifacts.page(c, ws, actor_id=local.agent.id)) == [artifact]


async def test_empty_content_is_content(database: Database, local: Tenancy) -> None:
    execution = an_execution(local)
    artifact = an_artifact(execution.id, local, b"")
    await database.write(lambda c: executions.insert(c, execution))
    await database.write(lambda c: artifacts.add(c, artifact, b""))
    assert await database.read(lambda c: artifacts.content(c, artifact)) == b""
