"""/v1/keys and /v1/agents: what programs show to be let in. Each token is shown once, when it is made."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import Forbidden
from executor.identity import agents, keys
from executor.identity.local_tokens import save_agent_token
from executor.surfaces.api.context import EdgeRoute, context, needs
from executor.surfaces.api.json_response import PROBLEMS, answer
from executor.surfaces.api.schemas import identity

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("/keys", response_model=identity.KeyPage)
@needs("human")
async def listing(request: Request) -> Response:
    """One's own; those of everyone for an admin."""
    here = context(request)
    found = await keys.listing(here.executor.database, here.actor)
    return answer({"items": [identity.key_view(key) for key in found]})


@router.post("/keys", status_code=201, response_model=identity.NewKeyView)
@needs("human")
async def create(request: Request, body: identity.NewKey) -> Response:
    """A key that acts for whoever makes it, with no more than its scopes."""
    here = context(request)
    expires_at = identity.expiry(body.expires_in_days)
    key, token = await keys.create(here.executor.database, here.actor, body.name, body.scopes, expires_at)
    return answer({**identity.key_view(key), "token": token}, 201)


@router.delete("/keys/{key_id}", status_code=204)
@needs("human")
async def revoke(request: Request, key_id: str) -> Response:
    here = context(request)
    await keys.revoke(here.executor.database, here.actor, key_id)
    return Response(status_code=204)


@router.get("/agents", response_model=identity.AgentPage)
@needs("read")
async def listing_of_agents(request: Request) -> Response:
    """With the last token of each; the first is the installation's own, whose token is in a file."""
    here = context(request)
    found = await agents.listing(here.executor.database, here.actor)
    return answer({"items": [identity.agent_view(agent) for agent in found]})


@router.post("/agents", status_code=201, response_model=identity.NewAgentView)
@needs("administer")
async def create_agent(request: Request, body: identity.NewAgent) -> Response:
    """An agent with a token of its own: rules and the audit can tell it from others."""
    here = context(request)
    data_dir = here.executor.settings.data_dir
    if body.keep_token:
        if not here.actor.may("operate"):
            raise Forbidden(
                "only the operator can store a token on this machine",
                hint=("leave out `keepToken`: the response contains the token"),
            )
        await agents.refuse_kept(here.executor.database, here.actor, data_dir, body.name)
    expires_at = identity.expiry(body.expires_in_days)
    agent, token = await agents.create(here.executor.database, here.actor, body.name, expires_at)
    if body.keep_token:
        await asyncio.to_thread(save_agent_token, data_dir, body.name, token)
    return answer({**identity.agent_view(agent), "token": token}, 201)


@router.delete("/agents/{agent_id}", status_code=204)
@needs("administer")
async def revoke_agent(request: Request, agent_id: str) -> Response:
    """Its tokens end; what it did stays under its name."""
    here = context(request)
    await agents.revoke(here.executor.database, here.executor.tenancy, here.actor, agent_id)
    return Response(status_code=204)
