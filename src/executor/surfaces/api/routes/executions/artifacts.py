"""/v1/artifacts: large results that are kept. Their content is a stranger's: handed out, and never shown as ours."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from executor.errors import NotFound
from executor.execution.artifacts import access
from executor.model.artifact import OCTETS, Artifact
from executor.surfaces.api.context import Context, EdgeRoute, needs, within_toolkit
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.views import artifacts as views

# The `Range` of a request (RFC 9110): one range of bytes. What is malformed, or several at once, is the whole.
_RANGE = re.compile(r"bytes=\s*(\d{0,15})-(\d{0,15})\s*")


class Span(NamedTuple):
    """From `start` up to `end`; `part` if that was asked for."""

    start: int
    end: int
    part: bool


def read_range(header: str | None, if_range: str | None, size: int, tag: str) -> Span | None:
    """None if nothing of what is there was asked for."""
    whole = Span(0, size, False)
    found = _RANGE.fullmatch(header) if header and header.isascii() else None
    if found is None or (if_range is not None and if_range != tag) or found.groups() == ("", ""):
        return whole
    first, last = found.groups()
    if not first:  # the last so many bytes
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return whole
    return Span(start, end, True) if start < end else None


router = APIRouter(prefix="/v1/artifacts", route_class=EdgeRoute, tags=["artifacts"], responses=PROBLEMS)
# What a browser does nothing with but save it, or draw it as a picture. Everything else is bytes to it.
INERT = frozenset(
    {"application/json", "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "application/zip"}
)
SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
BYTES = {"description": "the bytes", "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}


@router.get("")
@needs("execute", "read")
@within_toolkit
async def page(
    here: Context,
    execution: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: Annotated[str, Query(max_length=200)] = "",
) -> Answer[views.ArtifactPage]:
    """List artifacts, newest first; `execution` for those of one. Without the permission to read everything, you see
    those of your own executions."""
    found = await access.search(here.executor.database, here.actor, execution_id=execution, limit=limit, before=before)
    items = [views.artifact_view(one) for one in found]
    return answer({"items": items, "next": found.next, "partial": found.partial})


@router.get("/{artifact_id}")
@needs("execute", "read")
@within_toolkit
async def show(here: Context, artifact_id: str) -> Answer[views.ArtifactView]:
    """Get an artifact with its preview."""
    found = await access.find(here.executor.database, here.actor, artifact_id)
    return answer(views.artifact_view(found, preview=True))


@router.get("/{artifact_id}/content", response_class=Response, responses={200: BYTES, 206: BYTES})
@needs("execute", "read")
@within_toolkit
async def content(here: Context, artifact_id: str) -> Response:
    """Download the content, or one `Range` of it."""
    found = await access.find(here.executor.database, here.actor, artifact_id)
    if found.deleted_at is not None:
        raise NotFound(f"the artifact {artifact_id} was deleted", hint="run the code again")
    tag = f'"{found.digest}"'
    span = read_range(here.headers.get("range"), here.headers.get("if-range"), found.size, tag)
    if span is None:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{found.size}", "Accept-Ranges": "bytes"})
    status, headers = 206 if span.part else 200, _headers(found, span, tag)
    content = access.read_content(here.executor.contents, found, span.start, span.end)
    if span.end - span.start > access.PIECE:
        headers["Content-Length"] = str(span.end - span.start)
        return StreamingResponse(content, status_code=status, headers=headers)
    return Answer(b"".join([piece async for piece in content]), status_code=status, headers=headers)


@router.delete("/{artifact_id}")
@needs("decide")
async def delete(here: Context, artifact_id: str) -> Answer[views.ArtifactView]:
    """Delete the content permanently; the execution must have ended. The artifact stays listed as deleted."""
    return answer(views.artifact_view(await access.delete(here.executor.contents, here.actor, artifact_id)))


def _headers(artifact: Artifact, span: Span, tag: str) -> dict[str, str]:
    """Whatever it says it is: to be saved, not to be guessed at, and without rights if it is shown after all."""
    headers = {
        "Content-Type": artifact.media_type if artifact.media_type in INERT else OCTETS,
        "Content-Disposition": f'attachment; filename="{artifact.name}"',
        "Content-Security-Policy": SANDBOX,
        "Accept-Ranges": "bytes",
        "ETag": tag,
    }
    if span.part:
        headers["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{artifact.size}"
    return headers
