"""/v1/configuration: sources, policies, secrets and roles from a file, compared and applied."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import APIRouter

from executor.daemon.declared import read_declared
from executor.execution.configuration.application import Terms
from executor.execution.configuration.document import Document, read_file
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.requests import ConfigurationText, NewConfiguration
from executor.surfaces.views import configuration as views

router = APIRouter(prefix="/v1/configuration", route_class=EdgeRoute, tags=["configuration"], responses=PROBLEMS)


@router.post("/plan")
@needs("administer")
async def plan(here: Context, body: ConfigurationText) -> Answer[views.ConfigurationPlan]:
    """Get what is wrong in a configuration, and what applying it would change. Nothing changes."""
    document, _ = await read(here, body)
    return answer(views.plan_view(await here.executor.configuration.plan(document, here.actor, prune=body.prune)))


@router.post("/apply")
@needs("administer")
async def apply(here: Context, body: NewConfiguration) -> Answer[views.ConfigurationOutcome]:
    """Apply a configuration. What fails is named and stops none of the other entries.

    Commands, Python modules, files and values outside the store are for the operator of this installation.
    """
    document, folder = await read(here, body)
    terms = Terms(here.actor, consent=body.consent, folder=folder, prune=body.prune)
    applied = await here.executor.configuration.apply(document, terms, expected=body.expected)
    return answer(views.outcome_view(applied))


async def read(here: Context, body: ConfigurationText) -> tuple[Document, Path | None]:
    """The text of the request, or what the daemon itself applies when it starts."""
    if body.text is None:
        return await asyncio.to_thread(read_declared, here.executor.settings)
    folder = Path(body.folder) if body.folder.startswith("/") else None
    return await asyncio.to_thread(read_file, body.text, body.name), folder
