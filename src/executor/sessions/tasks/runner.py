"""The tasks of one session, one after another: each is given to its executor process, and its outcome is recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import Any

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Busy, ExecutorError, SessionFailed
from executor.model.fairness import Party
from executor.model.ids import now_ms
from executor.model.sessions.session import Session, SessionStatus, Task, TaskStatus
from executor.sessions.permissions.requests import Permissions
from executor.sessions.processes.conversation import Conversation, SpawnedTerminal
from executor.sessions.processes.launch import Launcher
from executor.sessions.processes.pool import Place, Pool
from executor.sessions.processes.process import Failed, as_failure
from executor.sessions.protocol.lines import RpcError
from executor.sessions.transcripts.transcript import Draft, Transcript
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.sessions import sessions, tasks
from executor.telemetry import tracer
from executor.telemetry.agent_tasks import trace_task
from executor.telemetry.metrics import SESSION_TASKS

logger = logging.getLogger(__name__)
OPEN_SECONDS = 90.0
STOP_SECONDS = 15.0  # for an agent to stop a task; then its process is ended
INTERNAL_ERROR = {"code": "internal_error", "message": "internal error", "hint": "see the daemon's log"}
RENEW_MS = 4 * 3_600_000  # a process whose token has less left is replaced before the next task


@dataclass(frozen=True, slots=True)
class Parts:
    """What all runners share. `work` keeps the runners that have something to do."""

    database: Database
    pool: Pool
    permissions: Permissions
    launcher: Launcher
    task_ms: int
    answer_seconds: Callable[[Session], int]
    work: set[asyncio.Task[None]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended."""

    status: TaskStatus
    usage: dict[str, Any] | None = None
    failure: dict[str, Any] | None = None


class Runner:
    """One for each session, kept in memory by its work, its process, and anyone who uses it."""

    def __init__(self, parts: Parts, transcript: Transcript) -> None:
        self._parts = parts
        self.transcript = transcript
        self._work: asyncio.Task[None] | None = None
        self._is_awake = False  # something was queued since the loop last looked
        self._place: Place | None = None
        self._is_engaged = False  # the place is for a task, also before that has begun
        self._conversation: Conversation | None = None
        self._task: Task | None = None
        self._ended = asyncio.Event()  # the task
        self._is_closing = False
        self._starting = asyncio.Lock()  # a process, for a task or for a terminal
        self._ending = asyncio.Lock()  # a process; the next one shares its folder, its token and its record
        self._terminals = 0
        self.numbering = asyncio.Lock()  # for anyone who adds a task
        self._endings: dict[str, tuple[TaskStatus, str]] = {}  # of tasks that were stopped: as what, and why

    @property
    def session(self) -> Session:
        return self.transcript.session

    @property
    def answer_seconds(self) -> int:
        """How long a permission request stays open."""
        return self._parts.answer_seconds(self.session)

    @property
    def task(self) -> Task | None:
        return self._task

    def wake(self) -> None:
        """Work on what is queued. A loop that is about to end looks once more."""
        self._is_awake = True
        if not self._is_closing and (self._work is None or self._work.done()):
            self._work = asyncio.create_task(self._run())
            self._parts.work.add(self._work)
            self._work.add_done_callback(self._parts.work.discard)

    # -- tasks --------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while self._is_awake:
                self._is_awake = False
                while not self._is_closing and await self._has_queued():
                    await self._work_on_next()
        except Exception:
            logger.exception("the tasks of session %s were given up", self.session.id)
            await self._end_process("internal error")

    async def _work_on_next(self) -> None:
        self._is_engaged = True
        try:
            await self._take_place()
            await self._perform_next()
        finally:
            self._is_engaged = False
        self._rest()

    async def _has_queued(self) -> bool:
        session_id = self.session.id
        return bool(await self._parts.database.read(lambda c: tasks.of_session(c, session_id, statuses=("queued",))))

    def _rest(self) -> None:
        """Nothing runs. A process with terminals is in use all the same."""
        if self._place is not None and not self._is_engaged and not self._terminals:
            self._parts.pool.let_idle(self._place)

    async def _take_place(self) -> None:
        async with self._starting:
            await self._keep_or_take_place()

    async def _keep_or_take_place(self) -> None:
        """A place is kept between tasks, unless others wait for one or its process is no longer good."""
        if self._place is not None:
            self._parts.pool.keep_busy(self._place)
            conversation = self._conversation
            is_wanted = self._parts.pool.has_waiting and not self._terminals
            if conversation is not None and conversation.is_good(RENEW_MS) and not is_wanted:
                return
            await self._end_process("another session waits for a process")
        if self._parts.pool.is_full:
            await self._change_status("queued")
        party = Party(self.session.actor_id, self.session.id)
        self._place = await self._parts.pool.take(party, self._close_idle)

    async def _close_idle(self) -> None:
        if not self._terminals:
            await self.release("idle")

    async def release(self, reason: str) -> bool:
        """End its process. False if that is for a task, which may be about to begin."""
        if self._is_engaged:
            return False
        await self._end_process(reason)
        return True

    async def _perform_next(self) -> None:
        task = await self._begin_next()
        if task is None:
            return
        self._task = task
        self._ended.clear()
        try:
            with trace_task(self.session, task):
                await self._perform(task)
        finally:
            self._task = None
            self._ended.set()
            self.transcript.end_task()

    async def _begin_next(self) -> Task | None:
        """The first that is queued is running now, if it was not removed meanwhile."""
        session_id = self.session.id
        queued = await self._parts.database.read(lambda c: tasks.of_session(c, session_id, statuses=("queued",)))
        for task in queued[:1]:
            return await self._record(task, "running", only=("queued",), started_at=now_ms())
        return None

    async def _perform(self, task: Task) -> None:
        """Whatever happens, the task has an end that is written down."""
        outcome = Outcome("failed", failure=INTERNAL_ERROR)
        try:
            outcome = await self._execute(task)
        except (ExecutorError, *Failed) as error:
            if not isinstance(error, RpcError):
                await self._end_process("it failed")
            outcome = Outcome("failed", failure=as_failure(error))
        except Exception:
            logger.exception("task %s of session %s failed", task.id, self.session.id)
            await self._end_process("internal error")
        finally:
            await self._finish(task, outcome)

    async def _execute(self, task: Task) -> Outcome:
        conversation = await self._converse()
        if task.id in self._endings:  # stopped while its process was starting
            return Outcome("cancelled")
        result = await conversation.execute(task, self._parts.task_ms)
        status: TaskStatus = result["status"] if result.get("status") in ("completed", "cancelled") else "failed"
        return Outcome(status, dict(result.get("token_usage") or {}) or None, dict(result.get("error") or {}) or None)

    async def _converse(self) -> Conversation:
        async with self._starting:
            if self._conversation is None:
                async with self._ending:
                    pass
                self._conversation = await self._parts.launcher.launch(self.session, self)
            return self._conversation

    async def _finish(self, task: Task, outcome: Outcome) -> None:
        """As it ended, or if someone stopped it, as they said."""
        if (stopped := self._endings.pop(task.id, None)) is not None:
            status, reason = stopped
            outcome = Outcome(status, outcome.usage, {"code": status, "message": reason, "hint": ""})
        await self._parts.permissions.cancel(self.session, f"the task was {outcome.status}", self.transcript)
        SESSION_TASKS.add(self.session.agent, outcome.status)
        if outcome.status == "failed":
            tracer.current_span().fail("session_failed")
        await self._record(task, outcome.status, finished_at=now_ms(), usage=outcome.usage, failure=outcome.failure)

    async def _record(
        self, task: Task, status: TaskStatus, *, only: tuple[TaskStatus, ...] = ("running", "waiting"), **values: Any
    ) -> Task | None:
        """The task, its record in the transcript, the status of the session and the event, in one transaction."""
        session = self.session

        def job(c: Connection) -> tuple[Task | None, Session | None]:
            changed = tasks.change(c, task.id, only=only, status=status, **values)
            if changed is None:
                return None, None
            left = tasks.of_session(c, session.id, statuses=("queued",)) if changed.is_final else []
            state: SessionStatus = "queued" if left else "idle" if changed.is_final else "running"
            if changed.is_final:
                data = {"sessionId": session.id, "taskId": task.id, "status": status, "failure": changed.failure}
                events.append(c, session.workspace_id, "agent_session.task_ended", data)
            return changed, sessions.change_status(c, session.id, state)

        values_of = {"started_at": task.started_at, "finished_at": task.finished_at, **values}
        draft = task_record(task, status, values_of.get("usage"), values_of.get("failure"))
        changed, now = await self.transcript.record([draft], job)
        self.transcript.show_session(now)
        return changed

    async def _change_status(self, status: SessionStatus) -> None:
        session_id = self.session.id
        self.transcript.show_session(
            await self._parts.database.write(lambda c: sessions.change_status(c, session_id, status))
        )

    # -- terminals ----------------------------------------------------------------------------------------------------

    async def open_terminal(self, size: tuple[int, int]) -> SpawnedTerminal:
        """In the session's process, which is started for it if need be and stays as long as it does."""
        if self._is_closing or (self._place is None and self._parts.pool.is_full):
            raise Busy("no process is free for a terminal", hint="wait until another session is idle, or stop one")
        self._terminals += 1
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await self._take_place()
                return await (await self._converse()).spawn_terminal(size)
        except BaseException as error:
            self.forget_terminal()
            if self._task is None and (self._work is None or self._work.done()) and not self._terminals:
                await self._end_process("a terminal could not be opened")
            if isinstance(error, Failed):
                failure = as_failure(error)
                raise SessionFailed(failure["message"], hint=failure["hint"] or "try again") from error
            raise

    def forget_terminal(self) -> None:
        self._terminals -= 1
        self._rest()

    # -- the end ------------------------------------------------------------------------------------------------------

    async def cancel(self, task_id: str, reason: str, status: TaskStatus = "cancelled") -> bool:
        """Stop a running task: by its agent if that answers, else with its process. False if it is not running."""
        task = self._task
        if task is None or task.id != task_id:
            return False
        self._endings[task_id] = status, reason
        await self._parts.permissions.cancel(self.session, reason, self.transcript)
        if self._conversation is not None:
            with suppress(*Failed):
                await self._conversation.stop_task(task_id, reason, STOP_SECONDS)
        if not await self._has_ended(task_id, STOP_SECONDS):
            if self._conversation is not None:  # else it is still starting, and keeps its place
                await self._end_process(reason)
            await self._has_ended(task_id, STOP_SECONDS)
        return True

    async def _has_ended(self, task_id: str, seconds: float) -> bool:
        if self._task is not None and self._task.id == task_id:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait()
        return self._task is None or self._task.id != task_id

    async def close(self, reason: str, status: TaskStatus = "cancelled") -> None:
        """Everything of it ends: the task that runs, its process, and the loop. Queued tasks stay queued."""
        self._is_closing = True
        if self._task is not None:
            await self.cancel(self._task.id, reason, status)
        await self._end_process(reason)
        if self._task is not None:  # one that began meanwhile, or whose process is still starting
            self._endings.setdefault(self._task.id, (status, reason))
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work
        self._is_closing = False

    async def _end_process(self, reason: str) -> None:
        async with self._ending:
            conversation, place = self._conversation, self._place
            self._conversation = self._place = None
            try:
                if conversation is not None:
                    await conversation.close(reason)
            finally:
                if place is not None:
                    self._parts.pool.release(place)


def task_record(task: Task, status: TaskStatus, usage: Any = None, failure: Any = None) -> Draft:
    data = {"number": task.number, "status": status, "actorId": task.actor_id, "usage": usage, "failure": failure}
    return Draft(task.id, "prompt", task.id, task.prompt, data)
