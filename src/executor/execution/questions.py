"""What a run asks humans, and what becomes of a call once they have decided."""

from __future__ import annotations

from executor.errors import ToolError
from executor.execution import failures
from executor.execution.door import Door
from executor.execution.prompt import ask
from executor.model.execution import Call, Execution
from executor.model.ids import now_ms
from executor.model.interaction import Interaction, InteractionKind
from executor.model.tool import Tool


class Questions:
    """`asked` are the open questions of a run, by call."""

    def __init__(self, execution: Execution, door: Door, ttl_ms: int) -> None:
        self._execution = execution
        self._door = door
        self._ttl_ms = ttl_ms
        self.asked: dict[int, Interaction] = {}

    async def ask(self, kind: InteractionKind, call: Call, tool: Tool | None, reason: str) -> Interaction:
        """Without a tool (it is gone), what the journal knows of it is shown."""
        tool = tool or Tool(call.path, call.source_id, "", call.effect, {}, schema_digest=call.schema_digest)
        source = await self._door.source_of(call.workspace_id, tool)
        binding = await self._door.bind(self._execution, call, tool, source)
        question = ask(kind, call, binding, tool, source, reason, self._ttl_ms)
        self.asked[call.seq] = question
        return question

    async def judge(self, call: Call, settled: Interaction) -> Tool | Interaction | ToolError:
        """The tool to send the call to, the reason to refuse it, or a new question where anything has changed."""
        if settled.status == "denied":
            return failures.denied_by_human(call, settled)
        tool = await self._door.find(call.workspace_id, call.path)
        if settled.kind == "unknown_outcome" and (settled.status == "expired" or tool is None):
            return failures.unknown_outcome(call.path)
        if settled.status == "expired":
            return failures.approval_expired(call.path)
        if tool is None:
            return failures.tool_changed(call.path)
        if denial := await self._door.denial(call.workspace_id, tool):
            return denial
        source = await self._door.source_of(call.workspace_id, tool)
        if settled.expires_at <= now_ms():
            return await self.ask(settled.kind, call, tool, "the decision expired before it could be used")
        if settled.binding == await self._door.bind(self._execution, call, tool, source):
            return tool
        return await self.ask(settled.kind, call, tool, "something changed since it was asked")
