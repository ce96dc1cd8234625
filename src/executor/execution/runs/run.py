"""One live run of an execution: from its start, or from its journal, until it is parked or has ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from executor.errors import AccessRevoked, Fenced, ReplayDiverged, SandboxLost
from executor.execution import failures
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.journal.journal import Journal
from executor.execution.outcome import Outcome
from executor.execution.runs.calls import RunCalls, ignore
from executor.execution.runs.log import RunLog
from executor.execution.runs.segment import TracedSandbox
from executor.execution.runs.wall_clock import WallClock
from executor.execution.typecheck import Ruling
from executor.model.execution import Execution, Failure, Status
from executor.model.ids import now_ms
from executor.model.interaction import Interaction
from executor.runtime.protocol import Answer, BatchingSandbox, Log, Program, Proposal, Sandbox, Step
from executor.telemetry import tracer
from executor.telemetry.metrics import EXECUTION_SECONDS, EXECUTIONS, SANDBOX_WAIT

SANDBOX_LOSSES = 5  # in a row, without an answer in between
SPARED_LOSSES = 200  # brought about by others
FINISH_GRACE = 30.0
STOP_GRACE = 2.0

logger = logging.getLogger(__name__)


class Resting(Exception):
    """The run gives its sandbox up until there is news."""


class Run:
    """`done` is set by anyone who supervises the run, when it is over and that is recorded.

    `outcome` then says what its state is, unless another owner took it away or it failed outside of the code.
    """

    def __init__(
        self,
        execution: Execution,
        *,
        fresh: bool,
        journal: Journal,
        pipeline: CallPipeline,
        opener: Callable[[], Awaitable[Sandbox]],
        ttl_ms: int,
        check: asyncio.Task[Ruling] | None = None,
    ) -> None:
        self.execution = execution
        self.outcome: Outcome | None = None
        self.done = asyncio.Event()
        self.reported = asyncio.Event()  # `outcome` is there: it is over, or paused with calls under way
        self.task: asyncio.Task[None] | None = None
        self.idle_since: float | None = None
        self.idle_runs: OrderedDict[Run, None] = OrderedDict()  # of the same runtime, this one among them when idle
        self._placeless = False  # without a sandbox, until there is news or a place
        self.is_fresh = fresh
        self.journal = journal
        self._opener = opener
        self._check = check
        self._diagnostics: tuple[dict[str, Any], ...] = ()
        self.clock = WallClock(execution)
        self._log = RunLog(journal)
        self._calls = RunCalls(execution, journal, pipeline, ttl_ms, self.clock, self._log)
        self._calls.on_fenced = self.abort
        self._decided = False
        self._stopping = False
        self._grace = STOP_GRACE
        self._yielding = False
        self._end: Step | None = None

    def wake(self, settled: Interaction | None = None) -> None:
        """A human has settled something of this execution."""
        if settled is not None and settled.kind == "elicitation":
            self._calls.elicitations.settle(settled)
            self._withdraw_report()
            return
        self._decided = True
        self._calls.sends.news.set()

    def has_open(self, elicitation_id: str) -> bool:
        """Whether a server still waits for this answer."""
        return elicitation_id in self._calls.elicitations.open

    @property
    def has_pending(self) -> bool:
        """People have to decide something."""
        return bool(self._calls.pending)

    def stop(self, grace: float = STOP_GRACE) -> None:
        """Send nothing more, and leave the work to the daemon's next start, as soon as what was sent is answered or has
        had its time."""
        self._stopping, self._grace = True, grace
        self._calls.elicitations.dismiss("Executor was stopped, or the execution cancelled, before anyone answered")
        self._calls.sends.news.set()
        if self._placeless and self.task is not None:
            self.task.cancel()

    @property
    def has_unanswered_writes(self) -> bool:
        return bool(self._calls.sends.unanswered_writes())

    @property
    def is_still(self) -> bool:
        """Without a sandbox, and with nothing under way that could be lost."""
        return self._placeless and not self._calls.sends.has_calls and self._check is None

    def rest(self) -> None:
        """Another run needs the sandbox, and this one only waits."""
        self._yielding = True
        self._calls.sends.news.set()

    def abort(self) -> None:
        """It was cancelled: drop everything at once."""
        self._withdraw_report()
        if self.task is not None:
            self.task.cancel()

    async def drive(self) -> None:
        try:
            await self._drive()
            await self.journal.durable()
        except Fenced:
            logger.info("execution taken over or cancelled", extra={"execution": self.execution.id})
        finally:
            self._calls.sends.cancel()
            self._calls.approvals.note_written(None)
            self._calls.on_fenced = ignore  # else it would be a cycle; see docs/decisions/garbage-collection.md

    async def _drive(self) -> None:
        losses, spared, reached = 0, 0, -1
        while losses < SANDBOX_LOSSES and spared < SPARED_LOSSES:
            try:
                await self._attempt()
                return
            except Resting:
                if await self._rest():
                    return
            except SandboxLost as error:
                if error.details.get("innocent"):
                    spared += 1
                else:
                    losses = 1 if self._calls.answers.seq > reached else losses + 1
                    reached = max(reached, self._calls.answers.seq)
            await self._start_over()
        await self._finish("failed", failure=failures.sandbox_lost(losses + spared))

    async def _attempt(self) -> None:
        sandbox = await self._place()
        if sandbox is None:
            await self._leave()
            return
        self.clock.start()
        try:
            async with asyncio.timeout(self.clock.seconds_left):
                await self._run(sandbox)
        except TimeoutError:
            await self._finish("failed", failure=failures.wall_limit(self.execution.limits.wall_ms))
        except AccessRevoked as error:
            await self._finish("failed", failure=Failure(error.code, error.message, error.hint))
        except ReplayDiverged as error:
            await self._finish("failed", failure=failures.nondeterminism(error.message))
        finally:
            await sandbox.close()

    async def _place(self) -> Sandbox | None:
        """A sandbox, or None if the daemon stops before one is free. The wait is not the execution's time."""
        since = time.monotonic()
        try:
            with self._without_place():
                sandbox = await self._opener()
                return TracedSandbox(sandbox) if tracer.is_on() else sandbox
        finally:
            waited = time.monotonic() - since
            self.clock.exclude(waited)
            SANDBOX_WAIT.observe(waited, self.execution.runtime)
            tracer.current_span().set({"executor.sandbox.wait_seconds": waited})
        return None

    @contextmanager
    def _without_place(self) -> Iterator[None]:
        """`stop` ends what waits here, and only that."""
        self._placeless = True
        try:
            yield
        except asyncio.CancelledError:
            if not self._stopping or self.task is None or self.task.uncancel():
                raise
        finally:
            self._placeless = False

    async def _run(self, sandbox: Sandbox) -> None:
        program = program_of(self.execution)
        if self.is_fresh:
            self._take(await sandbox.start(program))
        else:
            recorded = await self.journal.load()
            self._calls.load(recorded)
            self._log.restore(recorded)
            self._take(await sandbox.start(program))
            await self._replay(sandbox)
            await self.journal.await_claim()
        if self._check is None or await self._passes(self._check):
            await self._live(sandbox)

    async def _passes(self, check: asyncio.Task[Ruling]) -> bool:
        """Nothing is sent and no end is reported before the type check. The sandbox explains bad syntax better."""
        if self._end is not None and self._end.failure is not None and self._end.failure.code == "syntax_error":
            return True
        ruling = await asyncio.shield(check)
        self._check = None
        if ruling.failure is not None:
            await self._finish("failed", failure=ruling.failure)
        elif ruling.diagnostics:
            self._diagnostics = tuple(one.to_dict() for one in ruling.diagnostics)
            self.journal.note("execution.checked", {"diagnostics": list(self._diagnostics)})
        return ruling.failure is None

    async def _live(self, sandbox: Sandbox) -> None:
        while self._end is None:
            if self._stopping:
                await self._leave()
                return
            elif self._calls.deliveries:
                await self._deliver(sandbox)
            elif self._calls.position.new:
                await self._calls.admit()
            elif self._calls.sends.arrived:
                self._calls.record()
            elif self._calls.unsettled:
                await self._calls.ask_about_unsettled()
            elif self._decided:
                self._decided = False
                await self._calls.act_on(await self.journal.find_settled(list(self._calls.approvals.asked)))
            elif self._calls.sends:
                await self._idle()
            elif await self._park():
                return
        await self._conclude(self._end)

    async def _idle(self) -> None:
        """Wait for news. Asked to rest meanwhile, or where only people can bring news, the run gives its sandbox up."""
        self.journal.flush()
        if self._calls.waits_for_people:
            raise Resting
        self._calls.sends.news.clear()
        self.idle_since = time.monotonic()
        self.idle_runs[self] = None
        try:
            await self._calls.sends.news.wait()
        finally:
            self.idle_since = None
            del self.idle_runs[self]
        if self._yielding and not (self._has_news or self._stopping):
            raise Resting
        self._yielding = False

    async def _rest(self) -> bool:
        """Without a sandbox until there is news; true if the run is over with that."""
        self._yielding = False
        try:
            while not (self._has_news or self._stopping):
                if self._calls.waits_for_people:
                    await self._pause()
                    continue
                self._calls.sends.news.clear()
                async with asyncio.timeout(self.clock.seconds_left):
                    with self._without_place():
                        await self._calls.sends.news.wait()
        except TimeoutError:
            await self._finish("failed", failure=failures.wall_limit(self.execution.limits.wall_ms))
            return True
        if self._stopping:
            await self._leave()
        return self._stopping

    @property
    def _has_news(self) -> bool:
        return bool(self._calls.sends.arrived or self._decided)

    async def _pause(self) -> None:
        """Paused with calls under way: their servers wait for people. That time is not the execution's."""
        since = time.monotonic()
        if await self.journal.pause(list(self._calls.approvals.asked), self.clock.spent_ms):
            self._report_as("paused")
            self.reported.set()
            if self._calls.waits_for_people and not (self._has_news or self._stopping):
                self._calls.sends.news.clear()
                with self._without_place():
                    await self._calls.sends.news.wait()
            self._withdraw_report()
        self.clock.exclude(time.monotonic() - since)

    async def _start_over(self) -> None:
        """The sandbox is gone, the journal isn't, and what was sent is still under way: replay, then continue."""
        await self._calls.start_over()
        self.is_fresh, self._end = False, None

    def _withdraw_report(self) -> None:
        """It is no longer as it was reported. What is over stays so."""
        if self.outcome is not None and self.execution.status == "paused" and not self.done.is_set():
            self.reported.clear()
            self.outcome, self.execution = None, replace(self.execution, status="running")

    # -- replay: the same code, the same answers, the same calls -----------------------------------------------------

    async def _replay(self, sandbox: Sandbox) -> None:
        for call in self._calls.position.recorded_answers():
            if self._end is not None:
                return
            self._calls.position.close(call)
            self._take(await sandbox.answer(self._calls.answers.repeat(call)))
        if self._end is None:
            self._calls.position.check_whole()
            await self._calls.take_up()

    # -- steps -------------------------------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        self.journal.log(self._calls.position.take(step))
        self._log.show(step.logs)
        if step.has_ended:
            self._end = step

    async def _deliver(self, sandbox: Sandbox) -> None:
        """One answer at a time, the sandbox drained in between; put on the wire together to save the waiting."""
        answers = [self._calls.deliveries.popleft() for _ in range(len(self._calls.deliveries))]
        steps = await answer_all(sandbox, answers)
        self._calls.sends.release(answer.seq for answer in answers)
        for step in steps:
            if self._end is not None:
                return
            if isinstance(step, BaseException):
                raise step
            self._take(step)

    # -- parking and ending ------------------------------------------------------------------------------------------

    async def _park(self) -> bool:
        """True when parked: rows, no process, no memory. False when a decision came in meanwhile."""
        asked = self._calls.approvals.asked
        if not asked:
            self._end = Step(failure=failures.stuck_failure())
            return False
        settled = await self.journal.park(list(asked), self.clock.spent_ms)
        if settled:
            await self._calls.act_on(settled)
            return False
        self._report_as("paused")
        return True

    async def _leave(self) -> None:
        """Going down: record the answers that come soon, and leave the rest to the next start."""
        await self._calls.outwait(self._grace)
        await self._calls.ask_about_unsettled()
        await self.journal.requeue(self.clock.spent_ms)
        self._report_as("queued")

    async def _conclude(self, end: Step) -> None:
        """What was sent gets its answer recorded, though the code no longer waits for it."""
        self._warn_unsent(self._calls.position.new)
        await self._calls.outwait(FINISH_GRACE)
        if end.failure is not None:
            await self._finish("failed", failure=end.failure)
        else:
            await self._finish("completed", result=end.value)

    def _warn_unsent(self, unsent: Sequence[Proposal]) -> None:
        names = ", ".join(dict.fromkeys(proposal.path for proposal in unsent if proposal.kind == "tool"))
        if names:
            line = Log("warn", f"the code ended without awaiting {names}; these calls were not sent")
            self.journal.log([line])
            self._log.show([line])

    async def _finish(self, status: Status, *, result: str | None = None, failure: Failure | None = None) -> None:
        if failure is not None:
            await self._calls.outwait(STOP_GRACE)
            failure = failures.with_language(failure, self.execution.language, self.execution.code)
            failure = failures.with_unknown(failure, self._calls.unknown_writes())
        if self._calls.position.open or self._calls.approvals.asked:
            self.journal.close_open_calls()
        ended = await self.journal.finish(status, result, failure, self.clock.spent_ms)
        self._calls.approvals.asked.clear()
        self._report(ended)
        EXECUTION_SECONDS.observe(ended.wall_ms / 1000, status, ended.runtime)
        self.reported.set()

    def _report_as(self, status: Status) -> None:
        self._report(replace(self.execution, status=status, updated_at=now_ms()))

    def _report(self, execution: Execution) -> None:
        self.execution = execution
        if execution.status != "queued":
            EXECUTIONS.add(execution.status, execution.runtime)
        lines, kept = tuple(self._log.lines), self.journal.artifact
        self.outcome = Outcome(self.execution, self._calls.pending, lines, self._diagnostics, kept)


async def answer_all(sandbox: Sandbox, answers: Sequence[Answer]) -> Sequence[Step | BaseException]:
    """What comes of each. One answer, as code that makes one call after another gets, needs no task of its own."""
    if len(answers) > 1 and isinstance(sandbox, BatchingSandbox):
        return await sandbox.answer_all(answers)
    if len(answers) > 1:
        return await asyncio.gather(*(sandbox.answer(answer) for answer in answers), return_exceptions=True)
    try:
        return [await sandbox.answer(answers[0])]
    except Exception as error:  # noqa: BLE001 - raised by the caller, as those of several are
        return [error]


def program_of(execution: Execution) -> Program:
    return Program(execution.code, execution.seed, execution.clock_ms, execution.limits, execution.language)
