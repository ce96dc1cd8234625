"""What a run asks humans, and what becomes of a call once they have decided."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from executor.connections.resolution import Missing
from executor.errors import ToolError
from executor.execution import failures
from executor.execution.approvals.expiry import is_past
from executor.execution.approvals.notices import notices_of
from executor.execution.approvals.prompt import ask
from executor.execution.calls.admission import Admission
from executor.execution.calls.arguments import parse_arguments
from executor.execution.calls.credential import CredentialMissing
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.failures import AnswerLost
from executor.model.execution import Call, Execution
from executor.model.interaction import Interaction, InteractionKind
from executor.model.tool import Tool
from executor.runtime.protocol import Proposal

NEEDS: tuple[InteractionKind, ...] = ("credential", "oauth")
LOST = "it was sent and the answer was lost"
OTHER = "the credential, the destination or the policies have changed since then"


class ApprovalRequests:
    """`asked` are the open interactions of a run, by call."""

    def __init__(self, execution: Execution, pipeline: CallPipeline, ttl_ms: int) -> None:
        self._execution = execution
        self._pipeline = pipeline
        self._ttl_ms = ttl_ms
        self.asked: dict[int, Interaction] = {}
        self._coming = 0

    async def admit(self, proposal: Proposal) -> Admission:
        """As the policies decide; but an approval beyond the limit is refused."""
        admission = await self._pipeline.admissions.admit(self._execution, proposal)
        if admission.verdict != "ask":
            return admission
        refusal = await self._pipeline.open_approvals.admit(self._execution, len(self.asked) + self._coming)
        if refusal is not None:
            return replace(admission, verdict="refuse", refusal=refusal)
        self._coming += 1
        return admission

    def note_written(self, journalled: asyncio.Future[Any] | None) -> None:
        """Admitted approvals are now requested; once written down, they count as open and no longer as coming."""
        coming, self._coming = self._coming, 0
        if coming:
            note = partial(self._pipeline.open_approvals.note_written, self._execution.actor_id, coming)
            if journalled is None:
                note()
            else:
                journalled.add_done_callback(lambda _: note())

    async def judge_sent(self, call: Call, used: Interaction | None) -> Tool | Interaction | ToolError:
        """A call whose answer was lost with the daemon; `used` is the decision that it was sent under, if any.

        It is sent again only if that can't act twice, and only as the call that it was: to the same tool at the same
        place, with the same credential, under policies that still allow it. Everything else needs a decision.
        """
        tool = await self._pipeline.admissions.find(call.workspace_id, call.path)
        unchanged = tool is not None and tool.schema_digest == call.schema_digest and tool.effect == call.effect
        if tool is None or not unchanged:
            if call.effect == "read":
                return failures.tool_changed(call.path)
            return await self.ask("unknown_outcome", call, tool, f"{LOST}, and the tool has changed since then")
        if call.effect != "read" and not tool.idempotent:
            return await self.ask("unknown_outcome", call, tool, LOST)
        admission = await self._pipeline.admissions.admit(
            self._execution, Proposal(call.seq, "tool", call.path, call.arguments)
        )
        if await self._is_same(call, tool, admission, used):
            return tool
        if call.effect != "read":
            return await self.ask("unknown_outcome", call, tool, f"{LOST}, and sending it again would differ: {OTHER}")
        if admission.refusal is not None:
            return admission.refusal
        if admission.missing is not None:
            return await self.lack(call, tool, admission.missing)
        return await self.ask("approval", call, tool, f"{LOST}, and sending it again would differ: {OTHER}")

    async def _is_same(self, call: Call, tool: Tool, admission: Admission, used: Interaction | None) -> bool:
        if used is None or used.kind in NEEDS:
            return admission.verdict == "send" and admission.route == call.route
        if admission.refusal is not None or admission.missing is not None:
            return False
        source = await self._pipeline.bindings.source_of(call.workspace_id, tool)
        return used.binding == await self._pipeline.bindings.bind(self._execution, call, tool, source)

    async def ask_about(self, call: Call, why: CredentialMissing | AnswerLost) -> Interaction | ToolError:
        """Ask for the credential that a call lacks, or what became of a write whose answer was lost.

        Where one more interaction about a write would exceed the limit, the code gets the error instead.
        """
        tool = await self._pipeline.admissions.find(call.workspace_id, call.path)
        if isinstance(why, CredentialMissing):
            return failures.tool_changed(call.path) if tool is None else await self.lack(call, tool, why.missing)
        if await self._pipeline.open_approvals.admit(self._execution, len(self.asked)) is not None:
            return why.as_error()
        self._coming += 1
        return await self.ask("unknown_outcome", call, tool, f"{LOST}: {why.cause.message}")

    async def lack(self, call: Call, tool: Tool, missing: Missing) -> Interaction:
        """Ask for a credential. Only what the call could use is named; anyone who gives it sees where it will go."""
        return await self.ask(missing.kind, call, tool, missing.reason, missing)

    async def ask(
        self, kind: InteractionKind, call: Call, tool: Tool | None, reason: str, missing: Missing | None = None
    ) -> Interaction:
        """Without a tool (it is gone), what the journal knows of it is shown."""
        tool = tool or Tool(call.path, call.source_id, "", call.effect, {}, schema_digest=call.schema_digest)
        source = await self._pipeline.bindings.source_of(call.workspace_id, tool)
        binding = await self._pipeline.bindings.bind(self._execution, call, tool, source)
        interaction = ask(kind, call, binding, tool, source, reason, self._ttl_ms)
        sent = await self._pipeline.sender.outline(self._execution, call, tool, source)
        interaction = replace(interaction, prompt={**interaction.prompt, **sent})
        if missing is not None:
            interaction = replace(interaction, prompt={**interaction.prompt, "credential": missing.view()})
        elif kind == "approval":
            decided = await self._pipeline.admissions.decide(self._execution, tool, parse_arguments(call.arguments))
            more = {"policyId": decided.policy_id, **await notices_of(self._pipeline, self._execution, call, tool)}
            interaction = replace(interaction, prompt={**interaction.prompt, **more})
        await self._pipeline.open_approvals.expect(self._execution)
        self.asked[call.seq] = interaction
        return interaction

    async def judge(self, call: Call, settled: Interaction) -> Tool | Interaction | ToolError | str:
        """The tool to send the call to, the reason to refuse it, or a new interaction if anything has changed.

        A result that a human gave is the answer: nothing is sent, so nothing is compared.
        """
        if settled.status == "denied":
            return failures.denied_by_human(call, settled)
        if settled.status == "approved" and settled.result is not None:
            return settled.result
        tool = await self._pipeline.admissions.find(call.workspace_id, call.path)
        if settled.kind == "unknown_outcome" and (settled.status == "expired" or tool is None):
            return failures.unknown_outcome(call.path)
        if settled.status == "expired" and settled.kind in NEEDS:
            return failures.credential_required(call.path, "it was not provided in time")
        if settled.status == "expired":
            return failures.approval_expired(call.path)
        if tool is None:
            return failures.tool_changed(call.path)
        if denial := await self._pipeline.admissions.denial(self._execution, call, tool):
            return denial
        if missing := (await self._pipeline.bindings.use(self._execution, tool)).missing:
            return await self.lack(call, tool, missing)
        if settled.kind in NEEDS:
            return await self._judge_again(call, tool)
        source = await self._pipeline.bindings.source_of(call.workspace_id, tool)
        if is_past(settled):
            return await self.ask(settled.kind, call, tool, "the decision expired before it could be used")
        if settled.binding == await self._pipeline.bindings.bind(self._execution, call, tool, source):
            return tool
        return await self.ask(settled.kind, call, tool, "something changed after the request")

    async def _judge_again(self, call: Call, tool: Tool) -> Tool | Interaction | ToolError:
        """It has its credential now. If a policy requires approval, that comes only now, so that both are shown."""
        admission = await self._pipeline.admissions.admit(
            self._execution, Proposal(call.seq, "tool", call.path, call.arguments)
        )
        if admission.refusal is not None:
            return admission.refusal
        if admission.missing is not None:
            return await self.lack(call, tool, admission.missing)
        return tool if admission.verdict == "send" else await self.ask("approval", call, tool, admission.reason)
