"""What a change costs in round trips to PostgreSQL, and what holds although its statements travel together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import Fenced, InternalError
from executor.execution.approvals.settlement import find_locked, settle
from executor.execution.journal.journal import Journal
from executor.model.execution import Call, Execution
from executor.storage.database import Database
from executor.storage.executions import calls, event_chain, events, executions, segments
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres.server import PostgresServer
from tests.storage.test_contract import a_call, an_execution, new_interaction
from tests.support import postgres
from tests.support.round_trips import RoundTrips


@pytest.fixture
def place() -> str:
    return postgres.server().clear_shared()


@pytest.fixture
async def database(place: str) -> AsyncIterator[Database]:
    opened = await PostgresServer(postgres.server().url(place)).open()
    yield opened
    await opened.close()


@pytest.fixture
async def local(database: Database) -> Tenancy:
    found = await database.write(tenancy.provision)
    await database.write(lambda c: events.append(c, found.workspace.id, "begun", {}))
    return found


@pytest.fixture
async def trips(database: Database, local: Tenancy, place: str, tmp_path: Path) -> RoundTrips:
    counted = RoundTrips(database, tmp_path)
    end_sessions(place)
    for execution_id in ("", "any"):
        await database.write(lambda c: c.execute(sa.text("SELECT 1")), execution_id=execution_id)
    await database.read(lambda c: c.execute(sa.text("SELECT 1")))
    return counted


def end_sessions(place: str) -> None:
    """Until they have ended."""
    end = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{}'"
    postgres.server().execute(end.format(place))


async def cost(trips: RoundTrips, start: Callable[[], Awaitable[Any]]) -> int:
    before = trips.count()
    await start()
    return trips.count() - before


async def add(database: Database, local: Tenancy, **changes: Any) -> Execution:
    made = replace(an_execution(local), **{"status": "running", **changes})
    await database.write(lambda c: executions.insert(c, made))
    return made


def an_answered_call(execution: Execution, seq: int) -> Call:
    return replace(a_call(execution, seq), state="succeeded", result="1", done_seq=seq, done_ms=1)


async def test_a_journalled_call_costs_two_round_trips(database: Database, local: Tenancy, trips: RoundTrips) -> None:
    journal = Journal(database, execution := await add(database, local))
    journal.propose([a_call(execution, 1)], [], 0)
    assert await cost(trips, journal.durable) == 2
    for seq in range(1, 9):  # also while the driver prepares the statements
        journal.answer([an_answered_call(execution, seq)])
        journal.propose([a_call(execution, seq + 1), a_call(execution, seq + 100)], [], 0)
        assert await cost(trips, journal.durable) == 2
    report = await database.read(lambda c: event_chain.verify(c, local.workspace.id))
    assert (report.problem, report.events) == ("", 26)


async def test_from_submission_to_start_there_are_six(database: Database, local: Tenancy, trips: RoundTrips) -> None:
    journal = Journal(database, replace(an_execution(local), status="queued"))
    journal.create()
    assert await cost(trips, journal.durable) == 1
    assert await cost(trips, lambda: database.read(segments.has_queued)) == 2
    claim = partial(segments.claim_queued, owner="me", most=8)
    assert await cost(trips, lambda: database.write(claim)) == 3
    assert not await database.read(segments.has_queued)


async def test_from_approval_to_the_end_there_are_few(database: Database, local: Tenancy, trips: RoundTrips) -> None:
    journal = Journal(database, execution := await add(database, local))
    asked = new_interaction(execution, 1)
    journal.propose([a_call(execution, 1, state="proposed")], [asked], 0)
    assert await cost(trips, journal.durable) == 2
    assert await cost(trips, lambda: journal.park([1], 1)) == 3

    def approve(c: Connection) -> None:
        found = find_locked(c, execution.workspace_id, asked.id)
        assert found is not None
        settle(c, found, "approved", by=local.operator)

    assert await cost(trips, lambda: database.write(approve)) == 6
    [claimed] = await database.write(lambda c: segments.claim_queued(c, "me", 8))
    journal = Journal(database, claimed)
    assert await cost(trips, journal.load) == 5
    journal.start([(a_call(claimed, 1), asked)], 0)
    assert await cost(trips, journal.durable) == 2
    journal.answer([an_answered_call(claimed, 1)])
    assert await cost(trips, lambda: journal.finish("completed", "1", None, 3)) == 2


async def test_calls_judged_under_other_policies_are_not_journalled(database: Database, local: Tenancy) -> None:
    journal = Journal(database, execution := await add(database, local))
    await database.write(lambda c: events.append(c, local.workspace.id, "policy.added", {}))
    journal.note("execution.log", {"text": "before"})
    journal.propose([a_call(execution, 1)], [], 0)
    await journal.durable()
    assert journal.moved == 1
    assert await database.read(lambda c: calls.of_execution(c, local.workspace.id, execution.id)) == []
    journal.propose([a_call(execution, 1)], [], 1)
    await journal.durable()
    assert journal.moved is None
    found = await database.read(lambda c: events.after(c, local.workspace.id, execution_id=execution.id))
    assert [one.type for one in found] == ["execution.log", "call.started"]


class Held:
    """Journals wait behind it, and then share a transaction."""

    def __init__(self, database: Database) -> None:
        self._release = threading.Event()
        self._written = database.write(lambda c: self._release.wait(60), execution_id="none")

    async def release(self) -> None:
        self._release.set()
        await self._written


async def test_of_jobs_that_share_a_transaction_those_that_fail_do_so_alone(database: Database, local: Tenancy) -> None:
    whole = [await add(database, local) for _ in range(4)]
    stale, wrong = await add(database, local, epoch=7), await add(database, local)
    journals = [Journal(database, one) for one in (whole[0], replace(stale, epoch=6), whole[1], wrong, *whole[2:])]
    held = Held(database)
    for journal in journals:
        execution = journal._execution
        journal.answer([an_answered_call(wrong, 9)]) if execution is wrong else journal.propose(
            [a_call(execution, 1)], [], 0
        )
    written = [asyncio.ensure_future(journal.durable()) for journal in journals]
    await asyncio.sleep(0)
    await held.release()
    outcomes = await asyncio.gather(*written, return_exceptions=True)
    assert [type(one) for one in outcomes] == [
        type(None), Fenced, type(None), InternalError, type(None), type(None)
    ]  # fmt: skip
    found = await database.read(lambda c: events.after(c, local.workspace.id))
    assert [one.execution_id for one in found if one.type == "call.started"] == [one.id for one in whole]
    assert (await database.read(lambda c: event_chain.verify(c, local.workspace.id))).problem == ""


async def test_a_statement_that_the_server_refuses_fails_its_own_job(database: Database, local: Tenancy) -> None:
    first, second, third = [await add(database, local) for _ in range(3)]
    journals = [Journal(database, one) for one in (first, second, third)]
    held = Held(database)
    for journal, execution in zip(journals, (first, second, third), strict=True):
        journal.propose([a_call(execution, 1), a_call(execution, 1 if execution is second else 2)], [], 0)
    written = [asyncio.ensure_future(journal.durable()) for journal in journals]
    await asyncio.sleep(0)
    await held.release()
    outcomes = await asyncio.gather(*written, return_exceptions=True)
    assert outcomes[0] is outcomes[2] is None
    assert "pk_calls" in str(outcomes[1])
    assert not await database.read(lambda c: calls.of_execution(c, local.workspace.id, second.id))


async def test_a_job_reads_the_events_that_it_has_appended(database: Database, local: Tenancy) -> None:
    def job(c: Connection) -> list[str]:
        events.append(c, local.workspace.id, "first", {})
        found = [one.type for one in events.after(c, local.workspace.id)]
        events.append(c, local.workspace.id, "second", {})
        return found

    assert await database.write(job) == ["begun", "first"]
    found = await database.read(lambda c: events.after(c, local.workspace.id))
    assert [one.type for one in found] == ["begun", "first", "second"]


async def test_events_are_sealed_as_they_are_verified_whatever_is_in_them(database: Database, local: Tenancy) -> None:
    for text in ("ä €", "\U0001f600", '"\\', "\x7f\x01", "%s %(x)s", "{a,b}", ""):
        happened: list[tuple[str, dict[str, Any]]] = [("execution.log", {"text": text}), (text or "empty", {})]
        await database.write(
            partial(events.append_all, workspace_id=local.workspace.id, execution_id=text, happened=happened)
        )
    report = await database.read(lambda c: event_chain.verify(c, local.workspace.id))
    assert (report.problem, report.events) == ("", 15)


async def test_without_its_chain_no_event_is_committed(database: Database, local: Tenancy, place: str) -> None:
    """Another process removed it: the events from before become the beginning of the next one."""
    postgres.server().execute("DELETE FROM chains", place)
    await database.write(lambda c: events.append(c, local.workspace.id, "after", {}))
    report = await database.read(lambda c: event_chain.verify(c, local.workspace.id))
    assert (report.problem, report.events) == ("", 2)


async def test_a_connection_that_breaks_between_the_statements_and_the_commit_writes_once(
    database: Database, local: Tenancy, place: str
) -> None:
    execution = await add(database, local)
    runs: list[int] = []

    def job(c: Connection) -> None:
        runs.append(1)
        executions.fence(c, execution.id, execution.epoch)
        if len(runs) == 1:
            end_sessions(place)
        events.append(c, local.workspace.id, "once", {})

    await database.write(job)
    found = await database.read(lambda c: events.after(c, local.workspace.id))
    assert (len(runs), [one.type for one in found]) == (2, ["begun", "once"])
