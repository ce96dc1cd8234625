"""/v1/sources/{source}/review: changed tools of a server that wait until someone has looked at them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from executor.sources.lifecycle.persistence import present
from executor.surfaces.api.context import Context, EdgeRoute, needs, visibility_for
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.requests import AcceptedChanges
from executor.surfaces.views.catalog import reviews as views

router = APIRouter(prefix="/v1/sources/{source}", route_class=EdgeRoute, tags=["sources"], responses=PROBLEMS)


@router.get("/review")
@needs("read")
async def show_review(
    here: Context,
    source: str,
    after: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Answer[views.ReviewsView]:
    """List the tools that their server has changed and no one has reviewed yet, with what is different."""
    return answer(await read_page(here, source, after, limit))


@router.post("/review/accept")
@needs("administer")
async def accept_changes(here: Context, source: str, body: AcceptedChanges) -> Answer[views.ReviewsView]:
    """Accept changed tools as you saw them. If the server has changed one again, nothing is accepted."""
    digests = {one.path: one.digest for one in body.tools}
    await here.executor.catalog.lifecycle.accept_changes(here.workspace_id, source, digests, by=here.actor)
    return answer(await read_page(here, source, "", 50))


async def read_page(here: Context, source: str, after: str, limit: int) -> views.ReviewsView:
    found = await present(here.executor.database, here.workspace_id, source)
    mode, pending = await here.executor.catalog.lifecycle.pending_reviews(found, after=after, limit=limit)
    visibility = await visibility_for(here)
    return views.reviews_view(found, mode, pending, visibility)
