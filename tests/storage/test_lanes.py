"""Two lanes of writes on PostgreSQL: what is of one execution stays in order, and streams of events miss nothing."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import pytest

from executor.execution.journal.journal import Journal
from executor.model.execution import Execution, Failure
from executor.storage.database import Database
from executor.storage.executions import calls, event_chain, events, executions
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres.server import PostgresServer
from tests.storage.test_contract import a_call, an_execution
from tests.support import postgres

EXECUTIONS, CALLS = 10, 15


@pytest.fixture
async def processes() -> AsyncIterator[list[Database]]:
    """Two on one database."""
    url = postgres.server().url(postgres.server().clear_shared())
    async with AsyncExitStack() as stack:
        opened = [await PostgresServer(url).open() for _ in range(2)]
        for one in opened:
            stack.push_async_callback(one.close)
        yield opened


@pytest.fixture
async def local(processes: list[Database]) -> Tenancy:
    return await processes[0].write(tenancy.provision)


async def add(database: Database, local: Tenancy) -> Execution:
    made = replace(an_execution(local), status="running")
    await database.write(lambda c: executions.insert(c, made))
    return made


async def test_a_journal_does_not_wait_for_a_long_write_of_something_else(
    processes: list[Database], local: Tenancy
) -> None:
    database, release = processes[0], threading.Event()
    execution = await add(database, local)
    long = database.write(lambda c: release.wait(120))
    journal = Journal(database, execution)
    journal.propose([a_call(execution, 1)], [])
    await journal.durable()
    assert not long.done()
    release.set()
    assert await long


async def journal_calls(database: Database, execution: Execution, chance: random.Random) -> None:
    """Each answer travels while the next call is made, as in a run. Nothing is awaited in between."""
    journal = Journal(database, execution)
    for seq in range(1, CALLS + 1):
        journal.propose([a_call(execution, seq)], [])
        journal.flush()
        journal.answer([replace(a_call(execution, seq), state="succeeded", result="1", done_seq=seq, done_ms=1)])
        if chance.random() < 0.5:
            await journal.durable()
    await journal.durable()


async def follow(database: Database, workspace_id: str, ended: asyncio.Event) -> list[int]:
    """As a stream reads: what comes after the last one that it has seen."""
    seen: list[int] = []
    while True:
        is_last = ended.is_set()
        after = seen[-1] if seen else 0
        found = await database.read(partial(events.after, workspace_id=workspace_id, after=after))
        seen += [one.id for one in found]
        if is_last and not found:
            return seen


async def test_executions_of_two_processes_at_once_keep_the_order_of_each_and_of_the_events(
    processes: list[Database], local: Tenancy
) -> None:
    workspace_id, chance, ended = local.workspace.id, random.Random(3), asyncio.Event()
    added = [(one, await add(one, local)) for one in processes * (EXECUTIONS // 2)]
    cancelled = await add(processes[0], local)
    followers = [asyncio.create_task(follow(one, workspace_id, ended)) for one in processes]
    admin = [
        one.write(lambda c: events.append(c, workspace_id, "policy.added", {})) for one in processes for _ in range(10)
    ]
    await asyncio.gather(*(journal_calls(one, execution, chance) for one, execution in added), *admin)
    await processes[1].write(lambda c: executions.cancel(c, cancelled.id, Failure("cancelled", "", "")))
    ended.set()
    whole = await processes[0].read(lambda c: events.after(c, workspace_id, limit=10_000))
    for follower in followers:
        assert await follower == [one.id for one in whole]
    for _, execution in added:
        types = [(one.type, one.data["seq"]) for one in whole if one.execution_id == execution.id]
        assert types == [(what, seq) for seq in range(1, CALLS + 1) for what in ("call.started", "call.succeeded")]
        found = await processes[0].read(lambda c, e=execution: calls.of_execution(c, workspace_id, e.id))  # type: ignore[misc]
        assert [one.done_seq for one in found] == list(range(1, CALLS + 1))
    report = await processes[0].read(lambda c: event_chain.verify(c, workspace_id))
    assert (report.problem, report.events) == ("", EXECUTIONS * CALLS * 2 + 20)
