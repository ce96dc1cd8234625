"""/v1/policies: the ordered policies of a workspace and of its organization."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from executor.errors import InvalidRequest
from executor.execution.names import identify
from executor.execution.policies import administration, reach
from executor.execution.policies.reach import count_tools
from executor.model.policy import Policy
from executor.model.tool import Effect
from executor.policy.decide import Subject, decide
from executor.policy.drafts import in_order, remaining, with_policy
from executor.policy.status import explain, find_shadowed
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.etag import IF_MATCH, TAGGED, etag, expected_version, precondition
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.policy_drafts import existing, match_tools, names, read_policy
from executor.surfaces.api.schemas.requests import Move, NewPolicy, PolicyChange, PolicyDraft, PolicyTest, Simulation
from executor.surfaces.views.catalog import policies as views

router = APIRouter(prefix="/v1/policies", route_class=EdgeRoute, tags=["policies"], responses=PROBLEMS)


@router.get("")
@needs("read")
async def listing(here: Context, reach: bool = False) -> Answer[views.PolicyPage]:
    """List the policies of the organization, then those of the workspace, each level in order of evaluation.

    With `reach`, also how many tools each matches, and which policy above it leaves it nothing to decide.
    """
    in_force = await administration.list_in_force(here.executor.database, here.actor)
    known = await names(here)
    items = [views.policy_view(policy, known) for policy in in_force]
    if reach and items:
        counted = await count_tools(here.executor.database, here.actor, in_force)
        above = await asyncio.to_thread(find_shadowed, in_force)
        for policy, item in zip(in_force, items, strict=True):
            item["matches"], item["shadowedBy"] = counted[policy.id], above.get(policy.id)
    return answer({"items": items})


@router.post("", status_code=201)
@creates
@needs("administer")
async def add(here: Context, body: NewPolicy) -> Answer[views.PolicyView]:
    """Add a policy: the last of its level, or at `position`."""
    administration.check_level(here.actor, body.level)
    policy = await read_policy(here, body)
    added = await administration.add(here.executor.database, here.actor, policy, body.position)
    return answer(views.policy_view(added, await names(here)), 201)


@router.post("/test")
@needs("read")
async def test(here: Context, body: PolicyTest) -> Answer[views.DecisionView]:
    """Get what would happen to a call of this tool, and how every policy was evaluated. Nothing is called."""
    subject, effect = await judge(here, body.path, body.arguments, body.actor)
    policies = (await here.executor.policies.of(here.workspace_id)).policies
    known = await names(here)
    decided = views.judgement_view(decide(subject, policies), policies, known)
    rows: list[views.PolicyStatusView] = [
        {
            "policy": views.policy_view(one.policy, known),
            "verdict": one.verdict,
            "why": one.why,
            "possible": one.possible,
        }
        for one in explain(subject, policies)
    ]
    unless = decide(subject, [one for one in policies if one.level == "source"])
    otherwise: views.OtherwiseView = {"action": unless.action, "reason": unless.reason}
    return answer({**decided, "effect": effect, "otherwise": otherwise, "rules": rows})


@router.post("/matches")
@needs("read")
async def match(here: Context, body: PolicyDraft) -> Answer[views.MatchesView]:
    """Count the current tools that a draft matches."""
    return answer(await match_tools(here, await read_policy(here, body)))


@router.post("/simulate")
@needs("read")
async def simulate(here: Context, body: Simulation) -> Answer[views.SimulationView]:
    """Simulate a change of policies: how a call would be decided, and how past calls would have been. Nothing changes.

    The calls are those of the newest `executions`, at most 10,000 of them; `next` continues with older ones.
    """
    now = list((await here.executor.policies.of(here.workspace_id)).policies)
    then = await propose(here, body, now)
    known = await names(here)
    decision: views.BeforeAndAfter | None = None
    if body.path:
        subject, _ = await judge(here, body.path, body.arguments, body.actor)
        decision = {
            "before": views.judgement_view(decide(subject, now), now, known),
            "after": views.judgement_view(decide(subject, then), then, known),
        }
    found = await reach.simulate(
        here.executor.database, here.actor, now, then, limit=body.limit, before=cursor(body.before)
    )
    items = [views.change_view(call, one, (now, then), known) for call, one in found.changed]
    following = ":".join(map(str, found.next)) if found.next else None
    return answer(
        {
            "decision": decision,
            "judged": found.judged,
            "executions": found.executions,
            "changed": items,
            "next": following,
        }
    )


@router.get("/{policy_id}", responses=TAGGED)
@needs("read")
async def show(here: Context, policy_id: str) -> Answer[views.PolicyView]:
    """Get a policy. Its `ETag` goes into the `If-Match` of an edit."""
    found = await administration.find(here.executor.database, here.actor, policy_id)
    return answer(views.policy_view(found, await names(here)), headers=etag(administration.version_of(found)))


@router.patch("/{policy_id}", openapi_extra=IF_MATCH)
@needs("administer")
async def change(here: Context, policy_id: str, body: PolicyChange) -> Answer[views.PolicyView]:
    """Change the fields you pass; the position and the level stay."""
    version = expected_version(here)
    present = await administration.find_own(here.executor.database, here.actor, policy_id)
    if "level" in body.model_fields_set and body.level != present.level:
        raise InvalidRequest(f"the policy belongs to the {present.level}", hint="remove it and create another")
    policy = await read_policy(here, apply_change(present, body))
    with precondition(version):
        changed = await administration.change(here.executor.database, here.actor, policy_id, policy, version=version)
    return answer(views.policy_view(changed, await names(here)), headers=etag(administration.version_of(changed)))


@router.post("/{policy_id}/move")
@needs("administer")
async def move(here: Context, policy_id: str, body: Move) -> Answer[views.PolicyView]:
    """Move a policy within its level; 0 is first."""
    moved = await administration.move(here.executor.database, here.actor, policy_id, body.position)
    return answer(views.policy_view(moved, await names(here)))


@router.post("/{policy_id}/renew")
@needs("administer")
async def renew(here: Context, policy_id: str) -> Answer[views.PolicyView]:
    """Apply a policy again: to its tools in their current form, and to every source that its pattern covers now."""
    renewed = await administration.renew(here.executor.pipeline, here.actor, policy_id)
    return answer(views.policy_view(renewed, await names(here)))


@router.delete("/{policy_id}", status_code=204, openapi_extra=IF_MATCH)
@needs("administer")
async def remove(here: Context, policy_id: str) -> Response:
    """Remove a policy."""
    version = expected_version(here)
    with precondition(version):
        await administration.remove(here.executor.database, here.actor, policy_id, version=version)
    return Response(status_code=204)


def apply_change(present: Policy, body: PolicyChange) -> PolicyDraft:
    kept = {name: getattr(present, name) for name in ("pattern", "action", "note", "level")}
    kept |= {"actor": present.actor_id, "source": present.source_id, "effect": present.effect or None}
    kept["conditions"] = [asdict(one) for one in present.conditions]
    return PolicyDraft.model_validate({**kept, **body.model_dump(exclude_unset=True)})


async def judge(here: Context, path: str, arguments: dict[str, Any] | None, actor: str) -> tuple[Subject, Effect]:
    """The call as the policies would see it; the asking actor's unless another is named."""
    tool = await existing(here, path)
    if arguments is not None and tool.source_id != "builtin":
        await here.executor.catalog.check(tool, arguments)
    known = await names(here)
    actor_id = identify("actor", actor, known.actors) or here.actor.id
    return await here.executor.pipeline.admissions.subject(tool, actor_id, arguments), tool.effect


async def propose(here: Context, body: Simulation, now: list[Policy]) -> list[Policy]:
    then = remaining(now if body.order is None else in_order(now, body.order), body.without)
    return then if body.rule is None else with_policy(then, await read_policy(here, body.rule), body.position)


def cursor(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    execution_id, _, seq = text.rpartition(":")
    if not execution_id or not seq.isdecimal() or len(seq) > 9:
        raise InvalidRequest(f"{text!r} is not a `next` value of this route", hint="copy it from the previous response")
    return execution_id, int(seq)
