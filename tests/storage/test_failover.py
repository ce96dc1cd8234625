"""A synchronous standby is promoted while writes are under way: what was confirmed is there, and once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from executor.daemon.doctor.postgres import check_postgres
from executor.errors import CommitUnknown, StorageError
from executor.storage.database import Database
from executor.storage.executions import event_chain, events
from executor.storage.identity import tenancy
from executor.storage.postgres.server import PostgresServer
from tests.support.conditions import until, wait_for
from tests.support.failover import Pair


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.remove()


class Writer:
    """Writes one numbered event after the other until it is stopped."""

    def __init__(self, database: Database, workspace_id: str) -> None:
        self._database = database
        self._workspace_id = workspace_id
        self.confirmed: list[str] = []
        self.unknown: list[str] = []
        self.task = asyncio.create_task(self._write())

    async def _write(self) -> None:
        number = 0
        while True:
            name, number = f"event.{number}", number + 1
            try:
                await self._database.write(lambda c, n=name: events.append(c, self._workspace_id, n, {}))  # type: ignore[misc]
                self.confirmed.append(name)
            except CommitUnknown:
                self.unknown.append(name)
            except StorageError:
                await asyncio.sleep(0.05)


async def test_a_promoted_synchronous_standby_has_every_confirmed_write_once(pair: Pair) -> None:
    server = PostgresServer(pair.client_url(pair.create()))
    server.migrate()
    database = await server.open()
    try:
        local = await database.write(tenancy.provision)
        writer = Writer(database, local.workspace.id)
        await until(lambda: len(writer.confirmed) > 20)
        await asyncio.to_thread(pair.fail_over)
        before = len(writer.confirmed)
        await until(lambda: len(writer.confirmed) > before + 20, "writes continue on the promoted server")
        writer.task.cancel()
        await asyncio.gather(writer.task, return_exceptions=True)
        found = Counter(one.type for one in await database.read(lambda c: events.after(c, local.workspace.id)))
        assert [name for name in writer.confirmed if found[name] != 1] == []
        assert [name for name in writer.unknown if found[name] > 1] == []
        report = await database.read(lambda c: event_chain.verify(c, local.workspace.id))
        assert report.problem == ""
    finally:
        await database.close()


async def test_a_commit_waits_for_the_standby_whatever_the_default_of_the_role_is(pair: Pair) -> None:
    name = pair.create()
    server = PostgresServer(pair.client_url(name))
    server.migrate()
    pair.execute(f"ALTER DATABASE {name} SET synchronous_commit = local")
    database = await server.open()
    try:
        show = sa.text("SHOW synchronous_commit")
        assert await database.write(lambda c: c.execute(show).scalar()) == "on"
    finally:
        await database.close()


def test_the_doctor_warns_of_a_failover_that_may_forget_calls(pair: Pair) -> None:
    server = PostgresServer(pair.client_url(pair.create()))

    def status(names: str) -> str:
        pair.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        pair.execute("SELECT pg_reload_conf()")
        wait_for(lambda: pair.execute("SHOW synchronous_standby_names") == [(names,)])
        [check] = [check for check in check_postgres(server) if check.name == "database failover"]
        return check.status

    assert [status(names) for names in ("near", "")] == ["ok", "warning"]
