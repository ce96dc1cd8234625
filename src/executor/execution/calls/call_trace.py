"""What is measured of a call: how it was judged, the wait for a person, how long it took and how it ended.

A path that code made up may hold anything, so a tool is named only once it is known to exist.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable

from executor.errors import ToolError
from executor.execution.calls.admission import Admission
from executor.execution.calls.credential import CredentialMissing
from executor.execution.failures import AnswerLost
from executor.model.execution import Call
from executor.model.interaction import Interaction
from executor.model.tool import Tool
from executor.runtime.protocol import Proposal
from executor.telemetry import tracer
from executor.telemetry.error_codes import code_of
from executor.telemetry.metrics import ADMISSIONS, CALL_ERRORS, CALL_SECONDS


async def trace_admission(proposal: Proposal, judging: Awaitable[Admission]) -> Admission:
    """Timers are not calls of tools."""
    if proposal.kind == "timer":
        return await judging
    if not tracer.is_on():
        admission = await judging
        ADMISSIONS.add(admission.verdict)
        return admission
    with tracer.span("admission", {"executor.call.seq": proposal.seq}) as begun:
        admission = await judging
        ADMISSIONS.add(admission.verdict)
        begun.set({"executor.call.verdict": admission.verdict})
        if admission.tool is not None:
            begun.set({"gen_ai.tool.name": admission.tool.path, "executor.call.effect": admission.tool.effect})
        if admission.refusal is not None:
            begun.fail(code_of(admission.refusal))
        return admission


def note_request(asked: Interaction) -> None:
    """A person has to decide."""
    about = {"executor.interaction.id": asked.id, "executor.interaction.kind": asked.kind}
    tracer.current_span().add_event("executor.interaction.requested", {**about, "executor.call.seq": asked.call_seq})


async def measure(call: Call, tool: Tool, kind: str, decision: Interaction | None, sending: Awaitable[str]) -> str:
    """`decision` is what it was sent under, if someone had to decide."""
    began = time.perf_counter()
    outcome = "ok"
    try:
        if not tracer.is_on():
            return await sending
        return await _trace(call, tool, kind, decision, sending)
    except ToolError as error:
        outcome = outcome_of(error)
        if outcome == "error":
            CALL_ERRORS.add(kind, code_of(error))
        raise
    except BaseException:
        outcome = "cancelled"
        raise
    finally:
        CALL_SECONDS.observe(time.perf_counter() - began, kind, outcome)


def outcome_of(error: ToolError) -> str:
    if isinstance(error, CredentialMissing):
        return "credential_missing"
    return "lost" if isinstance(error, AnswerLost) else "error"


async def _trace(call: Call, tool: Tool, kind: str, decision: Interaction | None, sending: Awaitable[str]) -> str:
    attributes: dict[str, tracer.Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.path,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"{call.execution_id}:{call.seq}",
        "executor.execution.id": call.execution_id,
        "executor.call.seq": call.seq,
        "executor.call.effect": tool.effect,
        "executor.source.id": tool.source_id,
        "executor.source.kind": kind,
    }
    with tracer.span(f"execute_tool {tool.path}", attributes) as begun:
        if decision is not None:
            begun.add_event("executor.interaction.settled", describe_wait(decision))
        result = await sending
        begun.set({"executor.result.bytes": len(result)})
        return result


def describe_wait(decision: Interaction) -> dict[str, tracer.Value]:
    waited = ((decision.settled_at or decision.created_at) - decision.created_at) / 1000
    return {
        "executor.interaction.id": decision.id,
        "executor.interaction.kind": decision.kind,
        "executor.interaction.wait_seconds": waited,
    }
