"""Where a run is in its journal: what was proposed again, what is open, what is new."""

from __future__ import annotations

from executor.errors import ReplayDiverged, SandboxLost
from executor.execution.builtins.source_arguments import read_proposal
from executor.execution.calls.admission import proposal_digest
from executor.execution.journal.journal import Recorded
from executor.model.execution import Call
from executor.model.interaction import Interaction
from executor.runtime.protocol import Log, Proposal, Step


class JournalCursor:
    """`open` are journalled calls without an answer, `new` are proposals the journal doesn't know yet."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._proposed = 0
        self._logged = 0
        self.open: dict[int, Call] = {}
        self.new: list[Proposal] = []

    @property
    def interactions(self) -> dict[int, Interaction]:
        """What humans were asked last about each call, in the journal."""
        return self._recorded.interactions

    @property
    def elicitations(self) -> dict[int, Interaction]:
        """What the servers of calls asked last while these were under way, in the journal."""
        return self._recorded.elicitations

    def recorded_answers(self) -> list[Call]:
        """The recorded answers, in the order in which the code saw them."""
        done = [call for call in self._recorded.calls.values() if call.done_seq is not None]
        return sorted(done, key=lambda call: call.done_seq or 0)

    def take(self, step: Step) -> tuple[Log, ...]:
        """Note what a step proposed; the log lines that are not kept yet."""
        fresh = step.logs[max(0, self._recorded.log_count - self._logged) :]
        self._logged += len(step.logs)
        for proposal in map(read_proposal, step.proposals):
            self._proposed += 1
            if proposal.seq != self._proposed:
                raise SandboxLost(f"the sandbox numbered a call {proposal.seq} instead of {self._proposed}")
            self._match(proposal)
        return fresh

    def take_new(self) -> list[Proposal]:
        taken, self.new = self.new, []
        return taken

    def close(self, call: Call) -> None:
        """A recorded answer is about to be delivered."""
        if self.open.pop(call.seq, None) is None:
            raise ReplayDiverged(f"call {call.seq} ({call.path}) was answered before, but was not made this time")

    def check_whole(self) -> None:
        """After the last recorded answer the code must have made every journalled call again."""
        for seq, call in sorted(self._recorded.calls.items()):
            if seq > self._proposed:
                raise ReplayDiverged(f"the code made call {seq} ({call.path}) before, but not this time")

    def _match(self, proposal: Proposal) -> None:
        call = self._recorded.calls.get(proposal.seq)
        if call is None:
            self.new.append(proposal)
        elif call.arguments_digest == proposal_digest(proposal):
            self.open[call.seq] = call
        else:
            was, now = f"{call.path}({call.arguments[:200]})", f"{proposal.path}({proposal.arguments[:200]})"
            raise ReplayDiverged(f"call {call.seq} was {was} and is now {now}")
