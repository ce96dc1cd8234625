"""/v1/tools: find and describe what can be called."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Query

from executor.errors import NotFound
from executor.execution.policies.renamed_tools import check_renames, find_ended
from executor.execution.policies.treat_as_read import add_read_policy
from executor.model.tool import Effect
from executor.policy.drafts import text
from executor.sources.lifecycle.renames import Rename, described_as, renamed_to
from executor.surfaces.api.context import Context, EdgeRoute, needs, visibility_for, within_toolkit
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.policy_drafts import existing, names
from executor.surfaces.api.schemas.requests import ToolLabels
from executor.surfaces.views.catalog import tools as views
from executor.surfaces.views.catalog.policies import PolicyView, policy_view

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["tools"], responses=PROBLEMS)


@router.get("/tools")
@needs("discover")
@within_toolkit
async def page(
    here: Context,
    prefix: Annotated[str, Query(max_length=500)] = "",
    source: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: str | None = None,
) -> Answer[views.ToolPage]:
    """List tools by path. `next` is the `after` of the following page."""
    heads = await here.executor.catalog.page(
        here.workspace_id,
        prefix=prefix,
        source=source,
        limit=limit,
        after=after,
        visibility=await visibility_for(here),
    )
    return answer({"items": [_head(head) for head in heads], "next": heads[-1].path if len(heads) == limit else None})


@router.get("/tools/search")
@needs("discover")
@within_toolkit
async def search(
    here: Context,
    query: str = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    namespace: str | None = None,
    source: str | None = None,
    effect: Effect | None = None,
    depth: Annotated[int, Query(ge=0, le=2)] = 1,
) -> Answer[views.ToolMatches]:
    """Search tools by intent: app + verb + object, best first; only the first 1,000 characters are used. Without a
    query, list the groups of tools."""
    found = await here.executor.catalog.search(
        here.workspace_id,
        query,
        limit=limit,
        namespace=namespace,
        source=source,
        effect=effect,
        depth=depth,
        visibility=await here.executor.policies.visibility(here.workspace_id, here.actor.id, here.actor.toolkit_id),
    )
    return answer(cast("views.ToolMatches", found))


@router.get("/tool-versions/{digest}")
@needs("discover")
async def version(here: Context, digest: str) -> Answer[dict[str, Any]]:
    """Get a tool as it was at the time of a call: `digest` is the call's `schemaDigest`."""
    return answer(await here.executor.catalog.version(here.workspace_id, digest, visibility=await visibility_for(here)))


@router.get("/tools/{path}")
@needs("discover")
@within_toolkit
async def describe(
    here: Context,
    path: str,
    include_schemas: Annotated[bool, Query(alias="includeSchemas")] = False,
    language: Literal["typescript", "python"] = "typescript",
    budget: Annotated[int, Query(ge=150, le=20_000)] = 1_500,
    part: Literal["arguments", "result", "description"] | None = None,
    types: Annotated[list[str] | None, Query(max_length=30)] = None,
) -> Answer[dict[str, Any]]:
    """Get a tool with its signature and an example, within a token budget, and its JSON Schemas on request."""
    described = await here.executor.catalog.describe(
        here.workspace_id,
        path,
        include_schemas=include_schemas,
        language=language,
        budget=budget,
        part=part or "",
        types=types or (),
        visibility=await visibility_for(here),
    )
    return answer(described)


@router.patch("/tools/{path}")
@needs("administer")
async def change(here: Context, path: str, body: ToolLabels) -> Answer[views.LabelledView]:
    """Change the path or description of a tool; with `.*` at the end of both, the path of a group.

    Policies for the name that the source gives it still apply.
    """
    source = await here.executor.catalog.source(here.workspace_id, path.partition(".")[0])
    if source is None:
        raise NotFound(f"there is no tool {path[:200]}", hint="see `executor tools list`")
    lifecycle, given = here.executor.catalog.lifecycle, body.model_fields_set
    policies = (await here.executor.policies.of(here.workspace_id)).policies
    check = partial(check_renames, inherit_policies=body.inherit_rules)
    reworded: tuple[str, ...] = ()
    if "description" in given:
        changed = await lifecycle.relabel(source, described_as(path, body.description), check, by=here.actor)
        reworded = changed.differences.reworded
    renames: tuple[Rename, ...] = ()
    if "path" in given:
        renames = (await lifecycle.relabel(source, renamed_to(path, body.path), check, by=here.actor)).renames
    ended = find_ended(policies, source, renames)
    renamed: list[views.RenameView] = [{"was": one.old, "path": one.new} for one in renames]
    return answer({"renamed": renamed, "reworded": list(reworded), "rules": [text(one) for one in ended]})


@router.post("/tools/{path}/treat-as-read", status_code=201)
@creates
@needs("administer")
async def treat_as_read(here: Context, path: str) -> Answer[PolicyView]:
    """Create the policy that allows a tool, in its current form, like a read. All other policies come first."""
    tool = await existing(here, path)
    made = await add_read_policy(here.executor.pipeline, tool, by=here.actor)
    return answer(policy_view(made, await names(here)), 201)


def _head(head: Any) -> views.ToolHead:
    return {
        "path": head.path,
        "description": head.description,
        "effect": head.effect,
        "deprecated": head.deprecated,
        "source": head.source_id,
    }
