"""The calls of one run: judged, journalled, sent and answered, and asked about where a human has to decide."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from executor.errors import ToolError
from executor.execution.approvals.requests import NEEDS, ApprovalRequests
from executor.execution.calls.admission import Admission
from executor.execution.calls.credential import CredentialMissing
from executor.execution.calls.in_flight import Sends, sleep
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.failures import AnswerLost
from executor.execution.journal.cursor import JournalCursor
from executor.execution.journal.journal import Journal, Recorded
from executor.execution.journal.records import Answers, answer_of, proposed_call
from executor.execution.runs.log import RunLog
from executor.execution.runs.wall_clock import WallClock
from executor.model.execution import Call, Execution
from executor.model.ids import now_ms
from executor.model.interaction import Binding, Interaction
from executor.model.tool import Tool
from executor.runtime.protocol import Answer
from executor.sources.rate_limits import RETRIES, Retries

LAST_SECONDS = 1.0  # of an execution's time, left for what follows a wait


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
        self.answers = Answers(execution.clock_ms, execution.limits.result_bytes)

    async def admit(self) -> None:
        """Judge every new call of this round, journal them in one transaction, then send what may go."""
        admissions = [await self.approvals.admit(proposal) for proposal in self.position.take_new()]
        round_ = [(admission, self._call_of(admission)) for admission in admissions]
        asked = [
            await self.approvals.lack(call, admission.tool, admission.missing)
            if admission.missing
            else await self.approvals.ask("approval", call, admission.tool, admission.reason)
            for admission, call in round_
            if admission.verdict == "ask" and admission.tool
        ]
        self._journal.propose([call for _, call in round_], asked)
        if asked:
            self.approvals.note_written(self._journal.flush())
        if any(admission.verdict == "send" for admission in admissions):
            await self._journal.durable()
        for admission, call in round_:
            self._begin(admission, call)

    def _begin(self, admission: Admission, call: Call) -> None:
        if admission.verdict == "refuse":
            self.deliveries.append(answer_of(call))
            return
        self.position.open[call.seq] = call
        if call.kind == "timer":
            self._start_timer(call)
        elif admission.verdict == "send" and admission.tool:
            self._send(call, admission.tool)

    def _call_of(self, admission: Admission) -> Call:
        call = proposed_call(self._execution, admission)
        return self.answers.give(call, admission.refusal) if admission.refusal else call

    # -- sending ------------------------------------------------------------------------------------------------------

    def _send(self, call: Call, tool: Tool, binding: Binding | None = None) -> None:
        self.sends.launch(call, self._send_when_allowed(call, tool, binding))

    async def _send_when_allowed(self, call: Call, tool: Tool, binding: Binding | None) -> str:
        """A read waits for a service that asks for it, as long as the execution has time."""
        RETRIES.set(Retries(self._pipeline.retry_seconds, self._time_to_wait, partial(self._note_wait, call)))
        return await self._pipeline.sender.send(self._execution, call, tool, binding)

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
            self._journal.start([(call, interaction) for call, interaction, _ in approved])
            await self._journal.durable()
        for call, interaction, tool in approved:
            del self.approvals.asked[call.seq]
            self.position.open[call.seq] = call
            self._send(call, tool, approved_binding(interaction))

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
        verdict = await self.approvals.judge_sent(call, used)
        if isinstance(verdict, ToolError):
            self.sends.arrive(call, verdict)
        elif isinstance(verdict, Interaction):
            self._journal.ask(verdict)
        else:
            self._send(call, verdict, approved_binding(used))

    async def start_over(self) -> None:
        """The sandbox is gone. What was sent is still under way, and the code will make the same calls again."""
        if self.sends.arrived:
            self.record()
        await self.ask_about_unsettled()
        await self._journal.durable()
        self.sends.release_all()
        self.deliveries.clear()
        self.approvals.asked.clear()
        self.answers = Answers(self._execution.clock_ms, self._execution.limits.result_bytes)


def approved_binding(decision: Interaction | None) -> Binding | None:
    """What a human approved. A credential that was given approves nothing: the policies let the call go."""
    return None if decision is None or decision.kind in NEEDS else decision.binding
