"""Runners: nothing that is queued is forgotten, every task has an end, and a session has one process at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from executor.errors import Conflict, SessionFailed
from executor.model.sessions.session import Process
from executor.sessions import creation
from executor.sessions.processes import process as processes
from executor.sessions.repositories.work import Work
from executor.sessions.tasks import runner as runners
from executor.sessions.tasks.runner import Runner
from executor.storage.sessions import sessions as session_rows
from tests.sessions.tasks.stand_in import sessions_in
from tests.support.conditions import until


async def test_a_prompt_that_is_queued_while_the_last_task_is_put_away_is_worked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looked, go_on = Runner._has_queued, asyncio.Event(), asyncio.Event()

    async def look_and_pause(runner: Runner) -> bool:
        found = await look(runner)
        if not found and not looked.is_set():
            looked.set()
            await go_on.wait()
        return found

    monkeypatch.setattr(Runner, "_has_queued", look_and_pause)
    async with sessions_in(tmp_path) as place:
        session = await place.start()
        await place.sessions.prompts.send(place.by, session.id, "first")
        await looked.wait()
        second = await place.sessions.prompts.send(place.by, session.id, "second")
        go_on.set()
        assert (await place.end_of(second)).status == "completed"


async def test_a_stop_reaches_a_task_that_was_queued_while_another_session_was_used(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as place:
        place.launcher.hangs = True
        one, other = await place.start(), await place.start()
        runner = await place.sessions._runner_of(one)
        async with runner.numbering:
            sending = asyncio.create_task(place.sessions.prompts.send(place.by, one.id, "hang"))
            await until(lambda: runner.numbering._waiters, "a prompt that is being queued")
            await place.sessions._runner_of(other)
        task = await sending
        await until(lambda: runner.task, "a running task")
        await place.sessions.stop(place.by, one.id)
        assert (await place.task(task)).status == "cancelled"
        assert place.launcher.log == ["starting", "ending", "ended"]


async def test_a_task_whose_process_can_not_be_started_has_failed_and_the_next_one_runs(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as place:
        place.launcher.failure = OSError("no space left")
        session = await place.start()
        failed = await place.end_of(await place.sessions.prompts.send(place.by, session.id, "first"))
        assert (failed.status, (failed.failure or {})["code"]) == ("failed", "internal_error")
        place.launcher.failure = None
        task = await place.sessions.prompts.send(place.by, session.id, "second")
        assert (await place.end_of(task)).status == "completed"


async def test_a_task_that_is_stopped_before_its_process_has_started_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "STOP_SECONDS", 0.01)
    async with sessions_in(tmp_path) as place:
        place.launcher.may_start.clear()
        session = await place.start()
        task = await place.sessions.prompts.send(place.by, session.id, "hello")
        await until(lambda: place.launcher.log, "a process that starts")
        await place.sessions.stop(place.by, session.id, "enough")
        ended = await place.task(task)
        assert (ended.status, (ended.failure or {})["message"]) == ("cancelled", "stopped by operator: enough")


async def test_the_next_process_starts_once_the_last_one_has_ended(tmp_path: Path) -> None:
    async with sessions_in(tmp_path) as place:
        session = await place.start()
        await place.end_of(await place.sessions.prompts.send(place.by, session.id, "first"))
        runner = await place.sessions._runner_of(session)
        await until(lambda: not runner._is_engaged, "an idle process")
        place.launcher.may_end.clear()
        releasing = asyncio.create_task(runner.release("idle"))
        await until(lambda: "ending" in place.launcher.log, "a process that ends")
        task = await place.sessions.prompts.send(place.by, session.id, "second")
        await until(lambda: runner.task, "a task that waits for a process")
        place.launcher.may_end.set()
        assert await releasing
        assert (await place.end_of(task)).status == "completed"
        assert place.launcher.log == ["starting", "ending", "ended", "starting"]


async def test_a_process_is_not_taken_from_a_task_that_is_about_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, begins, go_on = Runner._begin_next, asyncio.Event(), asyncio.Event()

    async def pause_and_begin(runner: Runner) -> Any:
        begins.set()
        await go_on.wait()
        return await begin(runner)

    async with sessions_in(tmp_path) as place:
        session = await place.start()
        await place.end_of(await place.sessions.prompts.send(place.by, session.id, "first"))
        runner = await place.sessions._runner_of(session)
        await until(lambda: not runner._is_engaged, "an idle process")
        monkeypatch.setattr(Runner, "_begin_next", pause_and_begin)
        task = await place.sessions.prompts.send(place.by, session.id, "second")
        await begins.wait()
        assert not await runner.release("idle")
        go_on.set()
        assert (await place.end_of(task)).status == "completed"
        assert place.launcher.log == ["starting"]


async def test_changes_are_not_discarded_under_a_task_that_has_just_begun(tmp_path: Path) -> None:
    async def is_busy(_: object) -> bool:
        return False

    async with sessions_in(tmp_path) as place:
        session = await place.start(repository="/srv/app")
        work = Work(place.database, place.sessions.checkouts, is_busy)
        with pytest.raises(Conflict, match="is running"):
            await work.discard(place.by, session.id)


async def test_a_fork_counts_as_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation, "MAX_OPEN", 2)
    async with sessions_in(tmp_path) as place:
        session = await place.start(agent_session="known")
        await place.sessions.fork(place.by, session.id)
        with pytest.raises(Conflict, match="2 open sessions"):
            await place.sessions.fork(place.by, session.id)


async def test_a_process_that_can_not_be_ended_keeps_no_daemon_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(process: Process) -> None:
        raise SessionFailed("processes can't be ended")

    monkeypatch.setattr(processes, "end", refuse)
    async with sessions_in(tmp_path) as place:
        left = [await place.start(process=Process(1, "long ago", "")) for _ in range(2)]
        assert await place.sessions.recover() == 2
        for one in left:
            found = await place.database.read(lambda c, one=one: session_rows.get(c, one.workspace_id, one.id))
            assert found is not None and found.process is None


async def test_waiting_for_a_task_reads_nothing_of_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with sessions_in(tmp_path) as place:
        session = await place.start()
        task = await place.end_of(await place.sessions.prompts.send(place.by, session.id, "first"))
        await place.sessions.stop(place.by, session.id)
    async with sessions_in(tmp_path) as place:
        transcript = await place.sessions.transcripts.of(session)
        monkeypatch.setattr(transcript, "_read", pytest.fail)
        found = await place.sessions.prompts.wait(place.by, session.id, task.id, 60)
        assert found.status == "completed"


async def test_a_process_that_starts_while_its_task_is_cancelled_keeps_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "STOP_SECONDS", 0.01)
    async with sessions_in(tmp_path) as place:
        place.launcher.may_start.clear()
        session = await place.start()
        task = await place.sessions.prompts.send(place.by, session.id, "hello")
        await until(lambda: place.launcher.log, "a process that starts")
        await place.sessions.prompts.cancel(place.by, session.id, task.id)
        assert place.sessions.processes == {"busy": 1, "idle": 0, "waiting": 0}
        place.launcher.may_start.set()
        assert (await place.end_of(task)).status == "cancelled"
        await until(lambda: place.sessions.processes["idle"] == 1, "an idle process")


async def test_a_terminal_that_ends_as_a_task_begins_leaves_its_process_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, begins, go_on = Runner._begin_next, asyncio.Event(), asyncio.Event()

    async def pause_and_begin(runner: Runner) -> Any:
        begins.set()
        await go_on.wait()
        return await begin(runner)

    monkeypatch.setattr(Runner, "_begin_next", pause_and_begin)
    async with sessions_in(tmp_path) as place:
        session = await place.start()
        runner = await place.sessions._runner_of(session)
        runner._terminals = 1
        task = await place.sessions.prompts.send(place.by, session.id, "hello")
        await begins.wait()
        runner.forget_terminal()
        assert place.sessions.processes["busy"] == 1
        go_on.set()
        assert (await place.end_of(task)).status == "completed"
