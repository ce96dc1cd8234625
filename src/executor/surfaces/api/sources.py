"""/v1/sources: what is connected."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import InvalidRequest, NotFound
from executor.sources.kind import SourceRequest
from executor.storage import sources
from executor.surfaces import views
from executor.surfaces.api import shapes
from executor.surfaces.api.answers import PROBLEMS, answer
from executor.surfaces.api.bodies import NewSource
from executor.surfaces.api.context import EdgeRoute, context, operator_only

router = APIRouter(prefix="/v1/sources", route_class=EdgeRoute, tags=["sources"], responses=PROBLEMS)


@router.get("", response_model=shapes.SourcePage)
async def listing(request: Request) -> Response:
    here = context(request)
    found = await here.executor.database.read(lambda c: sources.listing(c, here.workspace_id))
    return answer({"items": [views.source_view(source) for source in found]})


@router.post("", status_code=201, response_model=shapes.SourceView)
@operator_only
async def add(request: Request, body: NewSource) -> Response:
    """Connect a source: by the address of its document, or with the document itself."""
    here = context(request)
    if not body.location and body.document is None:
        raise InvalidRequest("a source needs a location or a document", hint="give the address of its OpenAPI document")
    wanted = SourceRequest(
        kind=body.kind,
        location=body.location,
        document=None if body.document is None else body.document.encode(),
        namespace=body.namespace,
        name=body.name,
        base_url=body.base_url,
        allow_private=True,
    )
    added = await here.executor.catalog.add_source(here.workspace_id, wanted)
    return answer(views.source_view(added), 201, {"Location": f"/v1/sources/{added.id}"})


@router.get("/{source}", response_model=shapes.SourceView)
async def show(request: Request, source: str) -> Response:
    """By id or namespace."""
    here = context(request)
    found = await here.executor.database.read(lambda c: sources.get(c, here.workspace_id, source))
    if found is None:
        raise NotFound(f"no source {source!r} here", hint="`executor sources list` shows what there is")
    return answer(views.source_view(found))


@router.delete("/{source}", response_model=shapes.SourceView)
@operator_only
async def remove(request: Request, source: str) -> Response:
    here = context(request)
    return answer(views.source_view(await here.executor.catalog.remove_source(here.workspace_id, source)))


@router.post("/{source}/refresh", response_model=shapes.SourceView)
@operator_only
async def refresh(request: Request, source: str) -> Response:
    """Read the document again. When that fails the tools stay as they were."""
    here = context(request)
    return answer(views.source_view(await here.executor.catalog.refresh_source(here.workspace_id, source)))
