"""The calls of one run: judged, journalled, sent and answered, and asked about where a human has to decide."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from executor.errors import Fenced, StorageError, ToolError
from executor.execution.approvals.elicitations import Elicitations
from executor.execution.approvals.requests import ApprovalRequests, is_approved
from executor.execution.builtins.declaration import SOURCE
from executor.execution.calls import call_trace
from executor.execution.calls.admission import Admission
from executor.execution.calls.credential import CredentialMissing
from executor.execution.calls.in_flight import Sends, sleep
from executor.execution.calls.listener import Listener
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.failures import AnswerLost
from executor.execution.journal.cursor import JournalCursor
from executor.execution.journal.journal import BOOTTIME, Journal, Recorded
from executor.execution.journal.records import Answers, answer_of, place_of, proposed_call
from executor.execution.runs.log import RunLog
from executor.execution.runs.wall_clock import WallClock
from executor.model.execution import Call, Execution
from executor.model.ids import now_ms
from executor.model.interaction import LISTENER, Binding, Interaction
from executor.model.tool import Tool
from executor.network.departure import DEPARTURE
from executor.runtime.protocol import Answer, Proposal
from executor.sources.rate_limits import RETRIES, Retries

if TYPE_CHECKING:
    from executor.storage.postgres.processes import Processes

LAST_SECONDS = 1.0  # of an execution's time, left for what follows a wait
HELD_SECONDS = 0.2  # between two looks whether this process has its lease again


class RunCalls:
    """`position` says which calls the journal has; `deliveries` are answers that the code has not been given yet."""

    def __init__(
        self,
        execution: Execution,
        journal: Journal,
        pipeline: CallPipeline,
        ttl_ms: int,
        clock: WallClock,
        log: RunLog,
    ) -> None:
        self._execution = execution
        self._journal = journal
        self._pipeline = pipeline
        self._clock = clock
        self._log = log
        self.position = JournalCursor(Recorded({}, {}, 0))
        self.approvals = ApprovalRequests(execution, pipeline, ttl_ms)
        self.sends = Sends()
        self.deliveries: deque[Answer] = deque()
        self.unsettled: list[tuple[Call, CredentialMissing | AnswerLost]] = []
        self.elicitations = Elicitations(execution, journal, pipeline, self.approvals, self.sends.news)
        self.answers = Answers(execution.clock_ms, execution.limits.result_bytes)
        self._recorded = self.answers.place  # up to where places are taken in the journal
        self.on_fenced: Callable[[], None] = ignore
        self._committed = 0.0  # when the journal of the last calls began to be written

    @property
    def waits_for_people(self) -> bool:
        """Calls are under way, and the server of each of them asks someone something."""
        return bool(self.elicitations.open) and self.sends.seqs <= self.elicitations.seqs

    @property
    def pending(self) -> tuple[Interaction, ...]:
        """What people have not settled yet."""
        return (*self.approvals.asked.values(), *self.elicitations.open.values())

    async def admit(self) -> None:
        """Judge every new call of this round, journal them in one transaction, then send what may go."""
        proposals = self.position.take_new()
        while True:
            guard = await self._read_guard()
            round_, moved = await self._judge_round(proposals, guard)
            if moved is None:
                break
            self._learn(moved)
        for admission, call in round_:
            self._begin(admission, call)

    async def _judge_round(
        self, proposals: Sequence[Proposal], guard: int | None
    ) -> tuple[list[tuple[Admission, Call]], int | None]:
        """The calls of a round, journalled; or where the guards are now, and nothing is journalled."""
        admissions = [await call_trace.trace_admission(one, self.approvals.admit(one)) for one in proposals]
        sends = any(admission.verdict == "send" for admission in admissions)
        answered = self.answers.place
        round_ = [(admission, self._call_of(admission)) for admission in admissions]
        asked = [
            await self.approvals.lack(call, admission.tool, admission.missing)
            if admission.missing
            else await self.approvals.ask("approval", call, admission.tool, admission.reason)
            for admission, call in round_
            if admission.verdict == "ask" and admission.tool
        ]
        self._journal.propose([call for _, call in round_], asked, guard if sends else None)
        if asked:
            self.approvals.note_written(self._journal.flush())
        if sends:
            self._committed = now_seconds()
            await self._journal.durable()
        if self._journal.moved is not None:
            self.answers.place = answered
            for interaction in asked:
                self.approvals.asked.pop(interaction.call_seq, None)
        else:
            for interaction in asked:
                call_trace.note_request(interaction)
        return round_, self._journal.moved

    async def _read_guard(self) -> int | None:
        guards = self._pipeline.guards
        return await guards.current(self._execution.workspace_id) if guards is not None else None

    def _learn(self, revision: int) -> None:
        if self._pipeline.guards is not None:
            self._pipeline.guards.learn(self._execution.workspace_id, revision)

    def _begin(self, admission: Admission, call: Call) -> None:
        if admission.verdict == "refuse":
            self.deliveries.append(answer_of(call))
            return
        self.position.open[call.seq] = call
        if call.kind == "timer":
            self._start_timer(call)
        elif admission.verdict == "send" and admission.tool:
            self._send(call, admission.tool, committed=self._committed)

    def _call_of(self, admission: Admission) -> Call:
        call = proposed_call(self._execution, admission)
        return self.answers.give(call, admission.refusal) if admission.refusal else call

    # -- sending ------------------------------------------------------------------------------------------------------

    def _send(self, call: Call, tool: Tool, decision: Interaction | None = None, *, committed: float = 0.0) -> None:
        self.sends.launch(call, self._send_when_allowed(call, tool, decision, committed))

    async def _send_when_allowed(self, call: Call, tool: Tool, decision: Interaction | None, committed: float) -> str:
        """A read waits for a service that asks for it, as long as the execution has time."""
        LISTENER.set(Listener(call, tool, self._execution.actor_id, self.elicitations, self._log))
        RETRIES.set(Retries(self._pipeline.retry_seconds, self._time_to_wait, partial(self._note_wait, call)))
        kind = SOURCE if tool.source_id == SOURCE else await self._pipeline.catalog.kind_name(tool)
        processes, binding = self._pipeline.database.processes, approved_binding(decision)
        if processes is None:
            sending = self._pipeline.sender.send(self._execution, call, tool, binding)
        else:
            sending = self._depart(processes, call, tool, binding, committed)
        return await call_trace.measure(call, tool, kind, decision, sending)

    async def _depart(
        self, processes: Processes, call: Call, tool: Tool, binding: Binding | None, committed: float
    ) -> str:
        """A call that was held back has not left: once the journal says that it is still this run's, it is judged and
        sent again. If it is not, the run ends here."""
        from executor.execution.calls.departure import Departure

        departure = Departure(processes, self._execution.owner, committed)
        DEPARTURE.set(departure.may_leave)
        while True:
            try:
                return await self._pipeline.sender.send(self._execution, call, tool, binding)
            except ToolError:
                if departure.has_left or not departure.is_refused:
                    raise
            except StorageError:
                self._give_up()
            try:
                began, revision = await self._journal.confirm()
            except (Fenced, StorageError):
                self._give_up()
            self._learn(revision)
            departure.renew(began)
            if not processes.holds(self._execution.owner):
                await asyncio.sleep(HELD_SECONDS)

    def _give_up(self) -> NoReturn:
        """Leave the call, and the run, to the next one that reads the journal."""
        self.on_fenced()
        raise asyncio.CancelledError from None  # as everything else of the run is

    def _time_to_wait(self) -> float:
        return self._clock.seconds_left - LAST_SECONDS

    def _note_wait(self, call: Call, status: int, seconds: float, attempt: int) -> None:
        data = {"seq": call.seq, "path": call.path, "status": status, "seconds": round(seconds, 1), "attempt": attempt}
        self._journal.note("call.waiting", data)
        self._journal.flush()

    def _start_timer(self, call: Call) -> None:
        self.sends.launch(call, sleep(call.started_at or 0, float(orjson.loads(call.arguments))))

    # -- answers ------------------------------------------------------------------------------------------------------

    def record(self) -> None:
        """Give what has arrived its place in delivery order. Delivery continues while the journal is being written."""
        arrived = self.sends.take_arrived()
        for call, line in self.sends.take_warnings():
            self._log.warn(call, line)
        self.unsettled += [(call, why) for call, why in arrived if isinstance(why, CredentialMissing | AnswerLost)]
        given = [one for one in arrived if not isinstance(one[1], CredentialMissing | AnswerLost)]
        if self.answers.seq < self._recorded[0]:  # the sandbox was lost, or the daemon stops, in the middle of a replay
            self.answers.place = self._recorded
        answered = [self.answers.give(call, outcome) for call, outcome in given]
        for call in answered:
            self.position.open.pop(call.seq, None)
            self.approvals.asked.pop(call.seq, None)
            self.deliveries.append(answer_of(call))
        self._journal.answer(answered)

    async def outwait(self, seconds: float) -> None:
        """Record the answers that come within this time."""
        await self.sends.settle(seconds)
        if self.sends.arrived:
            self.record()

    async def ask_about_unsettled(self) -> None:
        """Calls that never left for want of a credential, and writes that left and whose answer was lost."""
        unsettled, self.unsettled = self.unsettled, []
        for call, why in unsettled:
            interaction = await self.approvals.ask_about(call, why)
            if isinstance(interaction, ToolError):
                self.sends.arrive(call, interaction)
            else:
                self._journal.ask(interaction)
        if any(isinstance(why, AnswerLost) for _, why in unsettled):
            self.approvals.note_written(self._journal.flush())

    async def act_on(self, settled: dict[int, Interaction]) -> None:
        """Send what was approved exactly as it was shown; ask again where anything has changed."""
        approved: list[tuple[Call, Interaction, Tool]] = []
        guard = await self._read_guard() if settled else None
        for seq, interaction in settled.items():
            call = self.position.open[seq]
            verdict = await self.approvals.judge(call, interaction)
            if isinstance(verdict, str | ToolError):
                self.sends.arrive(call, verdict)
            elif isinstance(verdict, Interaction):
                self._journal.ask(verdict, instead_of=interaction)
            else:
                route = await self._pipeline.bindings.route(self._execution, verdict)
                started = replace(call, state="started", started_at=now_ms(), route=route)
                approved.append((started, interaction, verdict))
        if approved:
            self._journal.start([(call, interaction) for call, interaction, _ in approved], guard)
            self._committed = now_seconds()
            await self._journal.durable()
        if approved and self._journal.moved is not None:
            self._learn(self._journal.moved)
            await self.act_on({call.seq: interaction for call, interaction, _ in approved})
            return
        for call, interaction, tool in approved:
            del self.approvals.asked[call.seq]
            self.position.open[call.seq] = call
            self._send(call, tool, interaction, committed=self._committed)

    def unknown_writes(self) -> list[dict[str, Any]]:
        """Those under way, and those whose answer was lost and about which no one has decided."""
        lost = [(call.seq, call.path) for call, why in self.unsettled if isinstance(why, AnswerLost)]
        asked = [one for one in self.approvals.asked.values() if one.kind == "unknown_outcome"]
        lost += [(one.call_seq, one.binding.path) for one in asked]
        return [*self.sends.unanswered_writes(), *({"seq": seq, "path": path} for seq, path in lost)]

    # -- after a replay -----------------------------------------------------------------------------------------------

    async def take_up(self) -> None:
        """What the journal left open: timers, interactions, decisions, and calls whose answer was lost."""
        decided: dict[int, Interaction] = {}
        for call in list(self.position.open.values()):
            asked = self.position.interactions.get(call.seq)
            if call.seq in self.sends:
                continue
            if call.kind == "timer":
                self._start_timer(call)
            elif asked is None or asked.used:
                await self._take_up_sent(call, asked)
            else:
                self.approvals.asked[call.seq] = asked
                if asked.status != "pending":
                    decided[call.seq] = asked
        await self.act_on(decided)

    async def _take_up_sent(self, call: Call, used: Interaction | None) -> None:
        verdict = await self.approvals.judge_sent(call, used, self.position.elicitations.get(call.seq))
        if isinstance(verdict, ToolError):
            self.sends.arrive(call, verdict)
        elif isinstance(verdict, Interaction):
            self._journal.ask(verdict)
        else:
            await self._journal.durable()
            self._send(call, verdict, used)

    async def start_over(self) -> None:
        """The sandbox is gone. What was sent is still under way, and the code will make the same calls again."""
        if self.sends.arrived:
            self.record()
        await self.ask_about_unsettled()
        await self._journal.durable()
        self.sends.release_all()
        self.deliveries.clear()
        self.approvals.asked.clear()
        self._recorded = max(self._recorded, self.answers.place)
        self.answers = Answers(self._execution.clock_ms, self._execution.limits.result_bytes)

    def load(self, recorded: Recorded) -> None:
        """What the journal has, to be replayed."""
        self.position = JournalCursor(recorded)
        self._recorded = max(self._recorded, place_of(recorded.calls.values()))


def now_seconds() -> float:
    """On the clock that leases are counted on."""
    return time.clock_gettime(BOOTTIME)


def approved_binding(decision: Interaction | None) -> Binding | None:
    """What a human approved. A credential that was given approves nothing: the policies let the call go."""
    return decision.binding if decision is not None and is_approved(decision) else None


def ignore() -> None:
    """Nothing depends on it."""
