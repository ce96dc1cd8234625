"""Policies as people write and read them: with actors and sources by their names."""

from __future__ import annotations

from executor.errors import NotFound
from executor.execution.names import Names, identify, read_names
from executor.execution.policies import reach
from executor.execution.policies.administration import find_owner
from executor.model.policy import Policy
from executor.model.tool import Tool
from executor.policy.drafts import draft
from executor.surfaces.api.context import Context
from executor.surfaces.api.schemas.requests import PolicyDraft
from executor.surfaces.views.catalog.policies import MatchesView

SHOWN = 20


async def names(here: Context) -> Names:
    return await read_names(here.executor.database, here.workspace_id)


async def read_policy(here: Context, body: PolicyDraft) -> Policy:
    known = await names(here)
    return draft(
        body.pattern,
        body.action,
        [one.model_dump() for one in body.conditions],
        level=body.level,
        owner_id=await find_owner(here.executor.database, here.actor, body.level),
        actor_id=identify("actor", body.actor, known.actors),
        source_id=identify("source", body.source, known.sources),
        effect=body.effect or "",
        note=body.note,
    )


async def existing(here: Context, path: str) -> Tool:
    tool = await here.executor.pipeline.admissions.find(here.workspace_id, path)
    if tool is None:
        near = await here.executor.catalog.nearest(here.workspace_id, path)
        hint = f"did you mean {', '.join(near)}?" if near else "see `executor tools list`"
        raise NotFound(f"there is no tool {path!r}", hint=hint, nearest=near)
    return tool


async def match_tools(here: Context, policy: Policy) -> MatchesView:
    paths = await reach.match_tools(here.executor.database, here.actor, policy)
    return {"count": len(paths), "tools": paths[:SHOWN]}
