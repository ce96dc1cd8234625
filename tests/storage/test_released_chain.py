"""On PostgreSQL, the head of an audit log is free for others while the server's disk writes the progress of a call.

A synchronous standby that never answers keeps every commit from being durable for as long as a test likes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import replace
from functools import partial

import psycopg
import pytest

from executor.errors import CommitUnknown
from executor.execution import history
from executor.execution.journal.journal import Journal
from executor.identity import audit
from executor.model.execution import Execution
from executor.storage.database import Database
from executor.storage.executions import event_chain, events, executions
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres import pipeline
from executor.storage.postgres.server import PostgresServer
from tests.storage.test_contract import a_call, an_execution, new_interaction
from tests.support import postgres
from tests.support.conditions import until, wait_for

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND wait_event = 'SyncRep'"
DELAYS = (
    "CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM pg_sleep(random() * 0.005); RETURN NULL; END $$",
    "CREATE CONSTRAINT TRIGGER delay AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW EXECUTE FUNCTION delay()",
)


@pytest.fixture
def place() -> str:
    return postgres.server().clear_shared()


@pytest.fixture
async def processes(place: str) -> AsyncIterator[list[Database]]:
    async with AsyncExitStack() as stack:
        opened = [await PostgresServer(postgres.server().url(place)).open() for _ in range(4)]
        for one in opened:
            stack.push_async_callback(one.close)
        yield opened


@pytest.fixture
async def local(processes: list[Database]) -> Tenancy:
    found = await processes[0].write(tenancy.provision)
    await processes[0].write(lambda c: events.append(c, found.workspace.id, "begun", {}))
    return found


@contextmanager
def absent_standby() -> Iterator[None]:
    """Within it, no commit is confirmed. The server takes a moment to begin with that."""
    server, ended = postgres.server(), threading.Event()
    watcher = threading.Thread(target=commit_until, args=(ended,))
    server.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    try:
        server.execute("SELECT pg_reload_conf()")
        watcher.start()
        wait_for(lambda: server.execute(WAITING.format("postgres"))[0][0], "commits wait for the standby")
        yield
    finally:
        ended.set()
        server.execute("ALTER SYSTEM RESET synchronous_standby_names")
        server.execute("SELECT pg_reload_conf()")
        watcher.join()


def commit_until(ended: threading.Event) -> None:
    with psycopg.connect(postgres.server().url("postgres"), autocommit=True) as c:
        while not ended.wait(0.01):
            c.execute(pipeline.FLUSH.encode())


async def add(database: Database, local: Tenancy) -> Execution:
    made = replace(an_execution(local), status="running")
    await database.write(lambda c: executions.insert(c, made))
    return made


async def wait_for_sessions(query: str, place: str, count: int) -> None:
    def have_come() -> bool:
        return bool(postgres.server().execute(query.format(place))[0][0] >= count)

    await until(have_come, f"{count} sessions wait")


def count(place: str, table: str, where: str = "true") -> int:
    return int(postgres.server().execute(f"SELECT count(*) FROM {table} WHERE {where}", place)[0][0])  # noqa: S608


async def collect(database: Database, local: Tenancy, most: int, seen: list[int]) -> None:
    async with aclosing(Feed(database).follow(local.workspace.id)) as batches:
        async for batch in batches:
            seen += [event.id for event in batch.events]
            if len(seen) >= most:
                return


async def test_processes_append_to_one_log_while_the_disk_writes_and_no_one_shows_it(
    processes: list[Database], local: Tenancy, place: str
) -> None:
    seen: list[int] = []
    running = [await add(one, local) for one in processes[:2]]
    journals = [Journal(one, execution) for one, execution in zip(processes, running, strict=False)]
    follower = asyncio.create_task(collect(processes[2], local, 3, seen))
    await until(lambda: seen, "the first event is seen")
    with absent_standby():
        for journal, execution in zip(journals, running, strict=True):
            journal.propose([a_call(execution, 1)], [], 0)
        durable = [asyncio.create_task(journal.durable()) for journal in journals]
        await until(lambda: count(place, "calls") == 2, "both have committed")
        polled = asyncio.create_task(history.read_events(processes[3], local.operator, None, after=0, limit=10))
        verified = asyncio.create_task(audit.verify(processes[3], local.operator, None))
        await wait_for_sessions(WAITING, place, 4)  # both journals, the stream, and one of those who read
        assert len(seen) == 1
        assert not any(task.done() for task in (*durable, follower, polled, verified))
    await asyncio.gather(*durable, follower)
    assert seen == [event.id for event in await polled]
    report = await verified
    assert (report.problem, report.events) == ("", 3)


@pytest.mark.parametrize("what", ["created", "requested", "paused", "ended"])
async def test_what_is_accepted_requested_or_ended_is_seen_only_when_it_is_durable(
    processes: list[Database], local: Tenancy, place: str, what: str
) -> None:
    journal = Journal(processes[0], execution := await add(processes[0], local))
    with absent_standby():
        if what == "created":
            journal = Journal(processes[0], replace(an_execution(local), status="queued"))
            journal.create()
            written = asyncio.create_task(journal.durable())
        elif what == "requested":
            journal.propose([a_call(execution, 1, state="proposed")], [new_interaction(execution, 1)], 0)
            written = asyncio.create_task(journal.durable())
        elif what == "paused":
            written = asyncio.create_task(journal.park([], 1))  # type: ignore[arg-type]
        else:
            written = asyncio.create_task(journal.finish("completed", "1", None, 1))  # type: ignore[arg-type]
        await wait_for_sessions(WAITING, place, 1)
        assert (count(place, "executions"), count(place, "executions", "status = 'running'")) == (1, 1)
        assert (count(place, "interactions"), count(place, "events"), written.done()) == (0, 1, False)
    await written
    assert count(place, "events") == 2 + (what == "requested")


async def test_progress_that_can_not_be_confirmed_is_unknown_and_never_written_twice(
    processes: list[Database], local: Tenancy, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(processes[0], execution := await add(processes[0], local))
    with monkeypatch.context() as broken:
        broken.setattr(pipeline, "FLUSH", "SELECT 1 / 0")
        journal.propose([a_call(execution, 1)], [], 0)
        with pytest.raises(CommitUnknown):
            await journal.durable()
    assert (count(place, "calls"), count(place, "events")) == (1, 2)
    again = Journal(processes[0], execution)
    again.note("execution.log", {"level": "info", "text": "x"})
    await again.durable()
    assert (await audit.verify(processes[0], local.operator, None)).problem == ""


async def test_without_the_right_to_flush_the_head_is_held_until_the_disk_has_it() -> None:
    server = postgres.server()
    place = server.create_migrated()
    server.execute("REVOKE EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) FROM PUBLIC", place)
    server.execute("CREATE ROLE modest LOGIN; GRANT pg_read_all_data, pg_write_all_data TO modest", place)
    server.execute("GRANT ALL ON SCHEMA public TO modest", place)
    database = await PostgresServer(server.url(place, role="modest")).open()
    try:
        local = await database.write(tenancy.provision)
        journal = Journal(database, execution := await add(database, local))
        journal.propose([a_call(execution, 1)], [], 0)
        await journal.durable()
        journal.answer([replace(a_call(execution, 1), state="succeeded", result="1", done_seq=1, done_ms=1)])
        with absent_standby():
            written = asyncio.create_task(journal.durable())
            await wait_for_sessions(WAITING, place, 1)
            assert count(place, "calls", "state = 'succeeded'") == 0
        await written
        assert (await audit.verify(database, local.operator, None)).problem == ""
    finally:
        await database.close()
        server.execute(f"DROP DATABASE {place}")
        server.execute("DROP ROLE modest")


async def journal_calls(database: Database, execution: Execution) -> None:
    journal = Journal(database, execution)
    for seq in range(1, 11):
        journal.propose([a_call(execution, seq)], [], 0)
        await journal.durable()
        journal.answer([replace(a_call(execution, seq), state="succeeded", result="1", done_seq=seq, done_ms=1)])
    await journal.finish("completed", "1", None, 1)


async def test_four_processes_that_commit_with_delays_have_one_order_for_everyone(
    processes: list[Database], local: Tenancy, place: str
) -> None:
    """The server waits for a random time at each commit, with the events written and not yet visible."""
    for statement in DELAYS:
        postgres.server().execute(statement, place)
    try:
        streams: list[list[int]] = [[], [], []]
        total = 1 + 4 * 3 * 21
        followers = [
            asyncio.create_task(collect(one, local, total, seen)) for one, seen in zip(processes, streams, strict=False)
        ]
        added = [(one, await add(one, local)) for one in processes for _ in range(3)]
        await asyncio.gather(*(journal_calls(one, execution) for one, execution in added))
        async with asyncio.timeout(120):
            await asyncio.gather(*followers)
    finally:
        postgres.server().execute("DROP TRIGGER delay ON events; DROP FUNCTION delay", place)
    whole = await processes[0].read(partial(events.after, workspace_id=local.workspace.id, limit=1_000))
    assert streams == [[event.id for event in whole]] * 3
    report = await processes[0].read(lambda c: event_chain.verify(c, local.workspace.id))
    assert (report.problem, report.events) == ("", total)
