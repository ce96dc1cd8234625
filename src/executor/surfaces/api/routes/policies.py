"""/v1/policies: the ordered rules of a workspace and of its organization."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import InvalidRequest
from executor.execution.names import Names, identify
from executor.execution.policies import administration, reach
from executor.execution.policies.reach import count_tools
from executor.model.execution import PastCall
from executor.model.policy import Policy
from executor.policy.decide import Subject, decide
from executor.policy.drafts import Change, in_order, remaining, with_rule
from executor.policy.status import find_shadowed, standings
from executor.surfaces import views
from executor.surfaces.api.context import Context, EdgeRoute, context, needs
from executor.surfaces.api.json_response import PROBLEMS, answer
from executor.surfaces.api.policy_drafts import decision_view, existing, match_tools, names, read_rule, view
from executor.surfaces.api.schemas.policies import DecisionView, MatchesView, PolicyPage, PolicyView, SimulationView
from executor.surfaces.api.schemas.requests import Move, NewPolicy, PolicyTest, Rule, RuleChange, Simulation

router = APIRouter(prefix="/v1/policies", route_class=EdgeRoute, tags=["policies"], responses=PROBLEMS)


@router.get("", response_model=PolicyPage)
@needs("read")
async def listing(request: Request, reach: bool = False) -> Response:
    """Those of the organization, then those of the workspace, in the order in which each level's are tried.

    With `reach`, also how many tools each is about, and which rule above it leaves nothing to it.
    """
    here = context(request)
    in_force = await administration.list_in_force(here.executor.database, here.actor)
    known = await names(here)
    items = [view(policy, known) for policy in in_force]
    if reach and items:
        counted = await count_tools(here.executor.database, here.actor, in_force)
        above = await asyncio.to_thread(find_shadowed, in_force)
        items = [{**one, "matches": counted[one["id"]], "shadowedBy": above.get(one["id"])} for one in items]
    return answer({"items": items})


@router.post("", status_code=201, response_model=PolicyView)
@needs("administer")
async def add(request: Request, body: NewPolicy) -> Response:
    here = context(request)
    administration.check_level(here.actor, body.level)
    rule = await read_rule(here, body)
    added = await administration.add(here.executor.database, here.actor, rule, body.position)
    return answer(view(added, await names(here)), 201)


@router.post("/test", response_model=DecisionView)
@needs("read")
async def test(request: Request, body: PolicyTest) -> Response:
    """What would happen to a call of this tool, and what became of every rule. Nothing is called."""
    here = context(request)
    subject, effect = await judge(here, body.path, body.arguments, body.actor)
    rules = (await here.executor.policies.of(here.workspace_id)).policies
    known = await names(here)
    decided = decision_view(decide(subject, rules), rules, known)
    told = [
        {"policy": view(one.policy, known), "verdict": one.verdict, "why": one.why, "possible": one.possible}
        for one in standings(subject, rules)
    ]
    return answer({**decided, "effect": effect, "rules": told})


@router.post("/matches", response_model=MatchesView)
@needs("read")
async def match(request: Request, body: Rule) -> Response:
    """How many of the tools there are now a draft is about."""
    here = context(request)
    return answer(await match_tools(here, await read_rule(here, body)))


@router.post("/simulate", response_model=SimulationView)
@needs("read")
async def simulate(request: Request, body: Simulation) -> Response:
    """What rules as they might be would make of a call, and would have made of past ones. Nothing is changed.

    The calls are those of the newest `executions`, at most 10,000 of them; `next` goes on with older ones.
    """
    here = context(request)
    now = list((await here.executor.policies.of(here.workspace_id)).policies)
    then = await propose(here, body, now)
    known = await names(here)
    decision = None
    if body.path:
        subject, _ = await judge(here, body.path, body.arguments, body.actor)
        decision = {
            "before": decision_view(decide(subject, now), now, known),
            "after": decision_view(decide(subject, then), then, known),
        }
    found = await reach.simulate(
        here.executor.database, here.actor, now, then, limit=body.limit, before=cursor(body.before)
    )
    items = [change_view(call, one, (now, then), known) for call, one in found.changed]
    following = ":".join(map(str, found.next)) if found.next else None
    counts = {"judged": found.judged, "executions": found.executions}
    return answer({"decision": decision, **counts, "changed": items, "next": following})


@router.get("/{policy_id}", response_model=PolicyView)
@needs("read")
async def show(request: Request, policy_id: str) -> Response:
    here = context(request)
    return answer(view(await administration.find(here.executor.database, here.actor, policy_id), await names(here)))


@router.patch("/{policy_id}", response_model=PolicyView)
@needs("administer")
async def change(request: Request, policy_id: str, body: RuleChange) -> Response:
    """What is given; its place and its level stay."""
    here = context(request)
    present = await administration.find_own(here.executor.database, here.actor, policy_id)
    if "level" in body.model_fields_set and body.level != present.level:
        raise InvalidRequest(f"the rule belongs to the {present.level}", hint="remove it and add another")
    rule = await read_rule(here, changed_rule(present, body))
    changed = await administration.change(here.executor.database, here.actor, policy_id, rule)
    return answer(view(changed, await names(here)))


@router.post("/{policy_id}/move", response_model=PolicyView)
@needs("administer")
async def move(request: Request, policy_id: str, body: Move) -> Response:
    """To another place among the rules of its level; 0 is first."""
    here = context(request)
    moved = await administration.move(here.executor.database, here.actor, policy_id, body.position)
    return answer(view(moved, await names(here)))


@router.post("/{policy_id}/renew", response_model=PolicyView)
@needs("administer")
async def renew(request: Request, policy_id: str) -> Response:
    """Let a rule hold again: for the tools as they are now, and for every source that its pattern covers now."""
    here = context(request)
    renewed = await administration.renew(here.executor.pipeline, here.actor, policy_id)
    return answer(view(renewed, await names(here)))


@router.delete("/{policy_id}", status_code=204)
@needs("administer")
async def remove(request: Request, policy_id: str) -> Response:
    here = context(request)
    await administration.remove(here.executor.database, here.actor, policy_id)
    return Response(status_code=204)


def changed_rule(present: Policy, body: RuleChange) -> Rule:
    told = views.policy_view(present)
    kept = {name: told[name] for name in ("pattern", "action", "conditions", "effect", "note", "level")}
    kept |= {"actor": present.actor_id, "source": present.source_id}
    return Rule.model_validate({**kept, **body.model_dump(exclude_unset=True)})


async def judge(here: Context, path: str, arguments: dict[str, Any] | None, actor: str) -> tuple[Subject, str]:
    """The call as the policies would see it; the asking actor's unless another is named."""
    tool = await existing(here, path)
    if arguments is not None and tool.source_id != "builtin":
        await here.executor.catalog.check(tool, arguments)
    known = await names(here)
    actor_id = identify("actor", actor, known.actors) or here.actor.id
    return await here.executor.pipeline.admissions.subject(tool, actor_id, arguments), tool.effect


async def propose(here: Context, body: Simulation, now: list[Policy]) -> list[Policy]:
    then = remaining(now if body.order is None else in_order(now, body.order), body.without)
    return then if body.rule is None else with_rule(then, await read_rule(here, body.rule), body.position)


def cursor(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    execution_id, _, seq = text.rpartition(":")
    if not execution_id or not seq.isdecimal() or len(seq) > 9:
        raise InvalidRequest(f"{text!r} is not a `next` of this route", hint="copy it from the answer before")
    return execution_id, int(seq)


def change_view(call: PastCall, one: Change, rules: tuple[list[Policy], list[Policy]], known: Names) -> dict[str, Any]:
    return {
        "executionId": call.execution_id,
        "seq": call.seq,
        "path": call.path,
        "actor": known.actors.get(call.actor_id, call.actor_id),
        "state": call.state,
        "at": views.time(call.at),
        "before": decision_view(one.before, rules[0], known),
        "after": decision_view(one.after, rules[1], known),
    }
