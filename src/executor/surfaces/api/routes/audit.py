"""/v1/audit: who did what, when and from where; and whether the record is whole."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query
from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from executor.errors import InvalidRequest
from executor.model.event import Event
from executor.storage.catalog import policy_scope
from executor.storage.executions import event_chain, events
from executor.storage.scan import Page
from executor.surfaces import views
from executor.surfaces.api import policy_drafts
from executor.surfaces.api.context import Context, EdgeRoute, context, needs
from executor.surfaces.api.json_response import PROBLEMS, answer
from executor.surfaces.api.schemas.events import AuditPage, AuditReportView
from executor.surfaces.api.sse import MOST, TYPE, After

router = APIRouter(prefix="/v1/audit", route_class=EdgeRoute, tags=["audit"], responses=PROBLEMS)
SEARCH_SECONDS = 5.0
EXPORTED = 1_000  # lines read at a time
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
    """Newest first. `type` may end in `.*`; `next` is the `before` of the following page.

    A search by actor that has passed 20,000 events ends its page, with what it found, as `partial`.
    """
    here = context(request)
    known = await here.executor.database.read(lambda c: policy_scope.actor_names(c, here.workspace_id)) if actor else {}
    wanted: dict[str, Any] = {"actor_id": policy_drafts.identify("actor", actor, known), "type": type, "since": since}

    def job(c: Connection) -> tuple[Page[Event], dict[str, str]]:
        found = events.search(c, here.workspace_id, **wanted, until=until, before=before, limit=limit)
        return found, policy_scope.actor_names(c, here.workspace_id, {event.actor_id for event in found})

    found, names = await here.executor.database.search(job, SEARCH_SECONDS)
    items = [views.audit_view(event, names.get(event.actor_id, "")) for event in found]
    return answer({"items": items, "next": found.next, "partial": found.partial})


@router.get("/verify", response_model=AuditReportView)
@needs("administer")
async def verify(request: Request, head: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Check the chain of every event. `head` is one that an earlier check told and somebody kept elsewhere."""
    here, noted = context(request), read_head(head) if head else None
    report = await here.executor.database.scan(lambda c: event_chain.verify(c, here.workspace_id, noted))
    broken = {"eventId": report.event_id, "problem": report.problem} if report.problem else None
    kept = f"{report.head[0]}:{report.head[1]}" if report.head else None
    return answer({"ok": broken is None, "events": report.events, "head": kept, "broken": broken})


@router.get("/export", response_class=Response, responses={200: {"content": {"application/x-ndjson": {}}}})
@needs("administer")
async def export(
    request: Request, after: After = 0, limit: Annotated[int | None, Query(ge=1, le=10_000)] = None
) -> Response:
    """JSON lines, oldest first, with everything that a seal covers: all of them, or `limit`.

    Each request is itself an event of the log, the last that it exports. A last line's `id` is the next `after`.
    """
    here = context(request)
    told = {"after": after} if limit is None else {"after": after, "limit": limit}

    def job(c: Connection) -> int:
        events.append(c, here.workspace_id, "audit.exported", told, by=here.actor)
        return events.newest(c, here.workspace_id)

    end = await here.executor.database.write(job)
    return StreamingResponse(_lines(here, after, end, limit), media_type="application/x-ndjson")


async def _lines(here: Context, after: int, end: int, limit: int | None) -> AsyncIterator[bytes]:
    """A page at a time, at the reader's own pace; what happens meanwhile is not in it."""
    left = MOST if limit is None else limit
    while left > 0 and after < end and not here.held.closed.is_set():
        most = min(left, EXPORTED)
        found = await here.executor.database.scan(partial(_page, here.workspace_id, after, end, most))
        if not found:
            return
        yield b"".join(orjson.dumps(line(event)) + b"\n" for event in found)
        after, left = found[-1].id, left - len(found)


def _page(workspace_id: str, after: int, end: int, limit: int, c: Connection) -> list[Event]:
    return [event for event in events.after(c, workspace_id, after=after, limit=limit) if event.id <= end]


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
        raise InvalidRequest(f"{text!r} is not a log head", hint="copy it from `executor audit verify`")
    return int(found[1]), found[2]
