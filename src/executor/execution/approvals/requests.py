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
from executor.execution.approvals.prompt import ask, opened_by
from executor.execution.builtins.source_arguments import PATH as ADD_SOURCE
from executor.execution.calls.admission import Admission
from executor.execution.calls.arguments import parse_arguments
from executor.execution.calls.credential import CredentialMissing
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.failures import AnswerLost
from executor.model.execution import Call, Execution
from executor.model.interaction import Binding, Interaction, InteractionKind
from executor.model.tool import Tool
from executor.runtime.protocol import Proposal
from executor.storage.executions import calls, executions

NEEDS: tuple[InteractionKind, ...] = ("credential", "oauth")
APPROVED = "approved"  # in the prompt of an interaction for a credential: the call itself was approved before
LOST = "it was sent and the answer was lost"
LOST_WAITING = "it was sent, and Executor stopped while the server waited for input, which it did not get"
LOST_ANSWERED = "it was sent, the server got the input that it asked for, and then the answer was lost"
CHANGES = {
    "the tool": "schema_digest",
    "the place where the call goes": "source_digest",
    "the credential": "connection",
    "the policies": "policy_revision",
}
OTHER = "the credential, the destination or the policies have changed since then"


def is_approved(settled: Interaction) -> bool:
    """Whether a human approved the call itself, and not only gave what it needs."""
    return settled.kind not in NEEDS or bool(settled.prompt.get(APPROVED))


def no_credentials(path: str) -> ToolError:
    return ToolError(
        "credential_required",
        f"{path} needs a credential, and an anonymous workspace keeps none",
        hint="call tools that need none, or sign in",
    )


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
        if admission.missing is not None and self._execution.is_of_stranger:
            return replace(admission, verdict="refuse", refusal=no_credentials(proposal.path))
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

    async def judge_sent(
        self, call: Call, used: Interaction | None, elicited: Interaction | None = None
    ) -> Tool | Interaction | ToolError:
        """A call whose answer was lost with the daemon; `used` is the decision that it was sent under, if any, and
        `elicited` what its server asked last.

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
            return await self.ask("unknown_outcome", call, tool, describe_loss(elicited))
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
            if tool is None:
                return failures.tool_changed(call.path)
            if self._execution.is_of_stranger:
                return no_credentials(call.path)
            return await self.lack(call, tool, why.missing, approved=why.approved)
        if await self._pipeline.open_approvals.admit(self._execution, len(self.asked)) is not None:
            return why.as_error()
        self._coming += 1
        return await self.ask("unknown_outcome", call, tool, f"{LOST}: {why.cause.message}")

    async def lack(self, call: Call, tool: Tool, missing: Missing, *, approved: bool = False) -> Interaction:
        """Ask for a credential. Only what the call could use is named; anyone who gives it sees where it will go.

        One that was `approved` already is sent under that decision.
        """
        interaction = await self.ask(missing.kind, call, tool, missing.reason, missing)
        if approved:
            interaction = replace(interaction, prompt={**interaction.prompt, APPROVED: True})
            self.asked[call.seq] = interaction
        return interaction

    async def ask(
        self, kind: InteractionKind, call: Call, tool: Tool | None, reason: str, missing: Missing | None = None
    ) -> Interaction:
        interaction = await self.draft(kind, call, tool, reason, missing)
        self.asked[call.seq] = interaction
        return interaction

    async def draft(
        self, kind: InteractionKind, call: Call, tool: Tool | None, reason: str, missing: Missing | None = None
    ) -> Interaction:
        """Without a tool (it is gone), what the journal knows of it is shown."""
        tool = tool or Tool(call.path, call.source_id, "", call.effect, {}, schema_digest=call.schema_digest)
        source = await self._pipeline.bindings.source_of(call.workspace_id, tool)
        binding = await self._pipeline.bindings.bind(self._execution, call, tool, source)
        interaction = ask(kind, call, binding, tool, source, reason, self._ttl_ms)
        if self._execution.is_of_stranger and source is None and call.path == ADD_SOURCE:
            host = opened_by(parse_arguments(call.arguments), only_public=True)
            interaction = replace(interaction, prompt={**interaction.prompt, "host": host})
        sent = await self._pipeline.sender.outline(self._execution, call, tool, source)
        interaction = replace(interaction, prompt={**interaction.prompt, **sent})
        if missing is not None:
            interaction = replace(interaction, prompt={**interaction.prompt, "credential": missing.view()})
        elif kind == "approval":
            decided = await self._pipeline.admissions.decide(self._execution, tool, parse_arguments(call.arguments))
            more = {"policyId": decided.policy_id, **await notices_of(self._pipeline, self._execution, call, tool)}
            interaction = replace(interaction, prompt={**interaction.prompt, **more})
        await self._pipeline.open_approvals.expect(self._execution)
        return interaction

    async def judge(self, call: Call, settled: Interaction) -> Tool | Interaction | ToolError | str:
        """The tool to send the call to, the reason to refuse it, or a new interaction if anything has changed.

        A result that a human gave is the answer: nothing is sent, so nothing is compared. Raises AccessRevoked if the
        actor may no longer run code, whatever was decided.
        """
        await self._pipeline.admissions.revocations.check(self._execution)
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
        if settled.kind in NEEDS and not is_approved(settled):
            return await self._judge_again(call, tool)
        source = await self._pipeline.bindings.source_of(call.workspace_id, tool)
        decided: InteractionKind = "approval" if settled.kind in NEEDS else settled.kind
        if is_past(settled):
            return await self.ask(decided, call, tool, "the decision expired before it could be used")
        now = await self._pipeline.bindings.bind(self._execution, call, tool, source)
        if settled.binding == now:
            return tool
        return await self.ask(decided, call, tool, describe_change(settled.binding, now))

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


def describe_change(shown: Binding, now: Binding) -> str:
    """Why a decision does not count: what is another thing than it was when the request was shown."""
    changed = [words for words, part in CHANGES.items() if getattr(shown, part) != getattr(now, part)]
    return f"{' and '.join(changed) or 'the call'} changed after the request was shown, so the decision does not apply"


async def find_change(pipeline: CallPipeline, asked: Interaction) -> str:
    """Why a decision about this call does not count, or would not: what changed after the request was shown."""
    if asked.kind not in ("approval", "unknown_outcome") or asked.status not in ("pending", "approved") or asked.used:
        return ""
    execution, call = await pipeline.database.read(
        lambda c: (
            executions.get(c, asked.workspace_id, asked.execution_id),
            calls.one(c, asked.workspace_id, asked.execution_id, asked.call_seq),
        )
    )
    if execution is None or call is None or execution.is_final or asked.result is not None:
        return ""
    tool = await pipeline.admissions.find(call.workspace_id, call.path)
    if tool is None:
        return "" if asked.kind == "unknown_outcome" else "the tool no longer exists, so the decision does not apply"
    source = await pipeline.bindings.source_of(call.workspace_id, tool)
    now = await pipeline.bindings.bind(execution, call, tool, source)
    return "" if asked.binding == now else describe_change(asked.binding, now)


def describe_loss(elicited: Interaction | None) -> str:
    if elicited is None:
        return LOST
    return LOST_ANSWERED if elicited.status == "approved" else LOST_WAITING
