"""The engine: takes code in, keeps every execution's run, and carries decisions to where they are waited for."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy.engine import Connection

from executor.errors import (
    AlreadySettled,
    Busy,
    CodeTooLarge,
    Conflict,
    EmptyCode,
    Fenced,
    Forbidden,
    InteractionExpired,
    InvalidRequest,
    NotFound,
    StorageError,
    UnknownRuntime,
)
from executor.execution import failures
from executor.execution.door import Door
from executor.execution.journal import Journal, interaction_event
from executor.execution.outcome import Outcome, ReplayReport, log_line
from executor.execution.replay import replay_journal
from executor.execution.run import Run
from executor.model.execution import Execution, Limits
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Interaction, InteractionStatus
from executor.model.tenancy import Actor
from executor.runtime.sandbox import Runtime
from executor.storage import calls, events, executions, interactions
from executor.storage.database import Database

LIVE_RUNS = 20_000
SWEEP_SECONDS = 5.0
RETRY_SECONDS = 2.0
GLANCE_SECONDS = 0.02

logger = logging.getLogger(__name__)


class Engine:
    """Local dispatch: every run is a task of this process; the data directory's lock makes it the only one."""

    def __init__(
        self,
        database: Database,
        door: Door,
        runtimes: Mapping[str, Runtime],
        *,
        limits: Limits,
        ttl_ms: int,
        max_code_bytes: int,
    ) -> None:
        self._database = database
        self._door = door
        self._runtimes = runtimes
        self._limits = limits
        self._ttl_ms = ttl_ms
        self._max_code_bytes = max_code_bytes
        self._runs: dict[str, Run] = {}
        self._decisions: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def live(self) -> int:
        """Runs that hold memory here; parked executions are rows only."""
        return len(self._runs)

    # -- life ---------------------------------------------------------------------------------------------------

    async def start(self) -> int:
        """Take up what an earlier process left unfinished; how many there were."""
        left = await self._database.read(executions.unfinished)
        for execution_id in left:
            self._spawn(self._take_over(execution_id, "execution.recovered"))
        self._spawn(self._sweep_forever())
        return len(left)

    async def close(self) -> None:
        """Park running work: what was sent is answered or left to the journal, the rest starts again next time."""
        self._closing = True
        live = list(self._runs.values())
        for run in live:
            run.stop()
        waiting = [asyncio.ensure_future(run.done.wait()) for run in live]
        if waiting:
            await asyncio.wait(waiting, timeout=5.0)
        for task in [*self._tasks, *waiting]:
            task.cancel()
        await asyncio.gather(*self._tasks, *waiting, return_exceptions=True)

    # -- executions -----------------------------------------------------------------------------------------------

    async def submit(
        self, actor: Actor, code: str, *, language: str = "typescript", limits: Limits | None = None
    ) -> Execution:
        """Start it; durable when this returns."""
        run, journal = self._begin(actor, code, language, limits)
        await journal.durable()
        return run.execution

    async def run(
        self, actor: Actor, code: str, *, language: str = "typescript", limits: Limits | None = None, seconds: float
    ) -> Outcome:
        """Submit and wait. The first write is on its way while the sandbox already runs; both end before this does."""
        run, journal = self._begin(actor, code, language, limits)
        await wait_until(run.done, seconds)
        if run.outcome is not None:
            return run.outcome
        await journal.durable()
        return await self.outcome(actor, run.execution.id)

    async def wait(self, actor: Actor, execution_id: str, seconds: float, *, through_pause: bool = False) -> Outcome:
        """Return when it is paused or has ended, or when the time is up; `through_pause` also waits for humans."""
        ends = asyncio.get_running_loop().time() + seconds
        while True:
            left = ends - asyncio.get_running_loop().time()
            run = self._runs.get(execution_id)
            if run is not None and run.execution.workspace_id == actor.workspace_id:
                await wait_until(run.done, left)
                if run.outcome is not None and (run.execution.is_final or not through_pause):
                    return run.outcome
            outcome = await self.outcome(actor, execution_id)
            status = outcome.execution.status
            if outcome.execution.is_final or (status == "paused" and not through_pause) or left <= 0:
                return outcome
            if status == "paused":
                await wait_until(self._decision(execution_id), min(left, GLANCE_SECONDS * 50))
            elif execution_id not in self._runs:
                await asyncio.sleep(min(left, GLANCE_SECONDS))

    async def outcome(self, actor: Actor, execution_id: str) -> Outcome:
        def job(c: Connection) -> Outcome:
            execution = executions.get(c, actor.workspace_id, execution_id)
            if execution is None:
                raise NotFound(f"there is no execution {execution_id}", hint="see `executor executions list`")
            pending = interactions.page(c, actor.workspace_id, status="pending", execution_id=execution_id, limit=200)
            lines = events.logs(c, actor.workspace_id, execution_id)
            return Outcome(execution, tuple(reversed(pending)), tuple(log_line(event) for event in lines))

        return await self._database.read(job)

    async def cancel(self, actor: Actor, execution_id: str) -> Execution:
        def job(c: Connection) -> Execution:
            execution = executions.get(c, actor.workspace_id, execution_id)
            if execution is None:
                raise NotFound(f"there is no execution {execution_id}", hint="see `executor executions list`")
            if not executions.cancel(c, execution_id, failures.cancelled(actor.name)):
                raise Conflict(f"execution {execution_id} is {execution.status} already", hint="nothing to cancel")
            calls.abandon(c, execution_id)
            closed = interactions.cancel_pending(c, execution_id)
            happened = [("interaction.cancelled", {"id": interaction_id}) for interaction_id in closed]
            happened.append(("execution.cancelled", {"by": actor.id}))
            events.append_all(c, actor.workspace_id, execution_id, happened)
            return executions.get(c, actor.workspace_id, execution_id) or execution

        cancelled = await self._database.write(job)
        if run := self._runs.get(execution_id):
            run.abort()
        self._tell(execution_id, False)
        return cancelled

    async def replay(self, actor: Actor, execution_id: str) -> ReplayReport:
        """Run an ended execution's code again from its journal alone; nothing is sent."""
        execution = (await self.outcome(actor, execution_id)).execution
        if not execution.is_final:
            raise Conflict(f"execution {execution_id} is {execution.status}", hint="wait until it has ended")
        journalled = await self._database.read(lambda c: calls.of_execution(c, actor.workspace_id, execution_id))
        return await replay_journal(self._runtime(execution.language), execution, journalled)

    # -- interactions -----------------------------------------------------------------------------------------------

    async def settle(
        self,
        actor: Actor,
        interaction_id: str,
        decision: Literal["approve", "deny"],
        *,
        reason: str = "",
        result: str | None = None,
    ) -> Interaction:
        """Decide once. In the same transaction a parked execution is queued, so no decision is lost."""
        if not actor.may_decide:
            raise Forbidden("only a human may decide", hint="use the operator's token or an interactive terminal")

        def job(c: Connection) -> tuple[Interaction, bool]:
            asked = interactions.get(c, actor.workspace_id, interaction_id)
            if asked is None:
                raise NotFound(f"there is no interaction {interaction_id}", hint="see `executor approvals list`")
            check_open(asked)
            if result is not None and (asked.kind != "unknown_outcome" or decision != "approve"):
                raise InvalidRequest("only an approved unknown outcome takes a result", hint="leave the result out")
            return self._settle(c, asked, "approved" if decision == "approve" else "denied", actor.id, reason, result)

        settled, queued = await self._database.write(job)
        self._tell(settled.execution_id, queued)
        return settled

    def _settle(
        self, c: Connection, asked: Interaction, status: InteractionStatus, by: str, reason: str, result: str | None
    ) -> tuple[Interaction, bool]:
        interactions.settle(c, asked.id, status, by=by, reason=reason, result=result)
        what, data = interaction_event(status, asked)
        events.append(c, asked.workspace_id, what, {**data, "by": by, "reason": reason}, asked.execution_id)
        queued = executions.queue(c, asked.execution_id)
        settled = interactions.get(c, asked.workspace_id, asked.id)
        return settled or asked, queued

    def _decision(self, execution_id: str) -> asyncio.Event:
        return self._decisions.setdefault(execution_id, asyncio.Event())

    def _tell(self, execution_id: str, queued: bool) -> None:
        if waiting := self._decisions.pop(execution_id, None):
            waiting.set()
        if queued:
            self._spawn(self._take_over(execution_id, "execution.resumed"))
        elif run := self._runs.get(execution_id):
            run.wake()

    # -- runs -------------------------------------------------------------------------------------------------------

    def _begin(self, actor: Actor, code: str, language: str, limits: Limits | None) -> tuple[Run, Journal]:
        self._check_code(code)
        runtime = self._runtime(language)
        if len(self._runs) >= LIVE_RUNS:
            raise Busy(f"{LIVE_RUNS} executions are running already", hint="try again in a moment")
        at = now_ms()
        execution = Execution(
            id=new_id("exec"),
            workspace_id=actor.workspace_id,
            actor_id=actor.id,
            language=language,
            code=code,
            status="running",
            seed=os.urandom(16),
            clock_ms=at,
            limits=limits or self._limits,
            created_at=at,
            updated_at=at,
        )
        journal = Journal(self._database, execution)
        journal.create()
        return self._launch(execution, runtime, journal, fresh=True), journal

    def _check_code(self, code: str) -> None:
        if not code.strip():
            raise EmptyCode("there is no code to run", hint="send TypeScript such as `return 1 + 1`")
        try:
            size = len(code.encode())
        except UnicodeEncodeError as error:
            raise InvalidRequest("the code is not valid Unicode text", hint="send it as UTF-8") from error
        if size > self._max_code_bytes:
            raise CodeTooLarge(
                f"the code has {size} bytes, more than the {self._max_code_bytes} allowed",
                hint="pass data through tools instead of writing it into the code",
            )

    def _runtime(self, language: str) -> Runtime:
        runtime = self._runtimes.get(language)
        if runtime is None:
            raise UnknownRuntime(f"there is no runtime {language!r}", hint=f"use {', '.join(sorted(self._runtimes))}")
        return runtime

    def _launch(self, execution: Execution, runtime: Runtime, journal: Journal, *, fresh: bool) -> Run:
        run = Run(execution, fresh=fresh, journal=journal, door=self._door, runtime=runtime, ttl_ms=self._ttl_ms)
        self._runs[execution.id] = run
        run.task = self._spawn(self._supervise(run))
        return run

    async def _take_over(self, execution_id: str, event: str) -> None:
        """Claim a queued or abandoned execution under a new epoch and run it from its journal."""

        def job(c: Connection) -> Execution | None:
            claimed = executions.claim(c, execution_id)
            if claimed is not None:
                events.append(c, claimed.workspace_id, event, {"epoch": claimed.epoch}, execution_id)
            return claimed

        try:
            execution = None if self._closing else await self._database.write(job)
        except StorageError as error:
            logger.error("can't take over: %s", error.message, extra={"execution": execution_id})
            self._spawn(self._retry(execution_id))
            return
        if execution is None:
            return
        try:
            runtime = self._runtime(execution.language)
        except UnknownRuntime as error:
            await self._give_up(execution, error)
        else:
            self._launch(execution, runtime, Journal(self._database, execution), fresh=False)

    async def _supervise(self, run: Run) -> None:
        """The edge of a run: whatever goes wrong in it ends that execution alone, or is tried again."""
        try:
            await run.drive()
        except StorageError as error:
            logger.error("the journal can't be written: %s", error.message, extra={"execution": run.execution.id})
            self._spawn(self._retry(run.execution.id))
        except Exception as error:  # noqa: BLE001 - becomes an opaque incident
            await self._give_up(run.execution, error)
        finally:
            if self._runs.get(run.execution.id) is run:
                del self._runs[run.execution.id]

    async def _give_up(self, execution: Execution, error: Exception) -> None:
        incident = new_id("err")
        logger.error("run failed", exc_info=error, extra={"incident": incident, "execution": execution.id})
        journal = Journal(self._database, execution)
        journal.close_open_calls()
        try:
            await journal.finish("failed", None, failures.internal(incident), execution.wall_ms)
        except (Fenced, StorageError) as second:
            logger.error("can't record it: %s", second.message, extra={"incident": incident})

    async def _retry(self, execution_id: str) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        await self._take_over(execution_id, "execution.recovered")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.expire(now_ms())
            except StorageError as error:
                logger.error("expired interactions can't be closed: %s", error.message)

    async def expire(self, now: int) -> int:
        """Close what nobody decided in time; how many."""

        def job(c: Connection) -> list[tuple[Interaction, bool]]:
            return [self._settle(c, asked, "expired", "", "", None) for asked in interactions.expired(c, now)]

        due = await self._database.read(lambda c: interactions.expired(c, now, limit=1))
        closed = await self._database.write(job) if due else []
        for interaction, queued in closed:
            self._tell(interaction.execution_id, queued)
        return len(closed)


async def wait_until(event: asyncio.Event, seconds: float) -> None:
    if not event.is_set():
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await event.wait()
        except TimeoutError:
            return


def check_open(asked: Interaction) -> None:
    if asked.status == "expired" or (asked.status == "pending" and asked.expires_at <= now_ms()):
        raise InteractionExpired(f"interaction {asked.id} has expired", hint="run the code again")
    if asked.status != "pending":
        raise AlreadySettled(f"interaction {asked.id} was {asked.status} already", hint="it is decided only once")


def with_timeout(limits: Limits, timeout_ms: int | None) -> Limits:
    return limits if timeout_ms is None else replace(limits, wall_ms=timeout_ms)
