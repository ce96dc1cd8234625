"""Agents with a token and an actor of their own each, so that policies and the audit log can distinguish them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Conflict, NotFound
from executor.identity.local_tokens import agent_file, read_token
from executor.identity.new_token import AGENT, digest, mint
from executor.model.identity.access import Key
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import AGENT as AGENT_PERMISSIONS
from executor.model.ids import new_id, now_ms
from executor.storage.catalog import toolkits
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import api_keys, external_subjects, tenancy, workspaces
from executor.storage.identity.tenancy import Tenancy


@dataclass(frozen=True, slots=True)
class Agent:
    """`key` is the last token that was created for it; None for the one whose token is a file of this installation."""

    actor: Actor
    created_at: int
    key: Key | None = None


async def create(
    database: Database, by: Actor, name: str, expires_at: int | None, *, toolkit_id: str = ""
) -> tuple[Agent, str]:
    """With its token, this one time. An agent of that name that was revoked comes back as the same actor.

    With a `toolkit_id`, the token reaches that toolkit alone.
    """
    minted, at = mint(AGENT), now_ms()

    def write(c: Connection) -> Agent:
        workspaces.lock(c, by.workspace_id)
        if toolkit_id and not toolkits.exists(c, by.workspace_id, toolkit_id):
            raise NotFound(f"there is no toolkit {toolkit_id!r}", hint="see `executor toolkits list`")
        actor, made_at = _free(c, by.workspace_id, name, at) or (
            tenancy.add_actor(c, by.workspace_id, "agent", name),
            at,
        )
        scopes = tuple(sorted(AGENT_PERMISSIONS))
        key = Key(
            new_id("key"),
            by.workspace_id,
            actor.id,
            "agent",
            name,
            minted.prefix,
            scopes,
            by.id,
            at,
            expires_at=expires_at,
            toolkit_id=toolkit_id,
        )
        api_keys.insert(c, key, minted.digest)
        data = {"agentId": actor.id, "keyId": key.id, "name": name, "prefix": key.prefix}
        if toolkit_id:
            data["toolkitId"] = toolkit_id
        events.append(c, by.workspace_id, "agent.created", data, by=by)
        return Agent(actor, made_at, key)

    return await database.write(write), minted.token


async def refuse_kept(database: Database, by: Actor, data_dir: Path, name: str) -> None:
    """A token that is kept for an agent of that name in another workspace is not replaced while it is good."""
    kept = await asyncio.to_thread(read_token, agent_file(data_dir, name))
    found = await database.read(lambda c: api_keys.by_digest(c, digest(kept))) if kept else None
    if found and found.usable(now_ms()) and found.workspace_id != by.workspace_id:
        raise Conflict(
            f"a token for an agent {name!r} of another workspace is already stored here", hint="choose another name"
        )


async def listing(database: Database, by: Actor) -> list[Agent]:
    def read(c: Connection) -> list[Agent]:
        last = {key.actor_id: key for key in api_keys.listing(c, by.workspace_id, "agent")}
        return [Agent(actor, at, last.get(actor.id)) for actor, at in tenancy.agents(c, by.workspace_id)]

    return await database.read(read)


async def revoke(database: Database, local: Tenancy, by: Actor, agent: str) -> Agent:
    """`agent` is its id, or its name."""
    at = now_ms()

    def write(c: Connection) -> Agent:
        found = _find(c, by.workspace_id, agent)
        agent_id = found[0].id
        if agent_id == local.agent.id:
            raise Conflict(
                "the token of this installation's own agent is in a file",
                hint=(
                    "stop the daemon and remove agent.token from the data directory; the next start creates a new one"
                ),
            )
        tokens = api_keys.revoke_of_actor(c, by.workspace_id, agent_id, at)
        is_shut_out = external_subjects.revoke_agent(c, by.workspace_id, agent_id, at)
        if not tokens and not is_shut_out:
            raise Conflict(f"agent {agent_id} is already revoked", hint="there is nothing left to do")
        events.append(c, by.workspace_id, "agent.revoked", {"agentId": agent_id, "name": found[0].name}, by=by)
        return Agent(*found, next(reversed(api_keys.listing(c, by.workspace_id, "agent", agent_id)), None))

    return await database.write(write)


def _find(c: Connection, workspace_id: str, agent: str) -> tuple[Actor, int]:
    """By id, or by a name that only one has: subjects of an authorization server may be named alike."""
    known = tenancy.agents(c, workspace_id)
    found = [pair for pair in known if pair[0].id == agent] or [pair for pair in known if pair[0].name == agent]
    if not found:
        raise NotFound(f"there is no agent {agent!r}", hint="see `executor agents list`")
    if len(found) > 1:
        ids = ", ".join(pair[0].id for pair in found)
        raise Conflict(f"{len(found)} agents are named {agent!r}: {ids}", hint="use the ID of one of them")
    return found[0]


def _free(c: Connection, workspace_id: str, name: str, now: int) -> tuple[Actor, int] | None:
    """The actor of that name, which must have no token that works."""
    for actor, made_at in tenancy.agents(c, workspace_id):
        if actor.name == name:
            owned = api_keys.listing(c, workspace_id, "agent", actor.id)
            if not owned or any(key.usable(now) for key in owned):
                raise Conflict(
                    f"an agent {name!r} already exists",
                    hint="choose another name, or run `executor agents revoke` first",
                )
            return actor, made_at
    return None
