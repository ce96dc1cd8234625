"""How executions are looked for: what the address of the list says, and who may find what by it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from executor.storage import reach
from executor.storage.history import Wanted
from executor.surfaces.api.context import Context
from executor.surfaces.api.drafts import identified
from executor.surfaces.api.shapes.base import Status

LATEST = 2**48 - 1  # what the time part of an id can hold
Name = Annotated[str, Field(max_length=200)]
Time = Annotated[int, Field(ge=0, le=LATEST, description="milliseconds since 1970")]


class Looking(BaseModel):
    """Whatever is left out is not asked about. `tool` is a path, or the beginning of one up to a dot."""

    status: Annotated[list[Status], Field(max_length=20)] = []
    language: Name = ""
    runtime: Name = ""
    actor: Name = ""
    tool: Annotated[str, Field(max_length=500)] = ""
    text: Name = ""
    since: Time = 0
    until: Time | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    before: Name = ""


async def wanted(here: Context, looking: Looking) -> Wanted | None:
    """None when nothing can be found. Who may not read everything looks among their own, and learns of nobody else."""
    actor_id = await _actor_id(here, looking.actor)
    if actor_id is None:
        return None
    return Wanted(
        actor_id=actor_id,
        statuses=tuple(looking.status),
        language=looking.language,
        runtime=looking.runtime,
        tool=looking.tool.removesuffix(".**").removesuffix(".*").strip("."),
        text=looking.text,
        since=looking.since,
        until=looking.until,
    )


async def _actor_id(here: Context, given: str) -> str | None:
    if here.actor.may("read"):
        if not given:
            return ""
        known = await here.executor.database.read(lambda c: reach.actor_names(c, here.workspace_id))
        return identified("actor", given, known)
    return here.actor.id if given in ("", here.actor.id, here.actor.name) else None
