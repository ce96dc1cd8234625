"""Which calls are admitted: find the tool, check the arguments, ask the policies and look at earlier decisions.

A call is judged when it is proposed and, by `recheck`, right before it is sent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from executor.catalog.catalog import Catalog
from executor.catalog.page_hints import page_hint
from executor.connections.resolution import Missing
from executor.dataclass import dataclass
from executor.errors import ToolError
from executor.execution.approvals.permits import Permits
from executor.execution.artifacts.files import FileStore, reading_files
from executor.execution.builtins import tools as builtins
from executor.execution.calls.arguments import parse_arguments
from executor.execution.calls.binding import Bindings
from executor.execution.calls.revocations import Revocations
from executor.execution.calls.subjects import keys_of, meaning_of
from executor.execution.calls.toolkit_checks import ToolkitChecks
from executor.execution.failures import denied_before, denied_by_policy, review_required, tool_changed
from executor.execution.policies.cache import PolicyCache
from executor.model.digest import digest_text
from executor.model.execution import Call, Execution
from executor.model.interaction import Binding
from executor.model.language import language_of
from executor.model.policy import Decision
from executor.model.source import Source, own_path
from executor.model.tool import Tool
from executor.policy.decide import Subject, decide
from executor.policy.visibility import Visibility
from executor.runtime.protocol import Proposal
from executor.sources.kind import HIDES, Hides
from executor.storage.executions.permits import Decisions


@dataclass(frozen=True, slots=True)
class Admission:
    """What is to become of a proposal. `tool` is None for timers and for refusals of unknown paths.

    `route` is where it would go now and with which credential.
    """

    proposal: Proposal
    verdict: Literal["send", "ask", "refuse"]
    tool: Tool | None = None
    reason: str = ""
    refusal: ToolError | None = None
    missing: Missing | None = None
    route: str = ""


class Admissions:
    def __init__(
        self,
        catalog: Catalog,
        policies: PolicyCache,
        permits: Permits,
        revocations: Revocations,
        bindings: Bindings,
        files: FileStore,
    ) -> None:
        self.revocations = revocations
        self._catalog = catalog
        self._policies = policies
        self._permits = permits
        self._bindings = bindings
        self._files = files
        self._narrowing = ToolkitChecks(catalog, policies)

    async def find_in_reach(self, execution: Execution, path: str) -> Tool | None:
        """A tool that its toolkit does not have is as good as none. Raises AccessRevoked if the toolkit is gone."""
        tool = await self.find(execution.workspace_id, path)
        if tool is None or not execution.toolkit_id:
            return tool
        in_force = await self._policies.within(execution.workspace_id, execution.toolkit_id)
        return None if in_force.hides(path, tool.effect) else tool

    async def find(self, workspace_id: str, path: str) -> Tool | None:
        return builtins.BUILTINS.get(path) or await self._catalog.tool(workspace_id, path)

    async def admit(self, execution: Execution, proposal: Proposal) -> Admission:
        """Arguments are checked before anyone has to decide and before anything is sent.

        Raises AccessRevoked, which ends the execution, if its actor may no longer run code.
        """
        if proposal.kind == "timer":
            return Admission(proposal, "send")
        await self.revocations.check(execution)
        if "\0" in proposal.path:
            return Admission(proposal, "refuse", refusal=named_with_nul())
        tool = await self.find_in_reach(execution, proposal.path)
        if tool is None:
            return Admission(proposal, "refuse", refusal=await self._unknown(execution, proposal.path))
        if tool.held:
            return Admission(proposal, "refuse", tool, refusal=review_required(tool))
        try:
            arguments = parse_arguments(proposal.arguments)
            if execution.toolkit_id:
                await self._narrowing.check(execution, tool, arguments)
            decision = await self.decide(execution, tool, arguments)
            if decision.action == "deny":
                raise denied_by_policy(tool.path, decision.reason)
            HIDES.set(await self.hidden_from(execution, tool))
            with reading_files(self._files, execution):
                await self.check(tool, arguments, execution.language)
        except ToolError as error:
            refusal = await self._narrowing.redact(execution, tool, error)
            return Admission(proposal, "refuse", tool, refusal=refusal)
        use = await self._bindings.use(execution, tool)
        if use.missing is not None:
            return Admission(proposal, "ask", tool, use.missing.reason, missing=use.missing)
        route = await self._bindings.route(execution, tool, use)
        if decision.action == "allow":
            return Admission(proposal, "send", tool, decision.reason, route=route)
        admission = await self._decided_before(execution, proposal, tool, arguments, decision)
        return replace(admission, route=route)

    async def _decide_by_text(self, execution: Execution, tool: Tool, arguments: str) -> Decision:
        """They are only read if the decision depends on them."""
        in_force = await self._policies.within(execution.workspace_id, execution.toolkit_id)
        known = in_force.decisions.get(execution.actor_id, tool, await self._source_of(tool))
        return known or await self.decide(execution, tool, parse_arguments(arguments))

    async def decide(self, execution: Execution, tool: Tool, arguments: dict[str, Any]) -> Decision:
        """What is decided whatever the arguments are is remembered with the policies."""
        in_force = await self._policies.within(execution.workspace_id, execution.toolkit_id)
        actor_id, source = execution.actor_id, await self._source_of(tool)
        known = in_force.decisions.get(actor_id, tool, source)
        if known is not None:
            return known
        if in_force.judges_arguments or await self._may_hold_calls(tool):
            return decide(await self._subject(tool, source, actor_id, arguments), in_force.policies)
        decided = decide(await self._subject(tool, source, actor_id, None), in_force.policies)
        return in_force.decisions.put(decided, actor_id, tool, source)

    async def _source_of(self, tool: Tool) -> Source | None:
        """None for Executor's own tools, and for those whose source has just gone."""
        if tool.source_id == builtins.SOURCE:
            return None
        try:
            return await self._catalog.source_of(tool)
        except ToolError:
            return None

    async def _may_hold_calls(self, tool: Tool) -> bool:
        try:
            return tool.source_id != builtins.SOURCE and await self._catalog.may_hold_calls(tool)
        except ToolError:  # its source has just gone
            return True

    async def subject(self, tool: Tool, actor_id: str, arguments: dict[str, Any] | None) -> Subject:
        """A call as the policies judge it: with the tools as they are now, and where they send it now."""
        return await self._subject(tool, await self._source_of(tool), actor_id, arguments)

    async def _subject(
        self, tool: Tool, source: Source | None, actor_id: str, arguments: dict[str, Any] | None
    ) -> Subject:
        path, effect, source_id, version = tool.path, tool.effect, tool.source_id, tool.schema_digest
        if source_id == builtins.SOURCE:
            return Subject(path, effect, source_id, actor_id, arguments, schema_digest=version, destination="")
        if source is None:  # it has just gone: no policy applies to what is left
            return Subject(path, effect, source_id, actor_id, schema_digest="", destination="")
        where = await self._bindings.destination_for(source, tool)
        if arguments is None:
            return Subject(path, effect, source_id, actor_id, None, (), version, where, own_name(tool))
        given, held = await meaning_of(self._catalog, source, tool, actor_id, arguments)
        parts = tuple([await self._part(source, part) for part in held])
        return Subject(path, effect, source_id, actor_id, given, parts, version, where, own_name(tool))

    async def _part(self, source: Source, part: Subject) -> Subject:
        tool = await self._catalog.tool(source.workspace_id, part.path)
        version = tool.schema_digest if tool is not None else ""
        return replace(part, schema_digest=version, destination=await self._bindings.destination(source))

    async def hidden_from(self, execution: Execution, tool: Tool) -> Hides | None:
        """Which operations are not described to an actor who writes documents of their own; None where all are."""
        if "type" not in tool.known_keys:
            return None
        ids = (execution.workspace_id, execution.actor_id, execution.toolkit_id)
        visibility = await self._policies.visibility(*ids)
        if visibility is None:
            return None
        fields = (await self._catalog.operations(await self._catalog.source_of(tool))).fields
        return lambda name, effect: visibility.hides(fields.get(name) or f"{tool.namespace}.{name}", effect)

    async def denial(self, execution: Execution, call: Call, tool: Tool) -> ToolError | None:
        """Why the policies in force refuse the call, whatever was decided about it before."""
        decision = await self.decide(execution, tool, parse_arguments(call.arguments))
        return denied_by_policy(tool.path, decision.reason) if decision.action == "deny" else None

    async def recheck(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None) -> None:
        """Right before it is sent. The journal was written in between: what was judged must still be what is sent."""
        await self.revocations.check(execution)
        current = await self.find_in_reach(execution, tool.path)
        if current is None and execution.toolkit_id:
            raise await self._unknown(execution, tool.path)
        if current is None or current.schema_digest != tool.schema_digest:
            raise tool_changed(tool.path)
        if current.held:
            raise review_required(current)
        if execution.toolkit_id:
            await self._narrowing.check(execution, tool, parse_arguments(call.arguments))
        decision = await self._decide_by_text(execution, tool, call.arguments)
        if decision.action == "deny":
            raise denied_by_policy(tool.path, decision.reason)
        if binding is not None:
            source = await self._bindings.source_of(execution.workspace_id, tool)
            if binding != await self._bindings.bind(execution, call, tool, source):
                raise tool_changed(tool.path)
        elif decision.action != "allow" and not await self._is_permitted(execution, tool):
            raise tool_changed(tool.path)

    async def _decided_before(
        self, execution: Execution, proposal: Proposal, tool: Tool, arguments: dict[str, Any], decision: Decision
    ) -> Admission:
        """A denial applies to the same call, a permit to the same tool at the same place; all else needs a decision."""
        decisions = await self._permits.of(execution.id)
        reason = await self._denial_of(execution, decisions, tool, arguments) if decisions.denials else None
        if reason is not None:
            return Admission(proposal, "refuse", tool, refusal=denied_before(tool.path, reason))
        if await self._is_permitted(execution, tool):
            return Admission(proposal, "send", tool, "a human allowed it for the rest of this execution")
        return Admission(proposal, "ask", tool, decision.reason)

    async def _is_permitted(self, execution: Execution, tool: Tool) -> bool:
        """A human allowed the tool, as it is and with what it is sent with, for the rest of this execution."""
        permit = (await self._permits.of(execution.id)).permits.get(tool.path)
        if permit is None:
            return False
        call = Call(execution.id, execution.workspace_id, 0, "tool", tool.path, "", "", "proposed")
        source = await self._bindings.source_of(execution.workspace_id, tool)
        return permit.fits(await self._bindings.bind(execution, call, tool, source))

    async def _denial_of(
        self, execution: Execution, decisions: Decisions, tool: Tool, arguments: dict[str, Any]
    ) -> str | None:
        """Why the same call was denied before, however it is written now."""
        if decisions.reasons is None:
            reasons: dict[str, str] = {}
            for denied in decisions.denials:
                was = await self.find(execution.workspace_id, denied.path)
                if was is not None:
                    key, *_ = await keys_of(self._catalog, was, denied.arguments)
                    reasons[key] = denied.reason
            decisions.reasons = reasons
        keys = await keys_of(self._catalog, tool, arguments)
        return next((decisions.reasons[key] for key in keys if key in decisions.reasons), None)

    async def check(self, tool: Tool, arguments: dict[str, Any], language: str = "typescript") -> None:
        if tool.source_id == builtins.SOURCE:
            builtins.check(tool, arguments, language_of(language))
        else:
            await self._catalog.check(tool, arguments, language=language_of(language))

    async def nearest(self, workspace_id: str, path: str, visibility: Visibility | None) -> list[str]:
        """Of a tool that was renamed, its new name alone."""
        own_paths = (await self._policies.of(workspace_id)).own_paths
        renamed = [
            new
            for new, own in own_paths.items()
            if own == path and not (visibility is not None and visibility.hides(new))
        ]
        return renamed or await self._catalog.nearest(workspace_id, path, visibility=visibility)

    async def _unknown(self, execution: Execution, path: str) -> ToolError:
        visibility = await self._policies.visibility(execution.workspace_id, execution.actor_id, execution.toolkit_id)
        if single := await self._catalog.single_page(execution.workspace_id, path, visibility=visibility):
            return ToolError(
                "unknown_tool", f"there is no tool {path!r}", hint=page_hint(single), details={"nearest": [single.path]}
            )
        near = await self.nearest(execution.workspace_id, path, visibility)
        find = "tools.discover(query=…)" if execution.language == "python" else "tools.discover({query})"
        hint = f"did you mean {', '.join(near)}?" if near else f"find tools with {find}"
        return ToolError("unknown_tool", f"there is no tool {path!r}", hint=hint, details={"nearest": near})


def named_with_nul() -> ToolError:
    return ToolError("unknown_tool", "the path of a tool can't contain a NUL character", hint="use `tools.discover`")


def own_name(tool: Tool) -> str:
    """The path that its source gives it, where people gave it another."""
    return own_path("", tool.known_keys)


def proposal_digest(proposal: Proposal) -> str:
    return digest_text(f"{proposal.kind}\n{proposal.path}\n{proposal.arguments}")
