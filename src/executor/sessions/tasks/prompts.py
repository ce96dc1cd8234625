"""Prompts of people: queued while another runs, edited and removed while they are queued."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.errors import Conflict, InvalidRequest, NotFound
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.sessions.session import Session, Task
from executor.sessions.access import check_manager, check_owner, find, look_up
from executor.sessions.tasks.runner import Runner, task_record
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.sessions import sessions, tasks

MAX_PROMPT = 500_000
MAX_QUEUED = 100
MAX_TITLE = 200


class Prompts:
    """`runner_of` finds the runner of a session, `admit` raises when a person sends too many, or may no longer."""

    def __init__(
        self,
        database: Database,
        runner_of: Callable[[Session], Awaitable[Runner]],
        admit: Callable[[Actor, Session], None],
    ) -> None:
        self._database = database
        self._runner_of = runner_of
        self._admit = admit

    async def send(self, by: Actor, session_id: str, text: str, *, interrupt: bool = False) -> Task:
        """Queue a prompt. `interrupt` stops the task that runs, and withdraws what is queued."""
        session = await find(self._database, by, session_id)
        check_owner(by, session)
        check_prompt(text)
        check_open(session)
        self._admit(by, session)
        runner = await self._runner_of(session)
        if interrupt:
            await self._clear(runner)
        task = Task(new_id("task"), session_id, session.workspace_id, by.id, 0, text, "queued", now_ms())
        async with runner.numbering:
            task = await self._queue(runner, task, by)
        runner.wake()
        return task

    async def _queue(self, runner: Runner, task: Task, by: Actor) -> Task:
        number = await self._database.read(lambda c: tasks.next_number(c, task.session_id))
        queued = replace(task, number=number)

        def job(c: Connection) -> Session | None:
            if len(tasks.of_session(c, task.session_id, statuses=("queued",))) >= MAX_QUEUED:
                raise Conflict(f"{MAX_QUEUED} prompts are queued", hint="wait until some are done, or remove some")
            now = sessions.get(c, task.workspace_id, task.session_id)
            if now is None:
                raise NotFound("the session was deleted", hint="see `executor sessions list`")
            check_open(now)
            tasks.insert(c, queued)
            data = {"sessionId": task.session_id, "taskId": task.id, "number": number}
            events.append(c, task.workspace_id, "agent_session.prompted", data, by=by)
            title = now.title or task.prompt.strip().splitlines()[0][:MAX_TITLE]
            status = "queued" if now.status == "idle" else now.status
            return sessions.change(c, task.session_id, title=title, status=status)

        runner.transcript.show_session(await runner.transcript.record([task_record(queued, "queued")], job))
        return queued

    async def find(self, by: Actor, session_id: str, task_id: str) -> Task:
        return (await self._find(by, session_id, task_id))[1]

    async def wait(self, by: Actor, session_id: str, task_id: str, seconds: float) -> Task:
        """As it is when it has ended or waits for a permission, or when the time is up."""
        session, _ = await self._find(by, session_id, task_id)
        transcript, waker = (await self._runner_of(session)).transcript, asyncio.Event()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), aclosing(transcript.follow(transcript.newest, waker)) as batches:
                async for _ in batches:
                    task = await self.find(by, session_id, task_id)
                    if task.is_final or task.status == "waiting":
                        return task
        return await self.find(by, session_id, task_id)

    async def edit(self, by: Actor, session_id: str, task_id: str, text: str) -> Task:
        """Another text for a prompt that is still queued."""
        session, task = await self._find(by, session_id, task_id)
        check_owner(by, session)
        check_prompt(text)

        def job(c: Connection) -> Task:
            changed = tasks.change(c, task_id, only=("queued",), prompt=text)
            if changed is None:
                raise Conflict(f"task {task_id} is no longer queued", hint="send another prompt")
            return changed

        runner = await self._runner_of(session)
        return await runner.transcript.record([task_record(replace(task, prompt=text), "queued")], job)

    async def cancel(self, by: Actor, session_id: str, task_id: str) -> Task:
        """Remove a queued prompt, or stop the task that runs."""
        session, task = await self._find(by, session_id, task_id)
        check_manager(by, session)
        runner = await self._runner_of(session)
        if await self._withdraw(runner, task) is None and not await runner.cancel(task_id, f"cancelled by {by.name}"):
            raise Conflict(f"task {task_id} has already ended", hint="there is nothing to cancel")
        return (await self._find(by, session_id, task_id))[1]

    async def _find(self, by: Actor, session_id: str, task_id: str) -> tuple[Session, Task]:
        def job(c: Connection) -> tuple[Session, Task]:
            session, task = look_up(c, by, session_id), tasks.get(c, session_id, task_id)
            if task is None:
                raise NotFound(f"session {session_id} has no task {task_id!r}", hint="see `executor sessions show`")
            return session, task

        return await self._database.read(job)

    async def _clear(self, runner: Runner) -> None:
        session_id = runner.session.id
        for task in await self._database.read(lambda c: tasks.of_session(c, session_id, statuses=("queued",))):
            await self._withdraw(runner, task)
        if runner.task is not None:
            await runner.cancel(runner.task.id, "interrupted by another prompt")

    async def _withdraw(self, runner: Runner, task: Task) -> Task | None:
        """None if it is not queued."""

        def job(c: Connection) -> tuple[Task | None, Session | None]:
            gone = tasks.change(c, task.id, only=("queued",), status="cancelled", finished_at=now_ms())
            left = tasks.of_session(c, task.session_id, statuses=("queued", "running", "waiting"))
            is_last = gone is not None and not left
            return gone, sessions.change_status(c, task.session_id, "idle") if is_last else None

        gone, session = await self._database.write(job)
        if gone is not None:
            await runner.transcript.record([task_record(gone, "cancelled")])
        runner.transcript.show_session(session)
        return gone


def check_open(session: Session) -> None:
    if session.status == "stopped" or session.archived_at is not None:
        raise Conflict(f"session {session.id} is stopped", hint=f"run `executor sessions resume {session.id}`")


def check_prompt(text: str) -> None:
    if not text.strip():
        raise InvalidRequest("the prompt is empty", hint="say what the agent should do")
    if len(text) > MAX_PROMPT:
        raise InvalidRequest(
            f"the prompt has {len(text)} characters, more than {MAX_PROMPT}", hint="put it into a file of the directory"
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the prompt is not valid Unicode text", hint="send it as UTF-8") from None
