"""Local dispatch: every run is a task of this process. The data directory's lock makes it the only process.

`cluster_dispatch` is for several processes on one PostgreSQL database.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.engine import Connection

from executor.errors import Busy, ExecutorError, Fenced, StorageError, UnknownRuntime
from executor.execution import failures
from executor.execution.approvals.elicitations import close_abandoned
from executor.execution.backlog import Backlog, BeginCheck, Waiting, lane_of
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.journal.journal import INLINE_BYTES, Journal, Recorded, look_at
from executor.execution.runs.run import STOP_GRACE, Run, program_of
from executor.execution.runs.segment import note_submission, trace_segment
from executor.execution.sandbox_queue import Opening, Places, Pool
from executor.execution.typecheck import Ruling
from executor.execution.use_limits import LimitsInForce, Running, admit
from executor.model.execution import Execution, Failure
from executor.model.fairness import CURRENT, Counts, Lane, Party
from executor.model.ids import new_id
from executor.model.use_limits import Bounds
from executor.runtime.registry import Runtimes
from executor.storage.database import Database
from executor.storage.executions import events, executions
from executor.telemetry import tracer
from executor.telemetry.metrics import EXECUTIONS

LIVE_RUNS = 20_000  # of one actor: running, resting or queued; parked ones don't count
ALL_LIVE_RUNS = 100_000
RETRY_SECONDS = 2.0
CLOSE_SECONDS = 5.0
LATER = "wait until some have ended, then try again"

logger = logging.getLogger(__name__)
T = TypeVar("T")


class LocalDispatch:
    """`runs` are the executions that hold memory here; parked ones are rows, and those in the backlog nearly so."""

    drain_seconds = 0.0  # how long calls that were sent may take when it stops, if that is longer than usual

    def __init__(
        self,
        database: Database,
        pipeline: CallPipeline,
        runtimes: Runtimes,
        ttl_ms: int,
        inline_bytes: int = INLINE_BYTES,
        *,
        limits: LimitsInForce | None = None,
    ) -> None:
        self._database = database
        self._pipeline = pipeline
        self.runtimes = runtimes
        self._ttl_ms = ttl_ms
        self._inline_bytes = inline_bytes
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self.runs: dict[str, Run] = {}
        self._per_actor: Counts[str] = Counts()
        self.limits = limits or LimitsInForce(database)
        self._running = Running(self.limits)
        self.backlog = Backlog(self._begin_take_up, self._running)
        self.limits.on_change.append(self.backlog.feed_all)
        self._places = Places(self.backlog)

    @property
    def waiting_for_sandbox(self) -> dict[str, int]:
        return {name: self._places.pool(self.runtimes.get(name)).wanted for name in self.runtimes.ids}

    def begin(self, execution: Execution, begin_check: BeginCheck | None = None) -> tuple[Run | None, Journal]:
        """A fresh execution runs at once, while its first write is on its way.

        Where many of its actor wait for a sandbox already, it is queued as a row instead, and there is no run yet.
        """
        self._check_room(execution.actor_id)
        lane = lane_of(execution)
        queued = not self.backlog.admits(lane)
        journal = Journal(
            self._database, replace(execution, status="queued") if queued else execution, self._inline_bytes
        )
        journal.create()
        if queued:
            note_submission(journal)
            asyncio.get_running_loop().call_soon(self._begin_later, journal, Waiting(execution.id, lane, begin_check))
            return None, journal
        check = begin_check(execution) if begin_check is not None else None
        return self._launch(execution, journal, fresh=True, check=check, lane=lane), journal

    async def begin_bound(
        self,
        execution: Execution,
        bounds: Bounds,
        begin_check: BeginCheck | None = None,
        name: tuple[str, str] | None = None,
    ) -> tuple[Run | None, Journal]:
        """As `begin`, where limits apply: it is counted in the transaction that inserts its row, and runs after that.
        Raises if there are too many; then nothing is there. Someone who no longer waits for it changes nothing."""
        self._check_room(execution.actor_id)
        beginning = self.spawn(self._begin_bound(execution, bounds, begin_check, name))
        beginning.add_done_callback(look_at)
        return await asyncio.shield(beginning)

    async def _begin_bound(
        self, execution: Execution, bounds: Bounds, begin_check: BeginCheck | None, name: tuple[str, str] | None
    ) -> tuple[Run | None, Journal]:
        lane = lane_of(execution)
        if not self.backlog.admits(lane):
            execution = replace(execution, status="queued")
        else:
            self._running.add(lane)  # so that no other takes its place meanwhile
        journal = Journal(self._database, execution, self._inline_bytes)
        note_submission(journal)
        try:
            await journal.insert(lambda c, one: admit(c, one, bounds, counts_owned=False), name)
            if execution.status == "queued":
                self._queue(Waiting(execution.id, lane, begin_check))
                return None, journal
            return self._launch_bound(execution, journal, begin_check), journal
        finally:
            if execution.status != "queued":
                self._leave_place(lane)

    def _launch_bound(self, execution: Execution, journal: Journal, begin_check: BeginCheck | None) -> Run | None:
        """None when closing: its row is left to the next start."""
        if self._closing:
            return None
        check = begin_check(execution) if begin_check is not None else None
        return self._launch(execution, journal, fresh=True, check=check)

    def resume(self, execution: Execution) -> None:
        """Run a claimed execution from its journal, in its turn. When closing, the next start claims it again."""
        lane, begun = lane_of(execution), self.runs.get(execution.id)
        if self._closing or (begun is not None and begun.execution.epoch == execution.epoch):
            return
        if self.backlog.admits(lane):
            self._go_on(execution)
        else:
            self.spawn(self._requeue_one(execution, lane))

    def resume_early(self, execution: Execution, recorded: Recorded, claimed: asyncio.Future[Any]) -> None:
        """Run it while the write that claims it is being committed, if it is its turn. If that fails, the run ends, and
        nothing has happened: it sends and reports nothing before, and what it writes is fenced."""
        if self._closing or claimed.done() or not self.backlog.admits(lane_of(execution)):
            return
        journal = Journal(self._database, execution, self._inline_bytes)
        journal.follow(claimed, recorded)
        with suppress(UnknownRuntime):  # `resume` reports it
            run = self._launch(execution, journal, fresh=False)
            claimed.add_done_callback(partial(abort_unclaimed, run))

    async def _requeue_one(self, execution: Execution, lane: Lane) -> None:
        """It was claimed for a place that it does not have yet."""
        row = execution.id, execution.epoch, execution.wall_ms
        try:
            await self._database.write(lambda c: executions.requeue(c, [row]))
        except StorageError as error:  # it is taken up all the same
            logger.error("can't requeue: %s", error.message)
        self._queue(Waiting(execution.id, lane))

    def take_over(self, left: Sequence[tuple[str, Lane]]) -> None:
        """What an earlier process left behind, oldest first."""
        for execution_id, lane in left:
            self._queue(Waiting(execution_id, lane, left_behind=True))

    def cancel(self, execution_id: str) -> None:
        """It has been cancelled in the database."""
        if run := self.runs.get(execution_id):
            run.abort()
        elif waiting := self.backlog.get(execution_id):
            self._leave_queue(waiting)

    async def close(self) -> None:
        """What was sent is answered or left to the journal; the rest starts again next time."""
        self._closing = True
        self.backlog.close()
        await self._requeue([run for run in self.runs.values() if run.is_still])
        live = list(self.runs.values())
        for run in live:
            run.stop(max(STOP_GRACE, self.drain_seconds))
        waiting = [asyncio.ensure_future(run.done.wait()) for run in live]
        if waiting:
            await asyncio.wait(waiting, timeout=CLOSE_SECONDS + self.drain_seconds)
        for task in [*self._tasks, *waiting]:
            task.cancel()
        await asyncio.gather(*self._tasks, *waiting, return_exceptions=True)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _launch(
        self,
        execution: Execution,
        journal: Journal,
        *,
        fresh: bool,
        check: asyncio.Task[Ruling] | None = None,
        lane: Lane | None = None,
    ) -> Run:
        lane = lane or lane_of(execution)
        pool = self._places.pool(self.runtimes.get(execution.runtime))
        opening = self._opening(pool, execution, lane)
        run = Run(
            execution,
            fresh=fresh,
            journal=journal,
            pipeline=self._pipeline,
            opener=opening,
            ttl_ms=self._ttl_ms,
            check=check,
        )
        run.idle_runs = pool.idle
        self.runs[execution.id] = run
        self._per_actor.add(execution.actor_id)
        self._running.add(lane)
        run.task = self.spawn(self._supervise(run, lane))
        if opening.launched is not None:
            run.task.add_done_callback(lambda _: self._close_unused(opening))
        return run

    def _opening(self, pool: Pool, execution: Execution, lane: Lane) -> Opening:
        return self._places.opening(pool, lane, program_of(execution))

    def _close_unused(self, opening: Opening) -> None:
        """A run that was cancelled before it began never took its sandbox."""
        if opening.launched is not None:
            self.spawn(opening.launched.close())

    async def _supervise(self, run: Run, lane: Lane) -> None:
        """The edge of a run: whatever goes wrong in it ends that execution alone, or is tried again."""
        execution = run.execution
        weights = () if self.limits.are_default else self._running.bounds(lane).weights
        CURRENT.set(Party(lane.actor_id, execution.id, lane.workspace_id, lane.rank, *weights))
        try:
            if tracer.is_on():
                async with trace_segment(self._database, run):
                    await run.drive()
            else:
                await run.drive()
        except StorageError as error:
            logger.error("the journal can't be written: %s", error.message, extra={"execution": execution.id})
            self.spawn(self._retry(execution))
        except ExecutorError as error:
            await self._give_up(execution, Failure(error.code, error.message, error.hint), run.journal)
        except Exception as error:
            incident = new_id("err")
            logger.error("run failed", exc_info=error, extra={"incident": incident, "execution": execution.id})
            await self._give_up(execution, failures.internal(incident), run.journal)
        finally:
            if self.runs.get(execution.id) is run:
                del self.runs[execution.id]
            self._per_actor.remove(execution.actor_id)
            self._leave_place(lane)
            run.done.set()
            run.reported.set()

    async def _give_up(self, execution: Execution, failure: Failure, journal: Journal | None = None) -> None:
        """With the run's own journal where there is one: what it has not written yet comes first."""
        journal = journal or Journal(self._database, execution)
        journal.close_open_calls()
        try:
            await journal.finish("failed", None, failure, execution.wall_ms)
            EXECUTIONS.add("failed", execution.runtime)
        except (Fenced, StorageError) as error:
            logger.error("can't record the failure: %s", error.message, extra={"execution": execution.id})

    async def _retry(self, execution: Execution) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        self.take_over([(execution.id, lane_of(execution))])

    # -- the queue ---------------------------------------------------------------------------------------------------

    def _check_room(self, actor_id: str) -> None:
        if self._per_actor[actor_id] >= LIVE_RUNS or len(self.runs) + len(self.backlog) >= ALL_LIVE_RUNS:
            raise Busy(f"this actor already has {self._per_actor[actor_id]} executions running or queued", hint=LATER)

    def _begin_later(self, journal: Journal, waiting: Waiting) -> None:
        """Its row is on its way to the writer before anyone tries to claim it."""
        journal.flush()
        self._queue(waiting)

    def _leave_place(self, lane: Lane) -> None:
        """One fewer runs, or is about to."""
        self._running.remove(lane)
        if not self.limits.are_default and len(self.backlog) and self._running.bounds(lane).is_bound:
            self.backlog.feed_workspace(lane.workspace_id)

    def _queue(self, waiting: Waiting) -> None:
        if not self._closing:
            self._per_actor.add(waiting.lane[0])
            self.backlog.put(waiting)

    def _leave_queue(self, waiting: Waiting) -> None:
        self._per_actor.remove(waiting.lane[0])
        self.backlog.forget(waiting)

    def _begin_take_up(self, waiting: Waiting) -> None:
        self.spawn(self._take_up(waiting))

    async def _take_up(self, waiting: Waiting) -> None:
        """Claim it under a new epoch, unless it was cancelled meanwhile."""

        def job(c: Connection) -> Execution | None:
            close_abandoned(c, waiting.execution_id)
            claimed = executions.claim(c, waiting.execution_id)
            if claimed is not None and waiting.left_behind:
                happened = "execution.recovered", {"epoch": claimed.epoch}
                events.append(c, claimed.workspace_id, *happened, waiting.execution_id)
            return claimed

        try:
            execution = None if self._closing else await self._database.write(job)
            if execution is not None and not self._closing:
                self._go_on(execution, waiting.begin_check)
        except StorageError as error:
            logger.error("can't take over: %s", error.message, extra={"execution": waiting.execution_id})
            again = replace(waiting, dropped=False)
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._queue, again)
        finally:
            self.backlog.leave(waiting.lane)
            self._leave_place(waiting.lane)
            if not waiting.dropped:
                self._leave_queue(waiting)

    def _go_on(self, execution: Execution, begin_check: BeginCheck | None = None) -> None:
        journal = Journal(self._database, execution, self._inline_bytes)
        try:
            check = begin_check(execution) if begin_check is not None else None
            self._launch(execution, journal, fresh=False, check=check)
        except UnknownRuntime as error:
            self.spawn(self._give_up(execution, Failure(error.code, error.message, error.hint)))

    async def _requeue(self, still: Sequence[Run]) -> None:
        """Runs without a sandbox and with nothing under way end together, in one transaction."""
        rows = [(run.execution.id, run.execution.epoch, run.clock.spent_ms) for run in still]
        for run in still:
            run.journal.flush()
        try:
            await self._database.write(lambda c: executions.requeue(c, rows))
        except StorageError as error:
            logger.error("can't requeue: %s", error.message)
        for run in still:
            run.abort()


def abort_unclaimed(run: Run, claimed: asyncio.Future[Any]) -> None:
    if claimed.cancelled() or claimed.exception() is not None:
        run.abort()
