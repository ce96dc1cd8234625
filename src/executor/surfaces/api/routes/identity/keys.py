"""/v1/keys and /v1/agents: credentials of programs. Each token is shown once, when it is created."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from executor.identity import agents, keys
from executor.surfaces.api import agent_tokens
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas import identity
from executor.surfaces.views import identity as views

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("/keys")
@needs("human")
async def listing(here: Context) -> Answer[views.KeyPage]:
    """List your keys; admins see those of everyone."""
    found = await keys.listing(here.executor.database, here.actor)
    return answer({"items": [views.key_view(key) for key in found]})


@router.post("/keys", status_code=201)
@creates
@needs("human")
async def create(here: Context, body: identity.NewKey) -> Answer[views.NewKeyView]:
    """Create a key that acts for you, limited to its scopes."""
    expires_at = identity.expiry(body.expires_in_days)
    key, token = await keys.create(here.executor.database, here.actor, body.name, body.scopes, expires_at)
    return answer({**views.key_view(key), "token": token}, 201)


@router.delete("/keys/{key_id}", status_code=204)
@needs("human")
async def revoke(here: Context, key_id: str) -> Response:
    """Revoke a key. What it did stays in the audit log."""
    await keys.revoke(here.executor.database, here.actor, key_id)
    return Response(status_code=204)


@router.get("/agents")
@needs("read")
async def listing_of_agents(here: Context) -> Answer[views.AgentPage]:
    """List agents with their latest token. The first is the installation's own, whose token is in a file."""
    found = await agents.listing(here.executor.database, here.actor)
    return answer({"items": [views.agent_view(agent) for agent in found]})


@router.post("/agents", status_code=201)
@creates
@needs("administer")
async def create_agent(here: Context, body: identity.NewAgent) -> Answer[views.NewAgentView]:
    """Create an agent with its own token, so that policies and the audit log can distinguish it."""
    agent, token = await agent_tokens.create_agent(here, body.name, body.expires_in_days, is_kept=body.keep_token)
    return answer({**views.agent_view(agent), "token": token}, 201)


@router.delete("/agents/{agent_id}", status_code=204)
@needs("administer")
async def revoke_agent(here: Context, agent_id: str) -> Response:
    """Revoke an agent's tokens. What it did stays under its name."""
    await agents.revoke(here.executor.database, here.executor.tenancy, here.actor, agent_id)
    return Response(status_code=204)
