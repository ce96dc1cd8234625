"""/v1/events: everything that happens in the workspace."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from executor.execution import history
from executor.surfaces.api.context import EdgeRoute, context, needs
from executor.surfaces.api.json_response import PROBLEMS
from executor.surfaces.api.schemas.events import EventPage
from executor.surfaces.api.sse import After, LastEventId, events_answer

router = APIRouter(prefix="/v1/events", route_class=EdgeRoute, tags=["events"], responses=PROBLEMS)


@router.get("", response_model=EventPage)
@needs("read")
async def follow(
    request: Request,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    live: Annotated[bool, Query(description="only what happens from now on")] = False,
    last_event_id: LastEventId = None,
) -> Response:
    """JSON, or with `Accept: text/event-stream` a live stream."""
    here, first = context(request), last_event_id or after
    if live and last_event_id is None:
        first = max(first, await history.newest_event(here.executor.database, here.actor))
    return await events_answer(request, None, after=first, limit=limit)
