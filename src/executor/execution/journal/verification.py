"""Run an ended execution's code again with the journal as its only source, and compare."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from executor.execution.builtins.source_arguments import read_proposal
from executor.execution.calls.admission import proposal_digest
from executor.execution.journal.records import answer_of
from executor.execution.outcome import ReplayReport
from executor.model.execution import OUTSIDE_CODES, Call, Execution, Failure
from executor.runtime.protocol import Program, Runtime, Sandbox, Step

OUTSIDE = OUTSIDE_CODES | {"internal"}


async def replay_journal(runtime: Runtime, execution: Execution, journalled: Sequence[Call]) -> ReplayReport:
    sandbox = await runtime.open()
    try:
        return await _replay(sandbox, execution, journalled)
    finally:
        await sandbox.close()


async def _replay(sandbox: Sandbox, execution: Execution, journalled: Sequence[Call]) -> ReplayReport:
    known = Known(execution, journalled)
    program = Program(execution.code, execution.seed, execution.clock_ms, execution.limits, execution.language)
    step = await sandbox.start(program)
    if found := difference(step, known):
        return found
    for call in sorted((c for c in journalled if c.done_seq is not None), key=lambda c: c.done_seq or 0):
        if step.has_ended:
            break
        step = await sandbox.answer(answer_of(call))
        if found := difference(step, known):
            return found
    return compare(execution, step)


class Known:
    """The journalled calls, and whether later ones may be missing: what ended the execution from outside, such as
    cancelling it, may have come before its last calls were written down. Those were not sent.
    """

    def __init__(self, execution: Execution, journalled: Sequence[Call]) -> None:
        self.calls = {call.seq: call for call in journalled}
        was_cut = execution.failure is not None and execution.failure.code in OUTSIDE
        self.complete_to = max(self.calls, default=0) if was_cut else None


def difference(step: Step, known: Known) -> ReplayReport | None:
    for proposal in map(read_proposal, step.proposals):
        call, made = known.calls.get(proposal.seq), _call_text(proposal.path, proposal.arguments)
        if call is None:
            # What the code proposed in its last breath was never sent, so it isn't in the journal.
            if not (step.has_ended or (known.complete_to is not None and proposal.seq > known.complete_to)):
                detail = f"call {proposal.seq} ({proposal.path}) is not in the journal"
                return ReplayReport(False, detail, proposal.seq, replayed=made)
        elif call.arguments_digest != proposal_digest(proposal):
            detail = f"call {proposal.seq} was {call.path} with other arguments"
            return ReplayReport(False, detail, proposal.seq, _call_text(call.path, call.arguments), made)
    return None


def compare(execution: Execution, step: Step) -> ReplayReport:
    failure = execution.failure
    if failure is not None and failure.code in OUTSIDE:
        return ReplayReport(True, f"the journal repeats up to where the execution ended with {failure.code}")
    if not step.has_ended:
        return ReplayReport(False, "the code had not ended when the journal did")
    if failure is not None:
        if step.failure is not None and step.failure.code == failure.code:
            return ReplayReport(True, "the same failure")
        return _other(f"it failed with {failure.code} before", execution, step)
    if step.value == execution.result:
        return ReplayReport(True, "the same result")
    return _other("the result differs", execution, step)


def _other(detail: str, execution: Execution, step: Step) -> ReplayReport:
    now = _failure_text(step.failure) if step.failure else step.value
    before = _failure_text(execution.failure) if execution.failure else execution.result
    return ReplayReport(False, detail, recorded=before, replayed=now)


def _failure_text(failure: Failure) -> str:
    return orjson.dumps(failure.to_dict(), default=str).decode()


def _call_text(path: str, arguments: str) -> str:
    """A call as JSON text, whatever the sandbox gave as its arguments."""
    try:
        value = orjson.loads(arguments) if arguments else None
    except orjson.JSONDecodeError:
        value = arguments
    return orjson.dumps({"path": path, "arguments": value}).decode()
