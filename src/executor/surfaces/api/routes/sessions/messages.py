"""/v1/sessions/{id}/messages: transcripts, in pages and live; searched and exported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from executor.sessions.transcripts import open_transcripts as transcripts
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.session_stream import TranscriptStream
from executor.surfaces.api.sse import MOST, After, LastEventId, wants_stream
from executor.surfaces.transcript_text import markdown_of
from executor.surfaces.views.sessions import FoundMessages, MessagePage, message_view, session_view

router = APIRouter(prefix="/v1/sessions", route_class=EdgeRoute, tags=["sessions"], responses=PROBLEMS)
TEXT = {"schema": {"type": "string"}}
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": TEXT, "text/markdown": TEXT}}}


@router.get("/messages/search")
@needs("prompt", "read")
async def search(
    here: Context,
    text: Annotated[str, Query(min_length=1, max_length=200)],
    session: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Answer[FoundMessages]:
    """Find records that contain a text, in one session or in all of them, newest first."""
    found = await transcripts.search(here.executor.database, here.actor, text, session_id=session, limit=limit)
    return answer({"items": [message_view(one) for one in found]})


@router.get("/{session_id}/messages")
@needs("prompt", "read")
async def page(
    here: Context,
    session_id: str,
    after: After = 0,
    before: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    last_event_id: LastEventId = None,
) -> Answer[MessagePage] | TranscriptStream:
    """List what changed after the sequence `after`, or the last records before the position `before`.

    With `Accept: text/event-stream`, get a live stream of everything after `after` or `Last-Event-ID`.
    """
    if wants_stream(here):
        transcript = await here.executor.sessions.follow(here.actor, session_id)
        return TranscriptStream(here, transcript, last_event_id or after)
    database = here.executor.database
    found = await transcripts.read_page(database, here.actor, session_id, after=after, before=before, limit=limit)
    following = found[-1].sequence if len(found) == limit and before is None else None
    return answer({"items": [message_view(one) for one in found], "next": following})


@router.get("/{session_id}/export", response_class=Response, responses=LINES)
@needs("prompt", "read")
async def export(here: Context, session_id: str, format: Literal["jsonl", "markdown"] = "jsonl") -> StreamingResponse:
    """Export the transcript: one JSON object for each line, the session first; or Markdown."""
    session, found, names = await transcripts.read_all(here.executor.database, here.actor, session_id)

    async def jsonl() -> AsyncIterator[bytes]:
        yield orjson.dumps(session_view(session)) + b"\n"
        for message in found:
            yield orjson.dumps(message_view(message), default=str) + b"\n"

    async def markdown() -> AsyncIterator[bytes]:
        for part in markdown_of(session_view(session), map(message_view, found), names):
            yield part.encode("utf-8", "replace")

    if format == "markdown":
        return StreamingResponse(markdown(), media_type="text/markdown; charset=utf-8")
    return StreamingResponse(jsonl(), media_type="application/x-ndjson")
