"""/v1/clients: how each MCP client is connected to this daemon."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from executor.identity.local_tokens import agent_file
from executor.surfaces import snippets
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


class ClientView(TypedDict):
    """`place` says where the text belongs. `stdio` is null if you may not start programs on the daemon's machine."""

    id: str
    name: str
    place: str
    stdio: str | None
    http: str | None


class ClientPage(TypedDict):
    """`tokenPlaceholder` marks in `http` where the agent's token belongs."""

    items: list[ClientView]
    tokenPlaceholder: str


@router.get("/clients")
@needs("human")
async def listing(here: Context, agent: Annotated[str, Query(max_length=100)] = "") -> Answer[ClientPage]:
    """List client configurations. `agent` is who a client started by stdio acts as; its token must be stored."""
    settings = here.executor.settings
    if agent:
        agent_file(settings.data_dir, agent)
    command = snippets.bridge_command(settings, agent) if here.actor.may("operate") else None
    found = snippets.snippets(command, settings.address)
    return answer(
        {"items": cast("list[ClientView]", [asdict(one) for one in found]), "tokenPlaceholder": snippets.TOKEN}
    )
