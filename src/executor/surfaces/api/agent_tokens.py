"""New tokens of agents: shown once, and stored on this machine if its operator wants that."""

from __future__ import annotations

import asyncio

from executor.errors import Forbidden
from executor.identity import agents
from executor.identity.agents import Agent
from executor.identity.local_tokens import save_agent_token
from executor.surfaces.api.context import Context
from executor.surfaces.api.schemas.identity import expiry


async def create_agent(
    here: Context, name: str, days: int | None, *, is_kept: bool, toolkit_id: str = ""
) -> tuple[Agent, str]:
    data_dir = here.executor.settings.data_dir
    if is_kept:
        if not here.actor.may("operate"):
            raise Forbidden(
                "only the operator can store a token on this machine",
                hint="leave out `keepToken`: the response contains the token",
            )
        await agents.refuse_kept(here.executor.database, here.actor, data_dir, name)
    agent, token = await agents.create(here.executor.database, here.actor, name, expiry(days), toolkit_id=toolkit_id)
    if is_kept:
        await asyncio.to_thread(save_agent_token, data_dir, name, token)
    return agent, token
