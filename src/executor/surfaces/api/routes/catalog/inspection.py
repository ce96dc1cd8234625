"""What there is to call, as a whole: definitions for an editor, and the manifest. Of one source, or of all."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from executor.catalog.declarations.whole import ENDINGS, Wanted, read_definitions
from executor.execution.builtins.tools import BUILTINS
from executor.execution.policies.manifest import ALL, read_manifest
from executor.model.language import Language
from executor.model.source import Source
from executor.sources.lifecycle.persistence import present
from executor.surfaces.api.context import Context, EdgeRoute, needs, visibility_for, within_toolkit
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.views.catalog import tools as views

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["catalog"], responses=PROBLEMS)
TEXT = {"text/plain": {"schema": {"type": "string"}}}
Limit = Annotated[int | None, Query(ge=1, le=1000)]
After = Annotated[str, Query(max_length=500)]


@router.get("/sources/{source}/definitions", response_class=Response, responses={200: {"content": TEXT}})
@needs("discover")
async def define_source(
    here: Context, source: str, language: Language = "typescript", download: bool = False
) -> Response:
    """Get the types of a source's tools: a `.d.ts` file, or a `.pyi` file for `language=python`."""
    found = await present(here.executor.database, here.workspace_id, source)
    return await definitions_of(here, language, found, download=download)


@router.get("/catalog/definitions", response_class=Response, responses={200: {"content": TEXT}})
@needs("discover")
@within_toolkit
async def define_all(here: Context, language: Language = "typescript", download: bool = False) -> Response:
    """Get the types of all tools, the built-in ones included, as one file."""
    return await definitions_of(here, language, None, download=download)


@router.get("/sources/{source}/manifest")
@needs("read")
async def source_manifest(
    here: Context, source: str, limit: Limit = None, after: After = "", download: bool = False
) -> Answer[views.ManifestView]:
    """Get every tool of a source, with its effect, its digest and the policy in force for you. Without `limit`, all."""
    found = await present(here.executor.database, here.workspace_id, source)
    return await manifest_of(here, found, limit, after, download=download)


@router.get("/catalog/manifest")
@needs("read")
async def whole_manifest(
    here: Context, limit: Limit = None, after: After = "", download: bool = False
) -> Answer[views.ManifestView]:
    """Get every tool of all sources, as for one."""
    return await manifest_of(here, None, limit, after, download=download)


async def definitions_of(here: Context, language: Language, source: Source | None, *, download: bool) -> Response:
    wanted = Wanted(
        language,
        source.id if source is not None else "",
        () if source is not None else tuple(BUILTINS.values()),
        await visibility_for(here),
    )
    text = await read_definitions(here.executor.database, here.workspace_id, wanted)
    name = f"{source.namespace if source is not None else 'tools'}.{ENDINGS[language]}"
    return Response(text, media_type="text/plain", headers=disposition(name, download=download))


async def manifest_of(
    here: Context, source: Source | None, limit: int | None, after: str, *, download: bool
) -> Answer[views.ManifestView]:
    found = await read_manifest(
        here.executor.database,
        here.executor.pipeline,
        here.actor,
        source=source.id if source is not None else None,
        after=after,
        limit=limit or ALL,
        visibility=await visibility_for(here),
    )
    name = f"{source.namespace if source is not None else 'tools'}.manifest.json"
    return answer(views.manifest_view(found), 200, disposition(name, download=download))


def disposition(name: str, *, download: bool) -> dict[str, str]:
    return {"Content-Disposition": f'{"attachment" if download else "inline"}; filename="{name}"'}
