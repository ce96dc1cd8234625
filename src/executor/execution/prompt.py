"""What a human is shown before deciding, rendered from the server's own data and never by the code that asks."""

from __future__ import annotations

from typing import Any

import orjson

from executor.model.execution import Call
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Binding, Interaction, InteractionKind
from executor.model.source import Source
from executor.model.tool import Tool

SHOWN_BYTES = 64 * 1024

QUESTIONS: dict[InteractionKind, str] = {
    "approval": "May this call be made?",
    "unknown_outcome": (
        "This call was sent, but Executor stopped before the answer was recorded: it may or may not have taken effect. "
        "Approve to send it again, deny to let the code see the error `unknown_outcome`."
    ),
}


def ask(
    kind: InteractionKind, call: Call, binding: Binding, tool: Tool, source: Source | None, reason: str, ttl_ms: int
) -> Interaction:
    at = now_ms()
    return Interaction(
        id=new_id("int"),
        workspace_id=call.workspace_id,
        execution_id=call.execution_id,
        call_seq=call.seq,
        kind=kind,
        status="pending",
        binding=binding,
        prompt=render(kind, call, tool, source, reason),
        created_at=at,
        expires_at=at + ttl_ms,
    )


def render(kind: InteractionKind, call: Call, tool: Tool, source: Source | None, reason: str) -> dict[str, Any]:
    """Everything, or a note of what was cut."""
    prompt = {
        "question": QUESTIONS[kind],
        "tool": tool.path,
        "effect": tool.effect,
        "description": tool.description[:500],
        "source": source.name if source else "Executor itself",
        "host": str(tool.binding.get("server") or source.config.get("base_url", "")) if source else "",
        "reason": reason,
    }
    if len(call.arguments) <= SHOWN_BYTES:
        prompt["arguments"] = orjson.loads(call.arguments)
    else:
        prompt["arguments"] = call.arguments[:SHOWN_BYTES]
        prompt["cut"] = f"{len(call.arguments) - SHOWN_BYTES} of {len(call.arguments)} characters of the arguments"
    return prompt
