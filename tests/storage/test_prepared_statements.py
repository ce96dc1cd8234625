from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from executor.storage import migrate
from executor.storage.database import Database, connect_to_write
from executor.storage.executions import events
from executor.storage.identity.tenancy import Tenancy
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.core import chains
from tests.support.plans import recording

_seal = Prepared(sa.select(chains.c.seal, chains.c.event_id).where(chains.c.workspace_id == sa.bindparam("w")))
_insert = Prepared(sa.insert(chains), columns=["workspace_id", "event_id", "seal"])
_rename = Prepared(sa.update(chains).where(chains.c.workspace_id == sa.bindparam("w")).values(seal=sa.bindparam("s")))


async def test_rows_have_the_names_of_their_columns(database: Database, local: Tenancy) -> None:
    ws = local.workspace.id
    await database.write(lambda c: events.append(c, ws, "one", {}))

    def job(c: Connection) -> None:
        row, none = _seal(c, {"w": ws}).first(), _seal(c, {"w": "ws_none"}).first()
        assert none is None
        assert (row.seal, row.event_id) == tuple(row)
        assert _seal(c, {"w": ws}).one() == row
        assert _seal(c, {"w": ws}).scalar() == row.seal
        assert [found.seal for found in _seal(c, {"w": ws})] == [row.seal]

    await database.read(job)


async def test_a_change_says_how_many_rows_it_met(database: Database, local: Tenancy) -> None:
    ws = local.workspace.id
    await database.write(lambda c: events.append(c, ws, "one", {}))
    counts = await database.write(lambda c: [_rename(c, {"w": w, "s": "x"}).rowcount for w in (ws, "ws_none")])
    assert counts == [1, 0]


async def test_a_broken_constraint_raises_the_error_that_core_raises(database: Database, local: Tenancy) -> None:
    row = {"workspace_id": local.workspace.id, "event_id": 1, "seal": ""}

    def twice(c: Connection) -> None:
        _insert(c, row)
        _insert(c, [row])

    with pytest.raises(IntegrityError):
        await database.write(twice)
    assert await database.read(lambda c: _seal(c, {"w": local.workspace.id}).first()) is None


async def test_a_reader_sees_one_state_throughout_its_job(database: Database, local: Tenancy) -> None:
    """Also when nothing but prepared statements read: each alone would see what was committed before it."""
    ws = local.workspace.id
    await database.write(lambda c: events.append(c, ws, "one", {}))
    engine = database.engine

    def job(c: Connection) -> None:
        before = _seal(c, {"w": ws}).scalar()
        with engine.connect() as other, other.begin():
            other.execute(sa.update(chains).values(seal="changed meanwhile"))
        assert _seal(c, {"w": ws}).scalar() == before

    await database.read(job)


def test_anyone_who_listens_sees_the_statements(tmp_path: Path) -> None:
    engine = migrate.ready(tmp_path / "executor.db")
    with recording(engine) as recorded, engine.connect() as c:
        _seal(c, {"w": "ws_none"})
    assert any("FROM chains" in statement for statement in recorded.statements)
    engine.dispose()


def test_only_a_connection_that_writes_takes_the_lock_when_it_begins(tmp_path: Path) -> None:
    engine = migrate.ready(tmp_path / "executor.db")
    with connect_to_write(engine) as writer, writer.begin(), engine.connect() as reader:
        assert _seal(reader, {"w": "ws_none"}).first() is None
    with engine.connect() as again:
        assert "writes" not in again.info
    engine.dispose()
