"""On SQLite, a parked execution runs again while the decision that it waited for is being committed."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.engine import Connection

from executor.errors import StorageFull
from executor.execution.dispatch import LocalDispatch
from executor.execution.journal.journal import FEW, Journal, read_few, read_recorded
from executor.execution.outcome import Outcome
from executor.model.execution import Call, Execution
from executor.model.interaction import Interaction
from executor.storage.executions import calls, executions, interactions
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import until, wait_for

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'
READ = 'await tools.ledger.entries.listEntries({key: "a"});'


class Disk:
    """Holds a commit until `moment` has come, and then does `then`, once."""

    def __init__(self, harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch) -> None:
        self._dialect = harness.executor.database.engine.dialect
        self._commit = self._dialect.do_commit
        self._moment: Callable[[], Any] | None = None
        self._then: Callable[[], None] = lambda: None
        monkeypatch.setattr(self._dialect, "do_commit", self._do_commit)

    def hold(self, moment: Callable[[], Any], then: Callable[[], None]) -> None:
        self._moment, self._then = moment, then

    def _do_commit(self, connection: Any) -> None:
        if connection.info.get("writes") and self._moment is not None:
            moment, self._moment = self._moment, None
            wait_for(moment, "the run to be ahead of the commit")
            self._then()
        self._commit(connection)


def fail() -> None:
    raise sqlite3.OperationalError("database or disk is full")


async def read_stored(harness: ExecutorHarness, outcome: Outcome) -> tuple[str, Call, Interaction]:
    workspace_id, execution_id = outcome.execution.workspace_id, outcome.execution.id

    def job(c: Connection) -> tuple[str, Call, Interaction]:
        execution = executions.get(c, workspace_id, execution_id)
        [call], [asked] = calls.of_execution(c, workspace_id, execution_id), interactions.of_execution(c, execution_id)
        assert execution is not None
        return execution.status, call, asked

    return await harness.executor.database.read(job)


async def test_an_approved_call_is_ready_but_not_sent_before_its_approval_is_committed(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, database, seen = await harness.run(WRITE), harness.executor.database, list[Any]()

    def note() -> None:
        seen.append((harness.executor.engine.live, harness.effects()))

    Disk(harness, monkeypatch).hold(lambda: database.queue_length, note)
    await harness.settle(outcome, "approve")
    assert seen == [(1, [])]  # its next write was queued: the code had run again, and the call was judged
    assert value(await harness.wait(outcome.execution.id))["key"] == "a"
    assert len(harness.effects()) == 1


async def test_an_approval_that_can_not_be_committed_leaves_everything_as_it_was(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, database = await harness.run(WRITE), harness.executor.database
    before = await read_stored(harness, outcome)
    Disk(harness, monkeypatch).hold(lambda: database.queue_length, fail)
    with pytest.raises(StorageFull):
        await harness.settle(outcome, "approve")
    await until(lambda: harness.executor.engine.live == 0)
    await until(lambda: harness.executor.runtime.open_sandboxes == 0)
    assert await read_stored(harness, outcome) == before
    assert harness.effects() == []
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(outcome.execution.id))["key"] == "a"
    assert len(harness.effects()) == 1


async def test_a_cancellation_behind_the_approval_ends_the_run_that_is_ahead(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, engine, local = await harness.run(WRITE), harness.executor.engine, harness.executor.tenancy
    resume_early, cancelling = LocalDispatch.resume_early, list[asyncio.Task[Execution]]()

    def resume_and_cancel(*arguments: Any) -> None:
        resume_early(*arguments)
        cancelling.append(asyncio.ensure_future(engine.cancel(local.operator, outcome.execution.id)))

    monkeypatch.setattr(LocalDispatch, "resume_early", resume_and_cancel)
    Disk(harness, monkeypatch).hold(lambda: harness.executor.database.queue_length, lambda: None)
    await harness.settle(outcome, "approve")
    assert (await cancelling[0]).status == "cancelled"
    await until(lambda: engine.live == 0)
    status, call, _ = await read_stored(harness, outcome)
    assert (status, call.state) == ("cancelled", "abandoned")
    assert harness.effects() == []


async def test_a_denial_is_in_the_database_before_the_code_hears_of_it(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it could make the same call again, and someone would have to deny it again."""
    outcome = await harness.run(f"try {{ {WRITE} }} catch {{ {WRITE} }}")
    await_claim, waiting = Journal.await_claim, list[Journal]()

    async def note(journal: Journal) -> None:
        waiting.append(journal)
        await await_claim(journal)

    monkeypatch.setattr(Journal, "await_claim", note)
    Disk(harness, monkeypatch).hold(lambda: waiting, lambda: None)
    await harness.settle(outcome, "deny")
    finished = await harness.wait(outcome.execution.id)
    assert finished.execution.failure is not None
    assert finished.execution.failure.code == "denied"
    assert harness.effects() == []


async def test_two_approvals_at_once_send_each_call_once(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = await harness.run(
        'return await Promise.all(["a", "b"].map((key) => tools.ledger.entries.addEntry({key, amount: 5})))'
    )
    Disk(harness, monkeypatch).hold(lambda: harness.executor.engine.live, lambda: None)
    await asyncio.gather(harness.settle(outcome, "approve", 0), harness.settle(outcome, "approve", 1))
    assert [entry["key"] for entry in value(await harness.wait(outcome.execution.id))] == ["a", "b"]
    assert len(harness.effects()) == 2


async def test_what_is_handed_over_is_what_the_journal_has(harness: ExecutorHarness) -> None:
    outcome = await harness.run(f'console.log("one"); {READ} {READ} console.log("two"); {WRITE}')
    found = await harness.executor.database.read(
        lambda c: (read_few(c, outcome.execution), read_recorded(c, outcome.execution))
    )
    assert found[0] == found[1]
    assert found[1].log_count == 2
    assert len(found[1].calls) == 3


@pytest.mark.parametrize("many", [READ * FEW, 'for (let i = 0; i <= 16; i++) console.log("line");'])
async def test_a_long_journal_is_not_read_by_the_writer(harness: ExecutorHarness, many: str) -> None:
    outcome = await harness.run(f"{many} {WRITE}")
    assert await harness.executor.database.read(lambda c: read_few(c, outcome.execution)) is None
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(outcome.execution.id))["key"] == "a"
