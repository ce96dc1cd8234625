"""/v1/policies: the ordered rules of a workspace."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import NotFound
from executor.policy.decide import decide
from executor.policy.pattern import parse_pattern
from executor.storage import policies
from executor.surfaces import views
from executor.surfaces.api import shapes
from executor.surfaces.api.answers import PROBLEMS, answer
from executor.surfaces.api.bodies import NewPolicy, PolicyTest
from executor.surfaces.api.context import EdgeRoute, context, operator_only

router = APIRouter(prefix="/v1/policies", route_class=EdgeRoute, tags=["policies"], responses=PROBLEMS)


@router.get("", response_model=shapes.PolicyPage)
async def listing(request: Request) -> Response:
    """In the order in which they are tried; the first that matches decides."""
    here = context(request)
    found = await here.executor.database.read(lambda c: policies.listing(c, here.workspace_id))
    return answer({"items": [views.policy_view(policy) for policy in found]})


@router.post("", status_code=201, response_model=shapes.PolicyView)
@operator_only
async def add(request: Request, body: NewPolicy) -> Response:
    here = context(request)
    parse_pattern(body.pattern)
    added = await here.executor.database.write(
        lambda c: policies.add(c, here.workspace_id, body.pattern, body.action, body.position)
    )
    return answer(views.policy_view(added), 201)


@router.post("/test", response_model=shapes.DecisionView)
async def test(request: Request, body: PolicyTest) -> Response:
    """What would happen to a call of this tool. Nothing is called."""
    here = context(request)
    tool = await here.executor.door.find(here.workspace_id, body.path)
    if tool is None:
        near = await here.executor.catalog.nearest(here.workspace_id, body.path)
        hint = f"did you mean {', '.join(near)}?" if near else "`executor tools list` shows what there is"
        raise NotFound(f"no tool {body.path!r} here", hint=hint, nearest=near)
    if body.arguments is not None:
        await here.executor.catalog.check(tool, body.arguments)
    rules = await here.executor.rules.of(here.workspace_id)
    decision = decide(tool.path, tool.effect, rules.policies)
    return answer(
        {
            "action": decision.action,
            "policyId": decision.policy_id,
            "reason": decision.reason,
            "effect": tool.effect,
        }
    )


@router.delete("/{policy_id}", status_code=204)
@operator_only
async def remove(request: Request, policy_id: str) -> Response:
    here = context(request)
    if not await here.executor.database.write(lambda c: policies.remove(c, here.workspace_id, policy_id)):
        raise NotFound(f"no policy {policy_id!r} here", hint="`executor policies list` shows what there is")
    return Response(status_code=204)
