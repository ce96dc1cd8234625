"""/v1/audit: who did what, when and from where; and whether the record is whole."""

from __future__ import annotations

import re
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query
from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import InvalidRequest
from executor.model.event import Event
from executor.storage import chains, events, reach
from executor.surfaces import views
from executor.surfaces.api import drafts
from executor.surfaces.api.answers import PROBLEMS, answer
from executor.surfaces.api.context import EdgeRoute, context, needs
from executor.surfaces.api.shapes.events import AuditPage, AuditReportView
from executor.surfaces.api.streams import MOST, TYPE, After

router = APIRouter(prefix="/v1/audit", route_class=EdgeRoute, tags=["audit"], responses=PROBLEMS)
_HEAD = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


@router.get("", response_model=AuditPage)
@needs("read")
async def page(
    request: Request,
    actor: Annotated[str, Query(max_length=200)] = "",
    type: Annotated[str, Query(max_length=100, pattern=TYPE)] = "",
    since: Annotated[int, Query(ge=0, le=MOST, description="milliseconds since 1970")] = 0,
    until: Annotated[int | None, Query(ge=0, le=MOST, description="milliseconds since 1970")] = None,
    before: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Newest first. `type` may end in `.*`; `next` is the `before` of the following page."""
    here = context(request)
    known = await here.executor.database.read(lambda c: reach.actor_names(c, here.workspace_id))
    actor_id = drafts.identified("actor", actor, known)
    found = await here.executor.database.read(
        lambda c: events.search(
            c, here.workspace_id, actor_id=actor_id, type=type, since=since, until=until, before=before, limit=limit
        )
    )
    items = [views.audit_view(event, known.get(event.actor_id, "")) for event in found]
    return answer({"items": items, "next": found[-1].id if len(found) == limit else None})


@router.get("/verify", response_model=AuditReportView)
@needs("administer")
async def verify(request: Request, head: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Check the chain of every event. `head` is one that an earlier check told and somebody kept elsewhere."""
    here, noted = context(request), read_head(head) if head else None
    report = await here.executor.database.read(lambda c: chains.verify(c, here.workspace_id, noted))
    broken = {"eventId": report.event_id, "problem": report.problem} if report.problem else None
    kept = f"{report.head[0]}:{report.head[1]}" if report.head else None
    return answer({"ok": broken is None, "events": report.events, "head": kept, "broken": broken})


@router.get("/export", response_class=Response, responses={200: {"content": {"application/x-ndjson": {}}}})
@needs("administer")
async def export(request: Request, after: After = 0, limit: Annotated[int, Query(ge=1, le=10_000)] = 5_000) -> Response:
    """JSON lines, oldest first, with everything that a seal covers. The last line's `id` is the next `after`."""
    here = context(request)

    def job(c: Connection) -> list[Event]:
        events.append(c, here.workspace_id, "audit.exported", {"after": after, "limit": limit}, by=here.actor)
        return events.after(c, here.workspace_id, after=after, limit=limit)

    found = await here.executor.database.write(job)
    lines = b"".join(orjson.dumps(line(event)) + b"\n" for event in found)
    return Response(lines, media_type="application/x-ndjson")


def line(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "workspaceId": event.workspace_id,
        "executionId": event.execution_id,
        "type": event.type,
        "at": event.at,
        "data": event.data,
        "actorId": event.actor_id,
        "origin": event.origin,
        "seal": event.seal,
    }


def read_head(text: str) -> tuple[int, str]:
    found = _HEAD.fullmatch(text)
    if found is None:
        raise InvalidRequest(f"{text!r} is not a head", hint="copy it from `executor audit verify`")
    return int(found[1]), found[2]
