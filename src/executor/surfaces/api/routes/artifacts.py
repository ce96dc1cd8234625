"""/v1/artifacts: large results that are kept. Their content is a stranger's: handed out, and never shown as ours."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query
from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from executor.errors import Conflict, NotFound
from executor.execution.artifacts.files import remove
from executor.execution.engine import may_see
from executor.model.actor import Actor
from executor.model.artifact import OCTETS, Artifact
from executor.storage.executions import artifacts, events, executions
from executor.surfaces import views
from executor.surfaces.api.context import Context, EdgeRoute, context, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.executions import ArtifactPage, ArtifactView

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


PIECE = 8 * 1024 * 1024
router = APIRouter(prefix="/v1/artifacts", route_class=EdgeRoute, tags=["artifacts"], responses=PROBLEMS)
# What a browser does nothing with but save it, or draw it as a picture. Everything else is bytes to it.
INERT = frozenset(
    {"application/json", "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "application/zip"}
)
SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
BYTES = {"description": "the bytes", "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}


@router.get("", response_model=ArtifactPage)
@needs("execute", "read")
async def page(
    request: Request,
    execution: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Newest first; `execution` for those of one. Who may not read everything sees those of its own executions."""
    here = context(request)
    mine = "" if here.actor.may("read") else here.actor.id
    found = await here.executor.database.read(
        lambda c: artifacts.page(
            c, here.workspace_id, execution_id=execution, actor_id=mine, limit=limit, before=before
        )
    )
    items = [views.artifact_view(one) for one in found]
    return answer({"items": items, "next": found.next, "partial": found.partial})


@router.get("/{artifact_id}", response_model=ArtifactView)
@needs("execute", "read")
async def show(request: Request, artifact_id: str) -> Response:
    """What is known of it, with its preview."""
    here = context(request)
    found = await here.executor.database.read(lambda c: find_seen(c, here.actor, artifact_id))
    return answer(views.artifact_view(found, preview=True))


@router.get("/{artifact_id}/content", response_class=Response, responses={200: BYTES, 206: BYTES})
@needs("execute", "read")
async def content(request: Request, artifact_id: str) -> Response:
    """The bytes; one `Range` of them if asked for."""
    here = context(request)
    found = await here.executor.database.read(lambda c: find_seen(c, here.actor, artifact_id))
    if found.deleted_at is not None:
        raise NotFound(f"the artifact {artifact_id} was deleted", hint="run the code again")
    tag = f'"{found.digest}"'
    span = read_range(request.headers.get("range"), request.headers.get("if-range"), found.size, tag)
    if span is None:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{found.size}", "Accept-Ranges": "bytes"})
    if span.end - span.start > PIECE:
        status, headers = 206 if span.part else 200, _headers(found, span, tag)
        headers["Content-Length"] = str(span.end - span.start)
        return StreamingResponse(_pieces(here, found, span), status_code=status, headers=headers)
    data = await here.executor.database.read(lambda c: artifacts.content(c, found, span.start, span.end))
    return Answer(data, status_code=206 if span.part else 200, headers=_headers(found, span, tag))


@router.delete("/{artifact_id}", response_model=ArtifactView)
@needs("decide")
async def delete(request: Request, artifact_id: str) -> Response:
    """Its content, for good; the execution must have ended. That it was there stays known."""
    here = context(request)
    gone = await here.executor.database.write(lambda c: _delete(c, here, artifact_id))
    if gone.form == "file":
        await remove(here.executor.database, gone)
    return answer(views.artifact_view(gone))


def _delete(c: Connection, here: Context, artifact_id: str) -> Artifact:
    found = find_seen(c, here.actor, artifact_id)
    execution = executions.get(c, here.workspace_id, found.execution_id)
    if execution is not None and not execution.is_final:
        hint = "its journal needs it: wait until it has ended, or cancel it"
        raise Conflict(f"execution {execution.id} is {execution.status}", hint=hint)
    if artifacts.delete(c, found):
        told = {"id": found.id, "name": found.name, "size": found.size, "digest": found.digest}
        events.append(c, here.workspace_id, "artifact.deleted", told, found.execution_id, by=here.actor)
    return artifacts.get(c, here.workspace_id, artifact_id) or found


async def _pieces(here: Context, artifact: Artifact, span: Span) -> AsyncIterator[bytes]:
    """Memory holds one piece, whatever the reader's speed."""
    for start in range(span.start, span.end, PIECE):
        end = min(start + PIECE, span.end)
        yield await here.executor.database.read(partial(artifacts.content, artifact=artifact, start=start, end=end))


def find_seen(c: Connection, actor: Actor, artifact_id: str) -> Artifact:
    """As executions are: one's own, or with the right to read everything of the workspace."""
    found = artifacts.get(c, actor.workspace_id, artifact_id)
    execution = executions.get(c, actor.workspace_id, found.execution_id) if found else None
    if found is None or execution is None or not may_see(actor, execution):
        raise NotFound(f"there is no artifact {artifact_id}", hint="see `executor artifacts list`")
    return found


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
