"""`Always allow`: the narrowest policy that covers a call with a pending approval, shown before it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Conflict, Forbidden, InvalidRequest, NotFound
from executor.execution.approvals.prompt import shown_address
from executor.execution.builtins import tools as builtins
from executor.execution.calls.arguments import parse_arguments
from executor.execution.calls.pipeline import CallPipeline
from executor.model.execution import Call
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import Permission
from executor.model.interaction import Interaction, Scope
from executor.model.policy import Basis, Decision, Level, MadeFor, Policy
from executor.model.source import Source
from executor.model.tool import ALL, Effect
from executor.policy.decide import applies, decide
from executor.policy.drafts import Covers, is_broader, narrowest, text, with_policy
from executor.policy.pattern import matches
from executor.sources.mcp.tools.hints import claims_to_read
from executor.storage.catalog import policies, tools

NEEDED: dict[Level, Permission] = {
    "organization": "manage",
    "workspace": "administer",
    "toolkit": "administer",
    "source": "administer",
}


@dataclass(frozen=True, slots=True)
class Always:
    """A policy and its place: just before the policy that asked, so that whatever is above it still comes first.

    `revision` is that of the policies it was drafted under; under any others it needs another look. `renews` is the
    same policy, made for the tool as it was: it takes the place of that.
    """

    policy: Policy
    position: int | None
    revision: int
    after: Decision
    renews: Policy | None = None


async def draft_policy(
    pipeline: CallPipeline,
    asked: Interaction,
    call: Call,
    pins: Sequence[str] = (),
    *,
    covers: Covers = "tool",
    given: Policy | None = None,
) -> Always:
    """The narrowest policy, or the `given` one in its place."""
    tool = await pipeline.admissions.find(asked.workspace_id, asked.binding.path)
    check_scope(asked)
    if tool is None:
        raise NotFound(f"the tool {asked.binding.path} no longer exists", hint="deny it, or approve it once")
    arguments = parse_arguments(call.arguments)
    subject = await pipeline.admissions.subject(tool, asked.binding.actor_id, arguments)
    in_force = await pipeline.policies.of(asked.workspace_id)
    decided = decide(subject, in_force.policies)
    asking = next((policy for policy in in_force.policies if policy.id == decided.policy_id), None)
    level, owner = (asking.level, asking.owner_id) if asking else ("workspace", asked.workspace_id)
    if covers == "source" and tool.source_id == builtins.SOURCE:
        raise InvalidRequest(f"{tool.path} belongs to no source", hint="let the policy cover the tool")
    policy = given or narrowest(subject, pins, level=level, owner_id=owner, covers=covers)
    policy = replace(policy, made_for=await tools_of(pipeline, asked.workspace_id, policy))
    position = asking.position if asking and asking.level == policy.level else None
    if not applies(policy, subject) or policy.action != "allow":
        raise InvalidRequest(f"the policy {text(policy)} does not allow this call", hint="start from the draft")
    renews = next((one for one in in_force.policies if is_same(one, policy)), None)
    if renews is not None:
        then = [replace(one, made_for=policy.made_for) if one is renews else one for one in in_force.policies]
        after = decide(subject, then)
        if after.action == "allow":
            return Always(policy, renews.position, in_force.revision, after, renews)
    after = decide(subject, with_policy(in_force.policies, policy, position))
    if after.action != "allow":
        hint = "change that policy, or approve only this call"
        raise Conflict(f"the call would still need approval with this policy: {after.reason}", hint=hint)
    return Always(policy, position, in_force.revision, after)


def is_same(one: Policy, other: Policy) -> bool:
    """The same wording, whatever tools they were made for."""
    bases = [policy.made_for.basis if policy.made_for is not None else "always" for policy in (one, other)]
    return one.retired_at is None and bases[0] == bases[1] and not is_broader(one, other) and not is_broader(other, one)


async def tools_of(pipeline: CallPipeline, workspace_id: str, policy: Policy) -> MadeFor | None:
    """The tools that a policy allows, as they are now; None for a policy that reaches beyond one source.

    A tool and the one that walks its pages are judged together, so they are taken together.
    """
    namespace = policy.pattern.partition(".")[0]
    if own := builtins.BUILTINS.get(policy.pattern):
        return MadeFor("", frozenset({own.schema_digest}))
    source = await pipeline.catalog.source(workspace_id, namespace) if "*" not in namespace else None
    if source is None:
        return None
    basis = policy.made_for.basis if policy.made_for is not None else "always"
    found = await pipeline.database.read(lambda c: offered_tools(c, source, basis))
    digests = frozenset(
        digest
        for path, effect, digest in found
        if policy.effect in ("", effect)
        and any(matches(policy.pattern, name) for name in (path, path.removesuffix(ALL), path + ALL))
    )
    tool = await pipeline.admissions.find(workspace_id, policy.pattern)
    where = await pipeline.bindings.destination_for(source, tool)
    return MadeFor(where, digests, shown_address(source), basis)


def offered_tools(c: Connection, source: Source, basis: Basis) -> list[tuple[str, Effect, str]]:
    """Path, effect and digest of what a policy can be made for: of a server's hints, what it says only reads."""
    found = tools.digests(c, source.id)
    if basis != "hints":
        return found
    claims = {path for path, _, binding in tools.bindings(c, source.id) if claims_to_read(binding)}
    return [one for one in found if one[0] in claims]


def add_policy(c: Connection, workspace_id: str, always: Always, *, by: Actor) -> Policy:
    """Under the policies that it was drafted under, and under no others."""
    policies.lock(c, workspace_id, always.policy.level)
    if policies.revision(c, workspace_id) != always.revision:
        raise Conflict("the policies changed after this policy was shown", hint="review the policy again, then decide")
    if always.renews is None:
        return policies.add(c, workspace_id, always.policy, always.position, by=by)
    renewed = replace(always.renews, made_for=always.policy.made_for)
    policies.change(c, workspace_id, renewed, by=by)
    return renewed


async def renew_policy(pipeline: CallPipeline, workspace_id: str, policy: Policy) -> Policy:
    """The policy for the current tools and sources. Raises Conflict if the source it was created for is gone."""
    if (
        policy.source_id not in ("", builtins.SOURCE)
        and await pipeline.catalog.source(workspace_id, policy.source_id) is None
    ):
        hint = "remove it and create a new one for the current source"
        raise Conflict("the source of this policy was removed", hint=hint)
    made_for = await tools_of(pipeline, workspace_id, policy) if policy.made_for is not None else None
    return replace(policy, made_for=made_for, excluded=(), retired_at=None)


def check_scope(asked: Interaction, scope: Scope = "always") -> None:
    """Only an approval can apply to more than one call, and never one that lets code change what it may reach."""
    if scope == ("execution" if asked.session_id else "session"):
        belongs = "a session" if asked.session_id else "an execution"
        raise InvalidRequest(f"this request belongs to {belongs}", hint="approve it once, or for what it belongs to")
    if asked.kind != "approval":
        raise InvalidRequest(f"an interaction of kind {asked.kind} is decided once", hint="leave out the scope")
    own = builtins.BUILTINS.get(asked.binding.path)
    if own is not None and own.effect != "read":
        raise InvalidRequest(f"{own.path} is allowed one call at a time", hint="approve it once")


def check_permitted(actor: Actor, policy: Policy) -> None:
    needed = NEEDED[policy.level]
    if not actor.may(needed):
        hint = "approve it once or for this execution; an administrator can create policies"
        raise Forbidden(f"a policy of the {policy.level} needs the permission `{needed}`", hint=hint)


def check_breadth(policy: Policy, narrow: Policy, *, broader: bool) -> None:
    if is_broader(policy, narrow) and not broader:
        raise InvalidRequest(
            f"the policy {text(policy)} covers more than this call",
            hint="use the draft, or confirm with `broader`",
        )
