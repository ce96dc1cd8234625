"""How a call is written down: as it is proposed, as it is answered, and as the sandbox receives it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any

import orjson

from executor.errors import ToolError
from executor.execution.calls.admission import Admission, proposal_digest
from executor.execution.failures import results_too_large
from executor.model.execution import Call, Execution
from executor.model.ids import now_ms
from executor.runtime.protocol import Answer

_NAMES = [field.name for field in fields(Call)]
_PLACES = {name: place for place, name in enumerate(_NAMES)}
_values = attrgetter(*_NAMES)


class Answers:
    """The order of delivery: `seq` is the place of the last answer, `clock_ms` the time the code was shown with it."""

    def __init__(self, clock_ms: int, most_bytes: int) -> None:
        self.seq = 0
        self.clock_ms = clock_ms
        self._bytes = 0
        self._most_bytes = most_bytes

    @property
    def place(self) -> tuple[int, int, int]:
        """To come back to where nothing of what follows was written down."""
        return self.seq, self.clock_ms, self._bytes

    @place.setter
    def place(self, before: tuple[int, int, int]) -> None:
        self.seq, self.clock_ms, self._bytes = before

    def give(self, call: Call, outcome: str | ToolError) -> Call:
        """The call with its answer and the next place."""
        self.seq += 1
        self.clock_ms = max(self.clock_ms, now_ms())
        if isinstance(outcome, str) and self._bytes + len(outcome) > self._most_bytes:
            outcome = results_too_large(self._most_bytes)
        if isinstance(outcome, ToolError):
            return fill(call, state="failed", failure=outcome.to_dict(), done_seq=self.seq, done_ms=self.clock_ms)
        self._bytes += len(outcome)
        return fill(call, state="succeeded", result=outcome, done_seq=self.seq, done_ms=self.clock_ms)

    def repeat(self, call: Call) -> Answer:
        """A recorded answer is delivered again."""
        self.seq, self.clock_ms = call.done_seq or 0, call.done_ms or 0
        self._bytes += len(call.result or "")
        return answer_of(call)


def fill(call: Call, **changes: Any) -> Call:
    """As `dataclasses.replace`, which looks at each field on its own."""
    values = list(_values(call))
    for name, value in changes.items():
        values[_PLACES[name]] = value
    return Call(*values)


def place_of(calls: Iterable[Call]) -> tuple[int, int, int]:
    """Where the answers of these calls end."""
    done = [call for call in calls if call.done_seq is not None]
    last = max(done, key=lambda call: call.done_seq or 0, default=None)
    if last is None:
        return 0, 0, 0
    return last.done_seq or 0, last.done_ms or 0, sum(len(call.result or "") for call in done)


def proposed_call(execution: Execution, admission: Admission) -> Call:
    proposal, tool, at = admission.proposal, admission.tool, now_ms()
    sent = admission.verdict == "send"
    return Call(
        execution_id=execution.id,
        workspace_id=execution.workspace_id,
        seq=proposal.seq,
        kind=proposal.kind,
        path=proposal.path.replace("\0", "\N{REPLACEMENT CHARACTER}"),  # its digest is of the path as it was proposed
        arguments=proposal.arguments,
        arguments_digest=proposal_digest(proposal),
        state="started" if sent else "proposed",
        effect=tool.effect if tool else "read",
        source_id=tool.source_id if tool else "",
        schema_digest=tool.schema_digest if tool else "",
        created_at=at,
        started_at=at if sent else None,
        route=admission.route if sent else "",
    )


def answer_of(call: Call) -> Answer:
    clock = call.done_ms or 0
    if call.failure is not None:
        return Answer(call.seq, clock, error=orjson.dumps(call.failure).decode())
    return Answer(call.seq, clock, value=call.result or "null")
