"""/v1/clients: how each MCP client is connected to this daemon."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from executor.identity.local_tokens import agent_file
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.clients import snippets
from executor.surfaces.clients.server_json import server_json

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


class ClientView(TypedDict):
    """`place` says where the text belongs. `stdio` is null if you may not start programs on the daemon's machine.

    `stdioEntry` and `httpEntry` are the server as the client's file takes it. `install` is a link that the client opens
    to add it.
    """

    id: str
    name: str
    place: str
    stdio: str | None
    http: str | None
    stdioEntry: dict[str, Any] | None
    httpEntry: dict[str, Any] | None
    install: str | None


class ClientPage(TypedDict):
    """`tokenPlaceholder` marks in `http` where the agent's token belongs. `serverJson` is for an MCP registry."""

    items: list[ClientView]
    tokenPlaceholder: str
    serverJson: dict[str, Any]


@router.get("/clients")
@needs("human")
async def listing(
    here: Context,
    agent: Annotated[str, Query(max_length=100)] = "",
    toolkit: Annotated[str, Query(max_length=100)] = "",
) -> Answer[ClientPage]:
    """List client configurations. `agent` is who a client started by stdio acts as; its token must be stored. With a
    `toolkit`, clients see that alone."""
    settings = here.executor.settings
    slug = (await here.executor.toolkits.find(here.actor, toolkit)).slug if toolkit else ""
    if agent:
        agent_file(settings.data_dir, agent)
    command = snippets.bridge_command(settings, agent, toolkit=slug) if here.actor.may("operate") else None
    found = snippets.snippets(command, settings.address, toolkit=slug)
    return answer(
        {
            "items": [_view(one) for one in found],
            "tokenPlaceholder": snippets.TOKEN,
            "serverJson": server_json(settings.address),
        }
    )


def _view(one: snippets.Snippet) -> ClientView:
    return {
        "id": one.id,
        "name": one.name,
        "place": one.place,
        "stdio": one.stdio,
        "http": one.http,
        "stdioEntry": one.stdio_entry,
        "httpEntry": one.http_entry,
        "install": one.install,
    }
