"""/v1/audit: who did what, when and from where, and whether the log is complete."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from executor.errors import InvalidRequest
from executor.execution.names import Names, identify, read_names
from executor.identity import audit
from executor.model.event import Event, EventFilter
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.sse import MOST, TYPE, After
from executor.surfaces.views.events import AuditPage, AuditReportView, BreakView, audit_view

router = APIRouter(prefix="/v1/audit", route_class=EdgeRoute, tags=["audit"], responses=PROBLEMS)
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}
_HEAD = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


@router.get("")
@needs("read")
async def page(
    here: Context,
    actor: Annotated[str, Query(max_length=200)] = "",
    type: Annotated[str | None, Query(max_length=100, pattern=TYPE)] = None,
    since: Annotated[int, Query(ge=0, le=MOST, description="milliseconds since 1970")] = 0,
    until: Annotated[int | None, Query(ge=0, le=MOST, description="milliseconds since 1970")] = None,
    before: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Answer[AuditPage]:
    """List events, newest first. `type` may end in `.*`; `next` is the `before` of the following page.

    A search by actor that has passed 20,000 events ends its page, with what it found, as `partial`.
    """
    known = await read_names(here.executor.database, here.workspace_id) if actor else Names({}, {})
    wanted = EventFilter(identify("actor", actor, known.actors), type or "", since, until)
    found, names = await audit.search(here.executor.database, here.actor, wanted, before=before, limit=limit)
    items = [audit_view(event, names.get(event.actor_id, "")) for event in found]
    return answer({"items": items, "next": found.next, "partial": found.partial})


@router.get("/verify")
@needs("administer")
async def verify(here: Context, head: Annotated[str, Query(max_length=100)] = "") -> Answer[AuditReportView]:
    """Verify the chain of all events. `head` is one that an earlier check returned and that you stored elsewhere."""
    noted = read_head(head) if head else None
    report = await audit.verify(here.executor.database, here.actor, noted)
    broken: BreakView | None = {"eventId": report.event_id, "problem": report.problem} if report.problem else None
    kept = f"{report.head[0]}:{report.head[1]}" if report.head else None
    return answer({"ok": broken is None, "events": report.events, "head": kept, "broken": broken})


@router.get(
    "/export",
    response_class=Response,
    responses=LINES,
)
@needs("administer")
async def export(
    here: Context, after: After = 0, limit: Annotated[int | None, Query(ge=1, le=10_000)] = None
) -> Response:
    """Export JSON lines, oldest first, with everything that a seal covers: all of them, or `limit`.

    Each request is itself an event of the log, the last that it exports. A last line's `id` is the next `after`.
    """
    pages = await audit.export(here.executor.database, here.actor, after=after, limit=limit)
    return StreamingResponse(_lines(here, pages), media_type="application/x-ndjson")


async def _lines(here: Context, pages: AsyncIterator[list[Event]]) -> AsyncIterator[bytes]:
    async for found in pages:
        if here.long_waits.closed.is_set():
            return
        yield b"".join(orjson.dumps(line(event)) + b"\n" for event in found)


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
