"""Whom the agent of a session acts as: an actor of its own, with a key for `/mcp` that ends with its process."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.errors import Forbidden
from executor.identity.new_token import AGENT, mint
from executor.model.identity.access import SESSIONS, Key
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import AGENT as AGENT_PERMISSIONS
from executor.model.ids import new_id, now_ms
from executor.model.sessions.session import Session
from executor.sessions.processes.tokens import LIFE_MS
from executor.storage.database import Database
from executor.storage.identity import api_keys, external_subjects
from executor.storage.sessions import sessions


def ensure_agent(c: Connection, by: Actor, agent: str) -> Actor:
    """One for each person and agent, so that policies and the audit log can name it."""
    subject = f"{by.account_id or by.id}:{agent}"
    found = external_subjects.agent(c, by.workspace_id, SESSIONS, subject)
    if found is None:
        return external_subjects.add_agent(c, by.workspace_id, SESSIONS, subject, f"{agent} ({by.name})")
    actor, is_revoked = found
    if is_revoked:
        raise Forbidden(f"the agent {actor.name!r} was revoked", hint="an administrator decides which agents may run")
    return actor


async def issue_key(database: Database, session: Session) -> tuple[Key, str]:
    """With the key itself, this one time. It may do what any agent may, and nothing else."""
    minted, at = mint(AGENT), now_ms()
    key = Key(
        new_id("key"),
        session.workspace_id,
        session.agent_id,
        "agent",
        f"session {session.id}",
        minted.prefix,
        tuple(sorted(AGENT_PERMISSIONS)),
        session.actor_id,
        at,
        expires_at=at + LIFE_MS,
    )

    def write(c: Connection) -> None:
        api_keys.insert(c, key, minted.digest)
        sessions.change(c, session.id, key_id=key.id)

    await database.write(write)
    return key, minted.token
