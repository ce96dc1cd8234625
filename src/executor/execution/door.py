"""The one door out of a sandbox: find the tool, check the arguments, ask the policies, send."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import orjson

from executor.catalog.catalog import Catalog
from executor.catalog.language import spoken
from executor.catalog.page_hints import page_hint
from executor.connections.connections import Connections
from executor.connections.resolving import Missing, Use
from executor.errors import ExecutorError, ToolError
from executor.execution import artifact_tools, builtins
from executor.execution.errand import CredentialMissing, Errand
from executor.execution.failures import AnswerLost, denied_before, denied_by_policy, is_lost, tool_changed
from executor.execution.files import CallFiles, FileStore
from executor.execution.flood import Flood
from executor.execution.permits import Permits
from executor.execution.prompt import shown_credential, shown_request
from executor.execution.rules import Rules
from executor.execution.subjects import check_following, keys_of, meaning_of
from executor.model.digest import digest, digest_text
from executor.model.execution import Call, Execution
from executor.model.ids import new_id
from executor.model.interaction import Binding
from executor.model.overlay import own_path
from executor.model.policy import Decision, Policy
from executor.model.source import Source
from executor.model.tool import Tool
from executor.policy.decide import Subject, decide
from executor.runtime.sandbox import Proposal
from executor.sources.files import FILES
from executor.storage import interactions
from executor.storage.database import Database
from executor.storage.permits import Standing

_LONG = re.compile(r"\d{19}")
RESULT_BYTES = 8 * 1024 * 1024
DESTINATIONS = 1_000

logger = logging.getLogger(__name__)


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


class Door:
    def __init__(
        self,
        catalog: Catalog,
        rules: Rules,
        permits: Permits,
        flood: Flood,
        connections: Connections | None = None,
        *,
        database: Database,
        lost_answers: str = "ask",
        retry_seconds: float = 120,
        files: FileStore | None = None,
    ) -> None:
        self.database = database
        self.lost_answers = lost_answers
        self.retry_seconds = retry_seconds
        self.files = files or FileStore(database)
        self.connections = connections
        self.catalog = catalog
        self.rules = rules
        self.permits = permits
        self.flood = flood
        self._turns = artifact_tools.Turns()
        self._destinations: dict[int, tuple[Source, str]] = {}

    async def find(self, workspace_id: str, path: str) -> Tool | None:
        return builtins.BUILTINS.get(path) or await self.catalog.tool(workspace_id, path)

    async def admit(self, execution: Execution, proposal: Proposal) -> Admission:
        """Arguments are checked before anyone is asked and before anything is sent."""
        if proposal.kind == "timer":
            return Admission(proposal, "send")
        tool = await self.find(execution.workspace_id, proposal.path)
        if tool is None:
            return Admission(proposal, "refuse", refusal=await self._unknown(execution, proposal.path))
        try:
            arguments = parse_arguments(proposal.arguments)
            decision = await self.decide(execution, tool, arguments)
            if decision.action == "deny":
                raise denied_by_policy(tool.path, decision.reason)
            with self._reading_files(execution):
                await self.check(tool, arguments, execution.language)
        except ToolError as refusal:
            return Admission(proposal, "refuse", tool, refusal=refusal)
        use = await self.use(execution, tool)
        if use.missing is not None:
            return Admission(proposal, "ask", tool, use.missing.reason, missing=use.missing)
        route = route_of(await self._destination(execution.workspace_id, tool), use.mark)
        if decision.action == "allow":
            return Admission(proposal, "send", tool, decision.reason, route=route)
        admission = await self._decided_before(execution, proposal, tool, arguments, decision)
        return replace(admission, route=route)

    async def decide(self, execution: Execution, tool: Tool, arguments: dict[str, Any]) -> Decision:
        rules = await self.rules.of(execution.workspace_id)
        judged = arguments if rules.judges_arguments or await self._may_hold_calls(tool) else None
        return decide(await self.subject(tool, execution.actor_id, judged), rules.policies)

    async def _may_hold_calls(self, tool: Tool) -> bool:
        try:
            return tool.source_id != builtins.SOURCE and await self.catalog.may_hold_calls(tool)
        except ToolError:  # its source has just gone
            return True

    async def subject(self, tool: Tool, actor_id: str, arguments: dict[str, Any] | None) -> Subject:
        """A call as the policies judge it: with the tools as they are now, and where they send it now."""
        path, effect, source_id, version = tool.path, tool.effect, tool.source_id, tool.schema_digest
        if source_id == builtins.SOURCE:
            return Subject(path, effect, source_id, actor_id, arguments, schema_digest=version, destination="")
        try:
            source = await self.catalog.source_of(tool)
        except ToolError:  # it has just gone: no rule was made for what is left
            return Subject(path, effect, source_id, actor_id, schema_digest="", destination="")
        where = self.destination_for(source, tool)
        if arguments is None:
            return Subject(path, effect, source_id, actor_id, None, (), version, where, own_name(tool))
        given, held = await meaning_of(self.catalog, source, tool, actor_id, arguments)
        parts = tuple([await self._part(source, part) for part in held])
        return Subject(path, effect, source_id, actor_id, given, parts, version, where, own_name(tool))

    async def _part(self, source: Source, part: Subject) -> Subject:
        tool = await self.catalog.tool(source.workspace_id, part.path)
        version = tool.schema_digest if tool is not None else ""
        return replace(part, schema_digest=version, destination=self.destination(source))

    async def denial(self, execution: Execution, call: Call, tool: Tool) -> ToolError | None:
        """Why the policies in force refuse the call, whatever was decided about it before."""
        decision = await self.decide(execution, tool, parse_arguments(call.arguments))
        return denied_by_policy(tool.path, decision.reason) if decision.action == "deny" else None

    async def _decided_before(
        self, execution: Execution, proposal: Proposal, tool: Tool, arguments: dict[str, Any], decision: Decision
    ) -> Admission:
        """A denial holds for the same call, a permit for the same tool sent to the same place; all else is asked."""
        standing = await self.permits.of(execution)
        reason = await self._denial_of(execution, standing, tool, arguments) if standing.denials else None
        if reason is not None:
            return Admission(proposal, "refuse", tool, refusal=denied_before(tool.path, reason))
        if await self._is_permitted(execution, tool):
            return Admission(proposal, "send", tool, "a human allowed it for the rest of this execution")
        return Admission(proposal, "ask", tool, decision.reason)

    async def _is_permitted(self, execution: Execution, tool: Tool) -> bool:
        """A human allowed the tool, as it is and with what it is sent with, for the rest of this execution."""
        permit = (await self.permits.of(execution)).permits.get(tool.path)
        if permit is None:
            return False
        call = Call(execution.id, execution.workspace_id, 0, "tool", tool.path, "", "", "proposed")
        source = await self.source_of(execution.workspace_id, tool)
        return permit.fits(await self.bind(execution, call, tool, source))

    async def _denial_of(
        self, execution: Execution, standing: Standing, tool: Tool, arguments: dict[str, Any]
    ) -> str | None:
        """Why the same call was denied before, however it is written now."""
        if standing.reasons is None:
            reasons: dict[str, str] = {}
            for denied in standing.denials:
                was = await self.find(execution.workspace_id, denied.path)
                if was is not None:
                    key, *_ = await keys_of(self.catalog, was, denied.arguments)
                    reasons[key] = denied.reason
            standing.reasons = reasons
        keys = await keys_of(self.catalog, tool, arguments)
        return next((standing.reasons[key] for key in keys if key in standing.reasons), None)

    async def check(self, tool: Tool, arguments: dict[str, Any], language: str = "typescript") -> None:
        if tool.source_id == builtins.SOURCE:
            builtins.check(tool, arguments, spoken(language))
        else:
            await self.catalog.check(tool, arguments, language=spoken(language))

    async def use(self, execution: Execution, tool: Tool) -> Use:
        """Which credential a call of this execution is sent with, or what it lacks."""
        source = await self.source_of(execution.workspace_id, tool)
        if source is None or self.connections is None:
            return Use()
        return await self.connections.resolve(source, tool, execution.actor_id)

    async def source_of(self, workspace_id: str, tool: Tool) -> Source | None:
        return None if tool.source_id == builtins.SOURCE else await self.catalog.source(workspace_id, tool.source_id)

    async def _destination(self, workspace_id: str, tool: Tool) -> str:
        source = await self.source_of(workspace_id, tool)
        return self.destination(source) if source is not None else ""

    def destination(self, source: Source) -> str:
        """Remembered with the very object that it is of: every call asks for it."""
        known = self._destinations.get(id(source))
        if known is None:
            if len(self._destinations) >= DESTINATIONS:
                self._destinations.clear()
            known = self._destinations[id(source)] = source, destination(source)
        return known[1]

    def destination_for(self, source: Source, tool: Tool) -> str:
        """What a rule for a tool is bound to. A document of one's own reaches whatever the whole schema offers."""
        where = self.destination(source)
        return f"{where}:{source.document_digest}" if tool.binding.get("type") == "raw" else where

    async def route(self, execution: Execution, tool: Tool) -> str:
        """Where a call of the tool goes now, and with which credential."""
        mark = (await self.use(execution, tool)).mark
        return route_of(await self._destination(execution.workspace_id, tool), mark)

    async def bind(self, execution: Execution, call: Call, tool: Tool, source: Source | None) -> Binding:
        """What a decision holds for: the call, the tool as it is now, where it goes, and the policies in force."""
        return Binding(
            actor_id=execution.actor_id,
            execution_id=execution.id,
            call_seq=call.seq,
            path=tool.path,
            schema_digest=tool.schema_digest,
            arguments_digest=call.arguments_digest,
            source_digest=self.destination(source) if source else "",
            policy_revision=(await self.rules.of(execution.workspace_id)).revision,
            connection=(await self.use(execution, tool)).mark,
        )

    async def outline(self, execution: Execution, call: Call, tool: Tool, source: Source | None) -> dict[str, str]:
        """What a human sees of the request itself: made as it is made when it is sent, without any secret."""
        if source is None:
            return {"request": tool.description if tool.source_id == builtins.SOURCE else "", "sentWith": "none"}
        try:
            given = parse_arguments(call.arguments)
            with self._reading_files(execution):
                request = await self.catalog.outline(tool, given, idempotency_key=key_of(call))
        except ToolError as error:  # the question is asked all the same: sending it fails with this
            request = f"can't be made: {error.message}"
        use = await self.use(execution, tool)
        return {"request": shown_request(request), "sentWith": shown_credential(use, source)}

    async def send(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None = None) -> str:
        """The JSON text of the result, or a ToolError; nothing else comes out. `binding` is what a human approved.

        Nothing of the credential it was sent with is in either. CredentialMissing means that nothing was done, and
        that a human has to give one first; AnswerLost that nobody knows if a write was done. What can't act twice
        under its key is sent once more before that.
        """
        try:
            return await self._send_once(execution, call, tool, binding)
        except AnswerLost as lost:
            if tool.idempotent:
                with suppress(ToolError):
                    return await self._send_once(execution, call, tool, binding)
            if self.lost_answers == "error":
                raise lost.as_error() from None
            raise

    async def _send_once(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None) -> str:
        errand = Errand(self.connections)
        try:
            await self._check_still(execution, call, tool, binding)
            result = errand.clean(await self._send(execution, call, tool, errand, binding))
        except CredentialMissing:
            raise
        except ToolError as error:
            told = await errand.told(tool, error, given=await self._was_given(call, errand, error))
            raise (AnswerLost(call.path, told) if is_lost(tool, told) else told) from None
        except ExecutorError as error:
            raise errand.redacted(ToolError(error.code, error.message, hint=error.hint)) from None
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

    async def _was_given(self, call: Call, errand: Errand, error: ToolError) -> bool:
        """The service refuses a credential that somebody gave for this very call: they may have mistyped it."""
        if error.http_status != 401 or errand.connection is None:
            return False
        return await self.database.read(lambda c: interactions.was_given(c, call.execution_id, call.seq))

    async def _check_still(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None) -> None:
        """The journal was written in between: what was judged must still be what is sent."""
        current = await self.find(execution.workspace_id, tool.path)
        if current is None or current.schema_digest != tool.schema_digest:
            raise tool_changed(tool.path)
        decision = await self.decide(execution, tool, parse_arguments(call.arguments))
        if decision.action == "deny":
            raise denied_by_policy(tool.path, decision.reason)
        if binding is not None:
            source = await self.source_of(execution.workspace_id, tool)
            if binding != await self.bind(execution, call, tool, source):
                raise tool_changed(tool.path)
        elif decision.action != "allow" and not await self._is_permitted(execution, tool):
            raise tool_changed(tool.path)

    async def _send(self, execution: Execution, call: Call, tool: Tool, errand: Errand, binding: Binding | None) -> str:
        arguments, approved = parse_arguments(call.arguments), binding is not None
        if tool.path in artifact_tools.PATHS and tool.source_id == builtins.SOURCE:
            return await artifact_tools.invoke(self.database, self._turns, execution, tool, arguments)
        if tool.source_id == builtins.SOURCE:
            veil = await self.rules.veil(execution.workspace_id, execution.actor_id)
            return await builtins.invoke(
                self.catalog,
                execution.workspace_id,
                tool,
                arguments,
                approved=approved,
                veil=veil,
                by=execution,
                language=spoken(execution.language),
            )
        source = await self.source_of(execution.workspace_id, tool)
        if source is not None:
            where, _, mark = call.route.partition(" ")
            if where != self.destination(source):
                raise tool_changed(tool.path)
            await errand.equip(source, tool, execution.actor_id, journalled_with=mark)
        FILES.set(CallFiles(self._store_for(execution), execution, call.seq, call.path, errand.values))
        key = key_of(call)
        following = partial(check_following, self.catalog, await self._policies(execution), execution.actor_id, tool)
        invoke = partial(
            self.catalog.invoke,
            tool,
            arguments,
            idempotency_key=key,
            source=errand.source,
            may_follow=following,
        )
        try:
            return await invoke(credential=errand.credential)
        except ToolError as error:
            if not await errand.renew(tool, error):
                raise
        return await invoke(credential=errand.credential)

    @contextmanager
    def _reading_files(self, execution: Execution) -> Iterator[None]:
        token = FILES.set(CallFiles(self.files, execution))
        try:
            yield
        finally:
            FILES.reset(token)

    def _store_for(self, execution: Execution) -> FileStore:
        """An anonymous agent keeps no more than its results may have."""
        if not execution.origin.startswith("anonymous"):
            return self.files
        return replace(self.files, largest=min(self.files.largest, execution.limits.result_bytes))

    async def _policies(self, execution: Execution) -> tuple[Policy, ...]:
        return (await self.rules.of(execution.workspace_id)).policies

    async def _unknown(self, execution: Execution, path: str) -> ToolError:
        veil = await self.rules.veil(execution.workspace_id, execution.actor_id)
        if single := await self.catalog.single_page(execution.workspace_id, path, veil=veil):
            return ToolError(
                "unknown_tool", f"there is no tool {path!r}", hint=page_hint(single), details={"nearest": [single.path]}
            )
        own_paths = (await self.rules.of(execution.workspace_id)).own_paths
        near = [new for new, own in own_paths.items() if own == path and not (veil is not None and veil.hides(new))]
        near = near or await self.catalog.nearest(execution.workspace_id, path, veil=veil)
        find = "tools.discover(query=…)" if execution.language == "python" else "tools.discover({query})"
        hint = f"did you mean {', '.join(near)}?" if near else f"find tools with {find}"
        return ToolError("unknown_tool", f"there is no tool {path!r}", hint=hint, details={"nearest": near})


def own_name(tool: Tool) -> str:
    """The path that its source gives it, where people gave it another."""
    return own_path("", tool.binding)


def key_of(call: Call) -> str:
    return f"{call.execution_id}:{call.seq}"


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
    if _LONG.search(text) and (number := rounded(json.loads(text))) is not None:
        raise ToolError(
            "invalid_arguments",
            f"the number {str(number)[:60]} can't be sent exactly: JSON numbers here have 64 bits",
            hint="send it as a string if the tool takes one",
        )
    return value


def rounded(value: Any) -> int | None:
    """An integer that reading would change: what is sent would not be what the code gave."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return next((found for part in parts if (found := rounded(part)) is not None), None)
    is_long = isinstance(value, int) and not -(2**63) <= value < 2**64
    return value if is_long else None


# All that a kind keeps in a source's config about where and how its calls are sent. The rest may change whenever the
# source is read again.
DECIDING = (
    "location", "base_url", "given_base_url", "transport", "origins", "headers", "command", "environment", "directory",
    "options", "allow_private", "static",
)  # fmt: skip


def route_of(destination: str, mark: str) -> str:
    """In one word, so that it is kept and compared whole. Empty for the tools of Executor itself."""
    return f"{destination} {mark}" if destination else ""


def destination(source: Source) -> str:
    kept = {name: source.config[name] for name in DECIDING if name in source.config}
    return digest([source.id, source.kind, kept])


def proposal_digest(proposal: Proposal) -> str:
    return digest_text(f"{proposal.kind}\n{proposal.path}\n{proposal.arguments}")
