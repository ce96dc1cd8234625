"""/v1/events: everything that happens in the workspace."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from executor.execution import history
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer
from executor.surfaces.api.sse import After, EventStream, LastEventId, events_answer
from executor.surfaces.views.events import EventPage

router = APIRouter(prefix="/v1/events", route_class=EdgeRoute, tags=["events"], responses=PROBLEMS)


@router.get("")
@needs("read")
async def follow(
    here: Context,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    live: Annotated[bool, Query(description="only new events, without history")] = False,
    last_event_id: LastEventId = None,
) -> Answer[EventPage] | EventStream:
    """List events as JSON, or with `Accept: text/event-stream` as a live stream."""
    first = last_event_id or after
    if live and last_event_id is None:
        first = max(first, await history.newest_event(here.executor.database, here.actor))
    return await events_answer(here, None, after=first, limit=limit)
