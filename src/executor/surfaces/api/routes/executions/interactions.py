"""/v1/interactions: pending decisions, and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import orjson
from fastapi import APIRouter, Query

from executor.errors import Forbidden, InvalidRequest
from executor.execution.approvals import answers, interactions
from executor.execution.approvals.credentials import provide
from executor.execution.approvals.requests import find_change
from executor.execution.policies.always import Always, check_breadth, check_permitted, check_scope, draft_policy
from executor.execution.policies.treat_as_read import draft_read_policy
from executor.model.interaction import ElicitationAnswer, Interaction, InteractionStatus
from executor.model.policy import Policy
from executor.policy.drafts import Covers
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.policy_drafts import existing, match_tools, names, read_policy
from executor.surfaces.api.routes.credentials.connections import offer_of
from executor.surfaces.api.schemas.requests import AnswerElicitation, Approve, Deny, Provided
from executor.surfaces.views import interactions as views
from executor.surfaces.views.catalog.policies import AlwaysView, policy_view

router = APIRouter(prefix="/v1/interactions", route_class=EdgeRoute, tags=["interactions"], responses=PROBLEMS)
Pins = Annotated[list[str], Query(alias="pin", max_length=20)]


@router.get("")
@needs("read")
async def page(
    here: Context,
    status: InteractionStatus | None = None,
    execution_id: Annotated[str | None, Query(alias="executionId")] = None,
    actor: Annotated[str, Query(max_length=200)] = "",
    source: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: str | None = None,
) -> Answer[views.InteractionPage]:
    """List interactions, newest first. `next` is the `before` of the following page, `total` counts among the newest
    10,000.

    A search by actor or source that has passed 20,000 ends its page, with what it found, as `partial`.
    """
    found, total = await interactions.search(
        here.executor.database,
        here.actor,
        status=status,
        execution_id=execution_id,
        actor=actor,
        source=source,
        limit=limit,
        before=before,
    )
    items = await _views(here, found)
    return answer({"items": items, "next": found.next, "total": total, "partial": found.partial})


@router.get("/{interaction_id}")
@needs("read")
async def show(here: Context, interaction_id: str) -> Answer[views.InteractionView]:
    """Get an interaction with all of its arguments, however long.

    `outdated` says what changed after the request was shown: then an approval does not apply, and a new interaction
    replaces this one.
    """
    found = await interactions.find(here.executor.database, here.actor, interaction_id)
    [view] = await _views(here, [found], whole=True)
    return answer({**view, "outdated": await find_change(here.executor.pipeline, found) or None})


@router.get("/{interaction_id}/rule")
@needs("decide")
async def draft(
    here: Context,
    interaction_id: str,
    covers: Covers = "tool",
    treat_as_read: Annotated[bool, Query(alias="treatAsRead")] = False,
    pin: Pins = [],  # noqa: B006 - FastAPI copies it
) -> Answer[AlwaysView]:
    """Draft the policy that `always` would create, with the tools it matches. Each `pin` is an argument that must keep
    its value.

    With `treatAsRead`, the policy allows the tool like a read, for every caller.
    """
    always = await _draft(here, interaction_id, treat_as_read=treat_as_read, pins=pin, covers=covers)
    return answer(
        {
            "rule": policy_view(always.policy, await names(here)),
            "position": always.position,
            "matches": await match_tools(here, always.policy),
        }
    )


@router.post("/{interaction_id}/approve")
@needs("decide")
async def approve(here: Context, interaction_id: str, body: Approve | None = None) -> Answer[views.InteractionView]:
    """Approve this call: once, for the rest of its execution or session, or always by the policy that was shown."""
    body = body or Approve()
    result = orjson.dumps(body.result).decode() if "result" in body.model_fields_set else None
    if body.treat_as_read and (body.rule is not None or body.scope not in ("once", "always")):
        raise InvalidRequest("`treatAsRead` creates its own policy", hint="leave out `scope` and `rule`")
    scope = "always" if body.treat_as_read else body.scope
    always = await _always(here, interaction_id, body) if scope == "always" else None
    settled = await here.executor.engine.settle(
        here.actor, interaction_id, "approve", result=result, scope=scope, always=always
    )
    return answer(views.interaction_view(settled, here.executor.settings.address))


@router.post("/{interaction_id}/deny")
@needs("decide")
async def deny(here: Context, interaction_id: str, body: Deny | None = None) -> Answer[views.InteractionView]:
    """Deny the call. The code gets a `ToolError` with the reason."""
    reason = body.reason if body else ""
    settled = await here.executor.engine.settle(here.actor, interaction_id, "deny", reason=reason)
    return answer(views.interaction_view(settled, here.executor.settings.address))


@router.post("/{interaction_id}/answer")
@needs("decide")
async def answer_elicitation(
    here: Context, interaction_id: str, body: AnswerElicitation
) -> Answer[views.InteractionView]:
    """Answer an `elicitation`: accept it with what the server asks for, decline it, or cancel it without a choice.

    The content goes to the server and is not stored.
    """
    given = ElicitationAnswer(body.action, body.content)
    settled = await answers.answer(here.executor.engine, here.actor, interaction_id, given)
    return answer(views.interaction_view(settled, here.executor.settings.address))


@router.post("/{interaction_id}/credential")
@needs("connect")
async def credential(here: Context, interaction_id: str, body: Provided) -> Answer[views.InteractionView]:
    """Provide what a `credential` interaction asks for. Every call that waits for the same credential continues."""
    executor, offer = here.executor, offer_of(body, replace=True)
    settled = await provide(executor.engine, executor.connections, here.actor, interaction_id, offer)
    return answer(views.interaction_view(settled, here.executor.settings.address))


async def _views(here: Context, asked: Sequence[Interaction], *, whole: bool = False) -> list[views.InteractionView]:
    known = await interactions.read_background(here.executor.database, here.actor, asked)
    return [views.detailed_view(one, here.executor.settings.address, known, whole=whole) for one in asked]


async def _always(here: Context, interaction_id: str, body: Approve) -> Always:
    """Anyone who may not make policies is refused before anything of the call is looked at."""
    if not here.actor.may("administer"):
        hint = "approve it once or for this execution; an administrator can create policies"
        raise Forbidden("`always` creates a policy, which needs the permission `administer`", hint=hint)
    narrow = await _draft(here, interaction_id, treat_as_read=body.treat_as_read)
    if body.treat_as_read:
        return narrow
    if body.rule is None:
        check_permitted(here.actor, narrow.policy)
        return narrow
    given = await read_policy(here, body.rule)
    check_permitted(here.actor, given)
    check_breadth(given, narrow.policy, broader=body.broader)
    return await _draft(here, interaction_id, given=given)


async def _draft(
    here: Context,
    interaction_id: str,
    *,
    treat_as_read: bool = False,
    pins: Sequence[str] = (),
    covers: Covers = "tool",
    given: Policy | None = None,
) -> Always:
    """The policy of `always`, for a call of an execution or for what the agent of a session wants to do."""
    asked = await interactions.find_pending(here.executor.database, here.actor, interaction_id)
    if asked.session_id:
        if treat_as_read:
            raise InvalidRequest("what an agent does is not a tool's read", hint="leave out `treatAsRead`")
        return await here.executor.sessions.permissions.draft_policy(asked, covers=covers, pins=pins, given=given)
    asked, call = await interactions.find_open(here.executor.database, here.actor, interaction_id)
    if treat_as_read:
        return await _draft_read(here, asked)
    return await draft_policy(here.executor.pipeline, asked, call, pins, covers=covers, given=given)


async def _draft_read(here: Context, asked: Interaction) -> Always:
    check_scope(asked)
    tool = await existing(here, asked.binding.path)
    return await draft_read_policy(here.executor.pipeline, here.workspace_id, tool, asked.binding.actor_id)
