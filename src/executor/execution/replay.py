"""Run an ended execution's code again with the journal as its only source, and compare."""

from __future__ import annotations

from collections.abc import Sequence

from executor.execution.door import proposal_digest
from executor.execution.outcome import ReplayReport
from executor.execution.records import answer_of
from executor.model.execution import Call, Execution
from executor.runtime.sandbox import Program, Runtime, Sandbox, Step

OUTSIDE = frozenset({"cancelled", "wall_limit", "sandbox_lost", "nondeterminism", "internal"})


async def replay_journal(runtime: Runtime, execution: Execution, journalled: Sequence[Call]) -> ReplayReport:
    sandbox = await runtime.open()
    try:
        return await _replay(sandbox, execution, journalled)
    finally:
        await sandbox.close()


async def _replay(sandbox: Sandbox, execution: Execution, journalled: Sequence[Call]) -> ReplayReport:
    known = {call.seq: call for call in journalled}
    program = Program(execution.code, execution.seed, execution.clock_ms, execution.limits, execution.language)
    step = await sandbox.start(program)
    if detail := difference(step, known, ended=False):
        return ReplayReport(False, detail)
    for call in sorted((c for c in journalled if c.done_seq is not None), key=lambda c: c.done_seq or 0):
        if step.ended:
            break
        step = await sandbox.answer(answer_of(call))
        if detail := difference(step, known, ended=step.ended):
            return ReplayReport(False, detail)
    return compare(execution, step)


def difference(step: Step, known: dict[int, Call], *, ended: bool) -> str:
    for proposal in step.proposals:
        call = known.get(proposal.seq)
        if call is None:
            # What the code proposed in its last breath was never sent, so it isn't in the journal.
            if not (ended or step.ended):
                return f"call {proposal.seq} ({proposal.path}) is not in the journal"
        elif call.arguments_digest != proposal_digest(proposal):
            return f"call {proposal.seq} was {call.path} with other arguments"
    return ""


def compare(execution: Execution, step: Step) -> ReplayReport:
    failure = execution.failure
    if failure is not None and failure.code in OUTSIDE:
        return ReplayReport(True, f"the journal repeats up to where the execution ended with {failure.code}")
    if not step.ended:
        return ReplayReport(False, "the code had not ended when the journal did")
    if failure is not None:
        same = step.failure is not None and step.failure.code == failure.code
        return ReplayReport(same, "the same failure" if same else f"it failed with {failure.code} before")
    same = step.value == execution.result
    return ReplayReport(same, "the same result" if same else "the result differs")
