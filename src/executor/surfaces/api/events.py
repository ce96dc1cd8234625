"""/v1/events: everything that happens in the workspace."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from executor.surfaces.api import shapes
from executor.surfaces.api.answers import PROBLEMS
from executor.surfaces.api.context import EdgeRoute
from executor.surfaces.api.streams import After, LastEventId, events_answer

router = APIRouter(prefix="/v1/events", route_class=EdgeRoute, tags=["events"], responses=PROBLEMS)


@router.get("", response_model=shapes.EventPage)
async def follow(
    request: Request,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    last_event_id: LastEventId = None,
) -> Response:
    """JSON, or with `Accept: text/event-stream` a live stream."""
    return await events_answer(request, None, after=last_event_id or after, limit=limit)
