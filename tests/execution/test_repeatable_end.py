"""An end that the code would give again is reported while it is being recorded. A crash in between loses nothing."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executor.daemon.wiring.executor import Executor
from executor.errors import Conflict
from executor.execution.journal import journal as journal_module
from executor.execution.outcome import Outcome
from executor.settings import Settings
from executor.storage import database as database_module
from executor.storage import start_log
from executor.storage.database import Database
from executor.storage.start_log import StartLog
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import until

STAMP = "return [Date.now(), Math.random(), crypto.randomUUID()]"
PYTHON_STAMP = "import random, time, uuid\nreturn [time.time(), random.random(), str(uuid.uuid4())]"


@pytest.fixture
def never_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not urgent waits for the test."""
    monkeypatch.setattr(database_module, "PATIENCE", 3600.0)


@pytest.fixture
def however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take its time."""
    monkeypatch.setattr(journal_module, "BIRTH_SECONDS", 3600.0)


@pytest.fixture
async def with_log(harness: ExecutorHarness) -> ExecutorHarness:
    """Whose start log is there."""
    await until(lambda: harness.executor.database.start_log)
    return harness


@pytest.fixture
async def recover(settings: Settings, tmp_path: Path) -> AsyncIterator[Callable[[], Awaitable[Executor]]]:
    """A daemon that starts on what is on the disk right now, as after a crash."""
    opened: list[Executor] = []

    async def open_copy() -> Executor:
        shutil.copytree(settings.data_dir, tmp_path / "crashed", ignore=shutil.ignore_patterns("*.sock", "*-shm"))
        opened.append(await Executor.open(replace(settings, data_dir=tmp_path / "crashed")))
        return opened[0]

    yield open_copy
    for executor in opened:
        await executor.close()


def stored_status(settings: Settings, outcome: Outcome) -> str | None:
    with sqlite3.connect(next(settings.data_dir.glob("*.db"))) as connection:
        query = "SELECT status FROM executions WHERE id = ?"
        found: tuple[str] | None = connection.execute(query, (outcome.execution.id,)).fetchone()
    connection.close()
    return found[0] if found else None


async def run_unrecorded(
    harness: ExecutorHarness, settings: Settings, code: str, language: str | None = None
) -> Outcome:
    """One that was reported before it was recorded, as any is unless something else commits it at that moment."""
    for _ in range(50):
        outcome = await harness.run(code, language=language)
        if stored_status(settings, outcome) is None:
            return outcome
    raise AssertionError("every end was recorded first")


@pytest.mark.usefixtures("never_committed", "however_long")
@pytest.mark.parametrize(
    ("code", "language"), [(STAMP, "typescript"), (PYTHON_STAMP, "python"), ("console.log('a'); " + STAMP, None)]
)
async def test_after_a_crash_the_code_ends_as_it_was_reported(
    with_log: ExecutorHarness,
    settings: Settings,
    recover: Callable[[], Awaitable[Executor]],
    code: str,
    language: str | None,
) -> None:
    outcome = await run_unrecorded(with_log, settings, code, language)
    executor = await recover()
    again = await executor.engine.wait(executor.tenancy.agent, outcome.execution.id, 120)
    assert value(again) == value(outcome)
    assert [line.text for line in again.logs] == [line.text for line in outcome.logs]


@pytest.mark.usefixtures("never_committed", "however_long")
async def test_anyone_who_looks_finds_it_recorded(with_log: ExecutorHarness, settings: Settings) -> None:
    outcome = await run_unrecorded(with_log, settings, "return 7")
    engine, agent = with_log.executor.engine, with_log.executor.tenancy.agent
    assert value(await engine.outcome(agent, outcome.execution.id)) == 7
    assert stored_status(settings, outcome) == "completed"


@pytest.mark.usefixtures("never_committed", "however_long")
async def test_what_was_reported_can_not_be_cancelled(with_log: ExecutorHarness, settings: Settings) -> None:
    outcome = await run_unrecorded(with_log, settings, "return 7")
    with pytest.raises(Conflict, match="already completed"):
        await with_log.executor.engine.cancel(with_log.executor.tenancy.agent, outcome.execution.id)


@pytest.mark.usefixtures("never_committed")
@pytest.mark.parametrize(
    "code",
    [
        "throw new Error('no')",
        "await new Promise((go) => setTimeout(go, 1)); return 1",
        "return (await tools.ledger.entries.listEntries({key: 'a'})).length",
        "const name = 'to' + 'ols'; return (await globalThis[name].ledger.entries.listEntries({key: 'a'})).length",
        "return 'a'.repeat(100_000)",
        "const until = performance.now(); let n = 0; for (let i = 0; i < 5e6; i++) n += i % 7; return n",
    ],
    ids=["failure", "timer", "call", "hidden call", "artifact", "long"],
)
async def test_everything_else_is_recorded_before_it_is_reported(
    with_log: ExecutorHarness, settings: Settings, code: str
) -> None:
    async with asyncio.timeout(240):
        outcome = await with_log.run(code)
    assert stored_status(settings, outcome) == outcome.execution.status in ("completed", "failed")


@pytest.mark.usefixtures("never_committed")
async def test_a_stopping_daemon_records_it(
    reopen: Callable[[], Awaitable[ExecutorHarness]], settings: Settings
) -> None:
    first = await reopen()
    await until(lambda: first.executor.database.start_log)
    outcome = await first.run(STAMP)
    harness = await reopen()
    assert not list(settings.data_dir.glob("*-starts"))
    again = await harness.executor.engine.outcome(harness.executor.tenancy.agent, outcome.execution.id)
    assert value(again) == value(outcome)
    assert again.execution.epoch == outcome.execution.epoch


@pytest.mark.usefixtures("however_long")
async def test_what_was_committed_before_a_crash_is_not_run_again(
    with_log: ExecutorHarness, recover: Callable[[], Awaitable[Executor]]
) -> None:
    outcome = await with_log.run(STAMP)
    await with_log.executor.engine.outcome(with_log.executor.tenancy.agent, outcome.execution.id)
    executor = await recover()
    again = await executor.engine.outcome(executor.tenancy.agent, outcome.execution.id)
    assert again.execution.epoch == outcome.execution.epoch
    assert again.execution.finished_at == outcome.execution.finished_at


@pytest.mark.usefixtures("never_committed", "however_long")
async def test_without_a_start_log_every_end_is_recorded_first(
    with_log: ExecutorHarness, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: int, data: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", fail)
    for _ in range(3):  # the first meets the error, for the others it is known
        assert stored_status(settings, await with_log.run(STAMP)) == "completed"


async def test_an_end_that_meets_the_write_of_its_own_beginning_waits_for_it(
    with_log: ExecutorHarness, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is queued for the writer while the start log is still being synced, and the writer takes its time."""
    sync, commit = start_log.sync, Database._commit

    def sync_late(file: int) -> None:
        time.sleep(0.2)
        sync(file)

    def commit_later(*arguments: Any) -> None:
        time.sleep(0.3)
        commit(*arguments)

    monkeypatch.setattr(journal_module, "BIRTH_SECONDS", 0.05)
    monkeypatch.setattr(start_log, "sync", sync_late)
    monkeypatch.setattr(with_log.executor.database.start_log, "_slow_until", math.inf)  # for the thread
    monkeypatch.setattr(Database, "_commit", commit_later)
    for _ in range(3):
        assert stored_status(settings, await with_log.run("return 7")) == "completed"


@pytest.mark.usefixtures("never_committed", "however_long")
async def test_of_a_workspace_that_is_gone_nothing_is_recovered(
    with_log: ExecutorHarness, settings: Settings, recover: Callable[[], Awaitable[Executor]]
) -> None:
    known = await run_unrecorded(with_log, settings, STAMP)
    log = with_log.executor.database.start_log
    assert isinstance(log, StartLog)
    stranger = replace(known.execution, id="exec_gone", status="running", workspace_id="ws_gone", actor_id="act_gone")
    written = log.add(stranger)
    assert written is not None
    await written
    executor = await recover()
    assert value(await executor.engine.wait(executor.tenancy.agent, known.execution.id, 120)) == value(known)
    async with asyncio.timeout(60):
        assert not await executor.database.read(
            lambda c: c.exec_driver_sql("SELECT 1 FROM executions WHERE id = 'exec_gone'").first()
        )
