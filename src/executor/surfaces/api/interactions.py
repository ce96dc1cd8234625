"""/v1/interactions: what humans are asked, and their answers."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import NotFound
from executor.storage import interactions
from executor.surfaces import views
from executor.surfaces.api import shapes
from executor.surfaces.api.answers import PROBLEMS, answer
from executor.surfaces.api.bodies import Approve, Deny
from executor.surfaces.api.context import EdgeRoute, context, operator_only

router = APIRouter(prefix="/v1/interactions", route_class=EdgeRoute, tags=["interactions"], responses=PROBLEMS)


@router.get("", response_model=shapes.InteractionPage)
async def page(
    request: Request,
    status: shapes.InteractionStatus | None = None,
    execution_id: Annotated[str | None, Query(alias="executionId")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: str | None = None,
) -> Response:
    """Newest first. `next` is the `before` of the following page."""
    here = context(request)
    found = await here.executor.database.read(
        lambda c: interactions.page(
            c, here.workspace_id, status=status, execution_id=execution_id, limit=limit, before=before
        )
    )
    items = [views.interaction_view(interaction, here.executor.settings.base_url) for interaction in found]
    return answer({"items": items, "next": found[-1].id if len(found) == limit else None})


@router.get("/{interaction_id}", response_model=shapes.InteractionView)
async def show(request: Request, interaction_id: str) -> Response:
    here = context(request)
    found = await here.executor.database.read(lambda c: interactions.get(c, here.workspace_id, interaction_id))
    if found is None:
        raise NotFound(f"no interaction {interaction_id!r} here", hint="`executor approvals list` shows what is asked")
    return answer(views.interaction_view(found, here.executor.settings.base_url))


@router.post("/{interaction_id}/approve", response_model=shapes.InteractionView)
@operator_only
async def approve(request: Request, interaction_id: str, body: Approve | None = None) -> Response:
    """Let exactly this call happen once. For an `unknown_outcome`, `result` is what the call answered."""
    given = body is not None and "result" in body.model_fields_set
    result = orjson.dumps(body.result).decode() if body is not None and given else None
    return await _settle(request, interaction_id, "approve", result=result)


@router.post("/{interaction_id}/deny", response_model=shapes.InteractionView)
@operator_only
async def deny(request: Request, interaction_id: str, body: Deny | None = None) -> Response:
    """Refuse the call. The code gets a `ToolError` that carries the reason."""
    return await _settle(request, interaction_id, "deny", reason=body.reason if body else "")


async def _settle(
    request: Request,
    interaction_id: str,
    decision: Literal["approve", "deny"],
    *,
    reason: str = "",
    result: str | None = None,
) -> Response:
    here = context(request)
    settled = await here.executor.engine.settle(here.actor, interaction_id, decision, reason=reason, result=result)
    return answer(views.interaction_view(settled, here.executor.settings.base_url))
