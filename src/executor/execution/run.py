"""One live run of an execution: from its start, or from its journal, until it is parked or has ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from executor.errors import Fenced, ReplayDiverged, SandboxLost, ToolError
from executor.execution import failures
from executor.execution.approvals.requests import NEEDS, ApprovalRequests
from executor.execution.calls.admission import Admission
from executor.execution.calls.credential import CredentialMissing
from executor.execution.calls.in_flight import Sends, sleep
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.failures import AnswerLost
from executor.execution.journal.cursor import JournalCursor
from executor.execution.journal.journal import Journal, Recorded
from executor.execution.journal.records import Answers, answer_of, proposed_call
from executor.execution.outcome import LogLine, Outcome, log_line
from executor.execution.typecheck import Ruling
from executor.model.execution import Call, Execution, Failure, Status
from executor.model.ids import now_ms
from executor.model.interaction import Binding, Interaction
from executor.model.tool import Tool
from executor.runtime.protocol import Answer, Log, Program, Proposal, Sandbox, Step
from executor.sources.rate_limits import RETRIES, Retries

SANDBOX_LOSSES = 5  # in a row, without an answer in between
SPARED_LOSSES = 200  # brought about by others
FINISH_GRACE = 30.0
STOP_GRACE = 2.0
LAST_SECONDS = 1.0  # of an execution's time, left for what follows a wait

logger = logging.getLogger(__name__)


class Resting(Exception):
    """The run gives its sandbox up until there is news."""


class Run:
    """`done` is set by whoever supervises the run, when it is over and that is recorded.

    `outcome` then says how it stands, unless another owner took it away or it failed outside of the code.
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
        self.task: asyncio.Task[None] | None = None
        self.idle_since: float | None = None
        self.idle_runs: OrderedDict[Run, None] = OrderedDict()  # of the same runtime, this one among them when idle
        self._placeless = False  # without a sandbox, until there is news or a place
        self._fresh = fresh
        self.journal = journal
        self._pipeline = pipeline
        self._opener = opener
        self._check = check
        self._diagnostics: tuple[dict[str, Any], ...] = ()
        self._position = JournalCursor(Recorded({}, {}, 0))
        self._questions = ApprovalRequests(execution, pipeline, ttl_ms)
        self._sends = Sends()
        self._deliveries: deque[Answer] = deque()
        self._unsettled: list[tuple[Call, CredentialMissing | AnswerLost]] = []
        self._decided = False
        self._stopping = False
        self._grace = STOP_GRACE
        self._yielding = False
        self._answers = Answers(execution.clock_ms, execution.limits.result_bytes)
        self._end: Step | None = None
        self._logs: list[LogLine] = []
        self._warned: set[str] = set()
        self._began = 0.0

    def wake(self) -> None:
        """A human has settled something of this execution."""
        self._decided = True
        self._sends.news.set()

    def stop(self, grace: float = STOP_GRACE) -> None:
        """Send nothing more, and leave the work to the daemon's next start, as soon as what was sent is answered or has
        had its time."""
        self._stopping, self._grace = True, grace
        self._sends.news.set()
        if self._placeless and self.task is not None:
            self.task.cancel()

    @property
    def has_unanswered_writes(self) -> bool:
        return bool(self._sends.unanswered_writes())

    @property
    def is_still(self) -> bool:
        """Without a sandbox, and with nothing under way that could be lost."""
        return self._placeless and not self._sends.has_calls and self._check is None

    def rest(self) -> None:
        """Another run needs the sandbox, and this one only waits."""
        self._yielding = True
        self._sends.news.set()

    def abort(self) -> None:
        """It was cancelled: drop everything at once."""
        if self.task is not None:
            self.task.cancel()

    async def drive(self) -> None:
        try:
            await self._drive()
        except Fenced:
            logger.info("execution taken over or cancelled", extra={"execution": self.execution.id})
        finally:
            self._sends.cancel()
            self._questions.written(None)

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
                    losses = 1 if self._answers.seq > reached else losses + 1
                    reached = max(reached, self._answers.seq)
            await self._start_over()
        await self._finish("failed", failure=failures.sandbox_lost(losses + spared))

    async def _attempt(self) -> None:
        sandbox = await self._place()
        if sandbox is None:
            await self._leave()
            return
        self._began = self._began or time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, self._remaining_ms() / 1000)):
                await self._run(sandbox)
        except TimeoutError:
            await self._finish("failed", failure=failures.wall_limit(self.execution.limits.wall_ms))
        except ReplayDiverged as error:
            await self._finish("failed", failure=failures.nondeterminism(error.message))
        finally:
            await sandbox.close()

    async def _place(self) -> Sandbox | None:
        """A sandbox, or None if the daemon stops before there is one. Waiting for it is no time of the execution's."""
        since = time.monotonic()
        try:
            with self._without_place():
                return await self._opener()
        finally:
            if self._began:
                self._began += time.monotonic() - since
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
        execution = self.execution
        program = Program(execution.code, execution.seed, execution.clock_ms, execution.limits, execution.language)
        if self._fresh:
            self._take(await sandbox.start(program))
        else:
            recorded = await self.journal.load()
            self._position, self._logs = JournalCursor(recorded), [log_line(event) for event in recorded.warnings]
            self._warned = {line.text for line in self._logs}
            self._take(await sandbox.start(program))
            await self._replay(sandbox)
        if self._check is None or await self._passes(self._check):
            await self._live(sandbox)

    async def _passes(self, check: asyncio.Task[Ruling]) -> bool:
        """Nothing is sent and no end is told before the type check has spoken. Bad syntax the sandbox tells better."""
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
            elif self._deliveries:
                await self._deliver(sandbox)
            elif self._position.new:
                await self._admit()
            elif self._sends.arrived:
                self._record()
            elif self._unsettled:
                await self._ask_about_unsettled()
            elif self._decided:
                self._decided = False
                await self._act_on(await self.journal.settled(list(self._questions.asked)))
            elif self._sends:
                await self._idle()
            elif await self._park():
                return
        await self._conclude(self._end)

    async def _idle(self) -> None:
        """Wait for news. Asked to rest meanwhile, the run leaves its sandbox to somebody else."""
        self.journal.flush()
        self._sends.news.clear()
        self.idle_since = time.monotonic()
        self.idle_runs[self] = None
        try:
            await self._sends.news.wait()
        finally:
            self.idle_since = None
            del self.idle_runs[self]
        if self._yielding and not (self._sends.arrived or self._decided or self._stopping):
            raise Resting
        self._yielding = False

    async def _rest(self) -> bool:
        """Without a sandbox until there is news; true if the run is over with that."""
        self._yielding = False
        self._sends.news.clear()
        try:
            async with asyncio.timeout(max(0.0, self._remaining_ms() / 1000)):
                with self._without_place():
                    await self._sends.news.wait()
        except TimeoutError:
            await self._finish("failed", failure=failures.wall_limit(self.execution.limits.wall_ms))
            return True
        if self._stopping:
            await self._leave()
        return self._stopping

    async def _start_over(self) -> None:
        """The sandbox is gone, the journal isn't, and what was sent is still under way: replay, then go on."""
        if self._sends.arrived:
            self._record()
        await self._ask_about_unsettled()
        await self.journal.durable()
        self._sends.release_all()
        self._deliveries.clear()
        self._questions.asked.clear()
        self._answers = Answers(self.execution.clock_ms, self.execution.limits.result_bytes)
        self._fresh, self._end, self._logs = False, None, []

    # -- replay: the same code, the same answers, the same calls -----------------------------------------------------

    async def _replay(self, sandbox: Sandbox) -> None:
        for call in self._position.answered():
            if self._end is not None:
                return
            self._position.close(call)
            self._take(await sandbox.answer(self._answers.repeat(call)))
        if self._end is None:
            self._position.check_whole()
            await self._take_up()

    async def _take_up(self) -> None:
        """What the journal left open: timers, questions, decisions, and calls whose answer was lost."""
        decided: dict[int, Interaction] = {}
        for call in list(self._position.open.values()):
            asked = self._position.asked.get(call.seq)
            if call.seq in self._sends:
                continue
            if call.kind == "timer":
                self._start_timer(call)
            elif asked is None or asked.used:
                await self._take_up_sent(call, asked)
            else:
                self._questions.asked[call.seq] = asked
                if asked.status != "pending":
                    decided[call.seq] = asked
        await self._act_on(decided)

    async def _take_up_sent(self, call: Call, used: Interaction | None) -> None:
        verdict = await self._questions.judge_sent(call, used)
        if isinstance(verdict, ToolError):
            self._sends.arrive(call, verdict)
        elif isinstance(verdict, Interaction):
            self.journal.ask(verdict)
        else:
            self._send(call, verdict, binding_of(used))

    # -- steps -------------------------------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        self.journal.log(self._position.take(step))
        self._show(step.logs)
        if step.ended:
            self._end = step

    def _show(self, lines: Sequence[Log]) -> None:
        if lines:
            at = now_ms()
            self._logs.extend(LogLine(line.level, line.text, at) for line in lines)

    def _warn(self, warnings: Sequence[tuple[Call, str]]) -> None:
        """Each once: code that calls in a loop need not read it again."""
        for call, line in warnings:
            if line not in self._warned:
                self._warned.add(line)
                self.journal.note("call.warned", {"seq": call.seq, "path": call.path, "level": "warn", "text": line})
                self._logs.append(LogLine("warn", line, now_ms()))

    async def _deliver(self, sandbox: Sandbox) -> None:
        """One answer at a time, the sandbox drained in between; put on the wire together to save the waiting."""
        answers = [self._deliveries.popleft() for _ in range(len(self._deliveries))]
        steps = await asyncio.gather(*(sandbox.answer(answer) for answer in answers), return_exceptions=True)
        self._sends.release(answer.seq for answer in answers)
        for step in steps:
            if self._end is not None:
                return
            if isinstance(step, BaseException):
                raise step
            self._take(step)

    async def _admit(self) -> None:
        """Judge every new call of this round, journal them in one transaction, then send what may go."""
        admissions = [await self._questions.admit(proposal) for proposal in self._position.take_new()]
        round_ = [(admission, self._call_of(admission)) for admission in admissions]
        asked = [
            await self._questions.lack(call, admission.tool, admission.missing)
            if admission.missing
            else await self._questions.ask("approval", call, admission.tool, admission.reason)
            for admission, call in round_
            if admission.verdict == "ask" and admission.tool
        ]
        self.journal.propose([call for _, call in round_], asked)
        if asked:
            self._questions.written(self.journal.flush())
        if any(admission.verdict == "send" for admission in admissions):
            await self.journal.durable()
        for admission, call in round_:
            self._begin(admission, call)

    def _begin(self, admission: Admission, call: Call) -> None:
        if admission.verdict == "refuse":
            self._deliveries.append(answer_of(call))
            return
        self._position.open[call.seq] = call
        if call.kind == "timer":
            self._start_timer(call)
        elif admission.verdict == "send" and admission.tool:
            self._send(call, admission.tool)

    def _call_of(self, admission: Admission) -> Call:
        call = proposed_call(self.execution, admission)
        return self._answers.give(call, admission.refusal) if admission.refusal else call

    # -- sending and answers -----------------------------------------------------------------------------------------

    def _send(self, call: Call, tool: Tool, binding: Binding | None = None) -> None:
        self._sends.launch(call, self._send_when_allowed(call, tool, binding))

    async def _send_when_allowed(self, call: Call, tool: Tool, binding: Binding | None) -> str:
        """A read waits for a service that asks for it, as long as the execution has time."""
        RETRIES.set(Retries(self._pipeline.retry_seconds, self._seconds_left, partial(self._note_wait, call)))
        return await self._pipeline.sender.send(self.execution, call, tool, binding)

    def _seconds_left(self) -> float:
        return self._remaining_ms() / 1000 - LAST_SECONDS

    def _note_wait(self, call: Call, status: int, seconds: float, attempt: int) -> None:
        told = {"seq": call.seq, "path": call.path, "status": status, "seconds": round(seconds, 1), "attempt": attempt}
        self.journal.note("call.waiting", told)
        self.journal.flush()

    def _start_timer(self, call: Call) -> None:
        self._sends.launch(call, sleep(call.started_at or 0, float(orjson.loads(call.arguments))))

    def _record(self) -> None:
        """Give what has arrived its place in delivery order. Delivery goes on while the journal is being written."""
        arrived = self._sends.take_arrived()
        self._warn(self._sends.take_warnings())
        self._unsettled += [(call, why) for call, why in arrived if isinstance(why, CredentialMissing | AnswerLost)]
        given = [one for one in arrived if not isinstance(one[1], CredentialMissing | AnswerLost)]
        answered = [self._answers.give(call, outcome) for call, outcome in given]
        for call in answered:
            self._position.open.pop(call.seq, None)
            self._questions.asked.pop(call.seq, None)
            self._deliveries.append(answer_of(call))
        self.journal.answer(answered)

    async def _ask_about_unsettled(self) -> None:
        """Calls that never left for want of a credential, and writes that left and whose answer was lost."""
        unsettled, self._unsettled = self._unsettled, []
        for call, why in unsettled:
            question = await self._questions.ask_about(call, why)
            if isinstance(question, ToolError):
                self._sends.arrive(call, question)
            else:
                self.journal.ask(question)
        if any(isinstance(why, AnswerLost) for _, why in unsettled):
            self._questions.written(self.journal.flush())

    async def _act_on(self, settled: dict[int, Interaction]) -> None:
        """Send what was approved exactly as it was shown; ask again where anything has changed."""
        approved: list[tuple[Call, Interaction, Tool]] = []
        for seq, interaction in settled.items():
            call = self._position.open[seq]
            verdict = await self._questions.judge(call, interaction)
            if isinstance(verdict, str | ToolError):
                self._sends.arrive(call, verdict)
            elif isinstance(verdict, Interaction):
                self.journal.ask(verdict, instead_of=interaction)
            else:
                route = await self._pipeline.bindings.route(self.execution, verdict)
                started = replace(call, state="started", started_at=now_ms(), route=route)
                approved.append((started, interaction, verdict))
        if approved:
            self.journal.start([(call, interaction) for call, interaction, _ in approved])
            await self.journal.durable()
        for call, interaction, tool in approved:
            del self._questions.asked[call.seq]
            self._position.open[call.seq] = call
            self._send(call, tool, binding_of(interaction))

    # -- parking and ending ------------------------------------------------------------------------------------------

    async def _park(self) -> bool:
        """True when parked: rows, no process, no memory. False when a decision came in meanwhile."""
        asked = self._questions.asked
        if not asked:
            self._end = Step(failure=failures.stuck_failure())
            return False
        settled = await self.journal.park(list(asked), self.wall_ms)
        if settled:
            await self._act_on(settled)
            return False
        self._tell("paused")
        return True

    async def _leave(self) -> None:
        """Going down: record the answers that come soon, and leave the rest to the next start."""
        await self._outwait(self._grace)
        await self._ask_about_unsettled()
        await self.journal.requeue(self.wall_ms)
        self._tell("queued")

    async def _outwait(self, seconds: float) -> None:
        await self._sends.settle(seconds)
        if self._sends.arrived:
            self._record()

    async def _conclude(self, end: Step) -> None:
        """What was sent gets its answer recorded, though the code no longer waits for it."""
        self._warn_unsent(self._position.new)
        await self._outwait(FINISH_GRACE)
        if end.failure is not None:
            await self._finish("failed", failure=end.failure)
        else:
            await self._finish("completed", result=end.value)

    def _warn_unsent(self, unsent: Sequence[Proposal]) -> None:
        names = ", ".join(dict.fromkeys(proposal.path for proposal in unsent if proposal.kind == "tool"))
        if names:
            line = Log("warn", f"the code ended without awaiting {names}; these calls were not sent")
            self.journal.log([line])
            self._show([line])

    async def _finish(self, status: Status, *, result: str | None = None, failure: Failure | None = None) -> None:
        if failure is not None:
            await self._outwait(STOP_GRACE)
            failure = failures.with_language(failure, self.execution.language, self.execution.code)
            failure = failures.with_unknown(failure, self._unknown_writes())
        if self._position.open or self._questions.asked:
            self.journal.close_open_calls()
        at = await self.journal.finish(status, result, failure, self.wall_ms)
        kept = self.journal.artifact.id if self.journal.artifact else ""
        self._questions.asked.clear()
        self._tell(status, result=result, failure=failure, finished_at=at, artifact_id=kept)

    def _unknown_writes(self) -> list[dict[str, Any]]:
        """Those under way, and those whose answer was lost and about which nobody has decided."""
        lost = [(call.seq, call.path) for call, why in self._unsettled if isinstance(why, AnswerLost)]
        asked = [one for one in self._questions.asked.values() if one.kind == "unknown_outcome"]
        lost += [(one.call_seq, one.binding.path) for one in asked]
        return [*self._sends.unanswered_writes(), *({"seq": seq, "path": path} for seq, path in lost)]

    def _tell(self, status: Status, **changed: Any) -> None:
        self.execution = replace(self.execution, status=status, updated_at=now_ms(), **changed)
        asked = tuple(self._questions.asked.values())
        self.outcome = Outcome(self.execution, asked, tuple(self._logs), self._diagnostics, self.journal.artifact)

    @property
    def wall_ms(self) -> int:
        spent = (time.monotonic() - self._began) * 1000 if self._began else 0
        return self.execution.wall_ms + int(spent)

    def _remaining_ms(self) -> int:
        return self.execution.limits.wall_ms - self.wall_ms


def binding_of(decision: Interaction | None) -> Binding | None:
    """What a human approved. A credential that was given approves nothing: the policies let the call go."""
    return None if decision is None or decision.kind in NEEDS else decision.binding
