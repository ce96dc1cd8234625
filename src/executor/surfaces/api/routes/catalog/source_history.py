"""/v1/sources/{source}/…: what a source was read from, what that changed, and what depends on it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from executor.errors import Forbidden, InvalidRequest, NotFound
from executor.execution.dependents import find_dependents
from executor.model.source import Source, SourceDocument
from executor.sources.lifecycle.persistence import present, read_document
from executor.surfaces.api.context import Context, EdgeRoute, needs, visibility_for
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.views.base import time
from executor.surfaces.views.catalog import source_dependents
from executor.surfaces.views.catalog import sources as views

router = APIRouter(prefix="/v1/sources/{source}", route_class=EdgeRoute, tags=["sources"], responses=PROBLEMS)
ALL_TOOLS = 1_000_000
ENDINGS = {"application/json": "json", "application/yaml": "yaml", "application/graphql": "graphql"}
RAW: dict[int | str, dict[str, Any]] = {200: {"content": {name: {"schema": {}} for name in ENDINGS}}}


@router.get("/document", response_class=Response, responses=RAW)
@needs("read")
async def document(
    here: Context,
    source: str,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int | None, Query(ge=1)] = None,
    download: bool = False,
) -> Response:
    """Get the document of the last refresh, unchanged, or a range of its bytes. `X-Document-Size` is its full size."""
    found = await present(here.executor.database, here.workspace_id, source)
    await check_unveiled(here, found)
    kept = await read_document(here.executor.database, found)
    if kept is None:
        raise NotFound(
            f"no document of {found.namespace} is stored",
            hint="`executor sources refresh` fetches it, if there is one",
        )
    content = await asyncio.to_thread(part, kept, offset, limit)
    return Response(content, media_type=safe_type(kept), headers=facts(found, kept, download=download))


async def check_unveiled(here: Context, source: Source) -> None:
    """A document describes all of its tools. Anyone who must not see one of them can't read it."""
    visibility = await visibility_for(here)
    if visibility is None:
        return
    heads = await here.executor.catalog.page(here.workspace_id, source=source.id, limit=ALL_TOOLS)
    if any(visibility.hides(head.path, head.effect) for head in heads):
        raise Forbidden(
            f"the document of {source.namespace} describes tools that policies deny to you",
            hint="see the tools one by one, or ask an administrator",
        )


def part(document: SourceDocument, offset: int, limit: int | None) -> bytes:
    return document.content()[offset : None if limit is None else offset + limit]


def safe_type(document: SourceDocument) -> str:
    """Never one that a browser would run."""
    return document.media_type if document.media_type in ENDINGS else "application/octet-stream"


def facts(source: Source, document: SourceDocument, *, download: bool) -> dict[str, str]:
    name = f"{source.namespace}.{ENDINGS.get(document.media_type, 'txt')}"
    return {
        "X-Document-Size": str(document.size),
        "X-Document-Digest": document.digest,
        "X-Document-Read-At": str(time(document.read_at)),
        "Content-Disposition": f'{"attachment" if download else "inline"}; filename="{name}"',
    }


@router.get("/changes")
@needs("read")
async def changes(
    here: Context,
    source: str,
    at: Annotated[str | None, Query(max_length=40)] = None,
    after: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Answer[views.ChangesView]:
    """Get what a refresh changed, tool by tool: the last one that changed anything, or the one at a time in
    `revisions`."""
    found = await present(here.executor.database, here.workspace_id, source)
    found_changes = await here.executor.catalog.changes(found, milliseconds(at), after=after, limit=limit)
    visibility = await visibility_for(here)
    items = [
        one
        for one in found_changes["items"]
        if visibility is None or not visibility.hides(one["path"], one["effect"] or "")
    ]
    revision = found_changes["revision"]
    return answer(
        {
            "revisions": [views.revision_view(one) for one in found_changes["revisions"]],
            "revision": views.revision_view(revision) if revision is not None else None,
            "items": items,
            "next": found_changes["next"],
            "refreshedAt": time(found.refreshed_at),
        }
    )


def milliseconds(at: str | None) -> int | None:
    if not at:
        return None
    try:
        return round(datetime.fromisoformat(at).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(f"{at!r} is not a time", hint="copy it from `revisions`") from error


@router.get("/dependents")
@needs("read")
async def list_dependents(here: Context, source: str) -> Answer[source_dependents.DependentsView]:
    """List what depends on the source."""
    found = await present(here.executor.database, here.workspace_id, source)
    dependents = await find_dependents(here.executor.database, here.actor, found)
    return answer(source_dependents.dependents_view(found, dependents))
