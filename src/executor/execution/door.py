"""The one door out of a sandbox: find the tool, check the arguments, ask the policies, send."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from executor.catalog.catalog import Catalog
from executor.catalog.language import spoken
from executor.errors import ExecutorError, ToolError
from executor.execution import builtins
from executor.execution.failures import denied_by_policy, tool_changed
from executor.execution.rules import Rules
from executor.model.digest import digest, digest_text
from executor.model.execution import Call, Execution
from executor.model.ids import new_id
from executor.model.interaction import Binding
from executor.model.source import Source
from executor.model.tool import Tool
from executor.policy.decide import decide
from executor.runtime.sandbox import Proposal

RESULT_BYTES = 8 * 1024 * 1024

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Admission:
    """What is to become of a proposal. `tool` is None for timers and for refusals of unknown paths."""

    proposal: Proposal
    verdict: Literal["send", "ask", "refuse"]
    tool: Tool | None = None
    reason: str = ""
    refusal: ToolError | None = None


class Door:
    def __init__(self, catalog: Catalog, rules: Rules) -> None:
        self.catalog = catalog
        self.rules = rules

    async def find(self, workspace_id: str, path: str) -> Tool | None:
        return builtins.BUILTINS.get(path) or await self.catalog.tool(workspace_id, path)

    async def admit(self, workspace_id: str, proposal: Proposal, language: str = "typescript") -> Admission:
        """Arguments are checked before anyone is asked and before anything is sent; `language` is that of the hints."""
        if proposal.kind == "timer":
            return Admission(proposal, "send")
        tool = await self.find(workspace_id, proposal.path)
        if tool is None:
            return Admission(proposal, "refuse", refusal=await self._unknown(workspace_id, proposal.path, language))
        policies = await self.rules.of(workspace_id)
        decision = decide(tool.path, tool.effect, policies.policies)
        if decision.action == "deny":
            return Admission(proposal, "refuse", tool, refusal=denied_by_policy(tool.path, decision.reason))
        try:
            await self.check(tool, parse_arguments(proposal.arguments), language)
        except ToolError as refusal:
            return Admission(proposal, "refuse", tool, refusal=refusal)
        verdict: Literal["send", "ask"] = "send" if decision.action == "allow" else "ask"
        return Admission(proposal, verdict, tool, decision.reason)

    async def denial(self, workspace_id: str, tool: Tool) -> ToolError | None:
        """Why the policies in force refuse the tool, whatever was decided about it before."""
        rules = await self.rules.of(workspace_id)
        decision = decide(tool.path, tool.effect, rules.policies)
        return denied_by_policy(tool.path, decision.reason) if decision.action == "deny" else None

    async def check(self, tool: Tool, arguments: dict[str, Any], language: str = "typescript") -> None:
        if tool.source_id == builtins.SOURCE:
            builtins.check(tool, arguments, spoken(language))
        else:
            await self.catalog.check(tool, arguments, language=spoken(language))

    async def source_of(self, workspace_id: str, tool: Tool) -> Source | None:
        return None if tool.source_id == builtins.SOURCE else await self.catalog.source(workspace_id, tool.source_id)

    async def bind(self, execution: Execution, call: Call, tool: Tool, source: Source | None) -> Binding:
        """What a decision holds for: the call, the tool as it is now, where it goes, and the policies in force."""
        return Binding(
            actor_id=execution.actor_id,
            execution_id=execution.id,
            call_seq=call.seq,
            path=tool.path,
            schema_digest=tool.schema_digest,
            arguments_digest=call.arguments_digest,
            source_digest=destination(source) if source else "",
            policy_revision=(await self.rules.of(execution.workspace_id)).revision,
        )

    async def send(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None = None) -> str:
        """The JSON text of the result, or a ToolError; nothing else comes out. `binding` is what a human approved."""
        try:
            await self._check_still(execution, call, tool, binding)
            result = await self._send(execution, call, tool, approved=binding is not None)
        except ToolError:
            raise
        except ExecutorError as error:
            raise ToolError(error.code, error.message, hint=error.hint) from error
        except Exception as error:
            incident = new_id("err")
            logger.exception("call failed inside Executor", extra={"incident": incident, "tool": tool.path})
            hint = f"see the daemon's log for {incident}"
            raise ToolError("internal", "the call failed inside Executor", hint=hint) from error
        if len(result) > RESULT_BYTES:
            raise ToolError(
                "result_too_large",
                f"the result has {len(result)} bytes, more than the {RESULT_BYTES} a call may return",
                hint="ask for less: filter, select fields, or use a smaller page",
            )
        return result

    async def _check_still(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None) -> None:
        """The journal was written in between: what was judged must still be what is sent."""
        current = await self.find(execution.workspace_id, tool.path)
        if current is None or current.schema_digest != tool.schema_digest:
            raise tool_changed(tool.path)
        if denied := await self.denial(execution.workspace_id, tool):
            raise denied
        if binding is not None:
            source = await self.source_of(execution.workspace_id, tool)
            if binding != await self.bind(execution, call, tool, source):
                raise tool_changed(tool.path)

    async def _send(self, execution: Execution, call: Call, tool: Tool, approved: bool) -> str:
        arguments = parse_arguments(call.arguments)
        if tool.source_id == builtins.SOURCE:
            veil = await self.rules.veil(execution.workspace_id)
            return await builtins.invoke(
                self.catalog,
                execution.workspace_id,
                tool,
                arguments,
                approved=approved,
                veil=veil,
                language=spoken(execution.language),
            )
        return await self.catalog.invoke(tool, arguments, idempotency_key=f"{execution.id}:{call.seq}")

    async def _unknown(self, workspace_id: str, path: str, language: str) -> ToolError:
        near = await self.catalog.nearest(workspace_id, path, veil=await self.rules.veil(workspace_id))
        find = "tools.discover(query=…)" if language == "python" else "tools.discover({query})"
        hint = f"did you mean {', '.join(near)}?" if near else f"find tools with {find}"
        return ToolError("unknown_tool", f"there is no tool {path!r}", hint=hint, details={"nearest": near})


def parse_arguments(text: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ToolError(
            "invalid_arguments", f"the arguments can't be sent as JSON: {error}", hint="check for lone surrogates"
        ) from error
    if not isinstance(value, dict):
        raise ToolError(
            "invalid_arguments",
            f"a tool takes one object of arguments, not {type(value).__name__}",
            hint="call it like tools.x.y({name: value})",
        )
    return value


# All that a kind keeps in a source's config about where and how its calls are sent. The rest may change whenever the
# source is read again.
DECIDING = (
    "location", "base_url", "given_base_url", "transport", "origins", "headers", "command", "environment", "directory",
    "options", "allow_private",
)  # fmt: skip


def destination(source: Source) -> str:
    kept = {name: source.config[name] for name in DECIDING if name in source.config}
    return digest([source.id, source.kind, kept])


def proposal_digest(proposal: Proposal) -> str:
    return digest_text(f"{proposal.kind}\n{proposal.path}\n{proposal.arguments}")
