"""Whether someone who submitted an execution may still run code."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.access import SESSIONS
from executor.model.identity.permissions import ROLES
from executor.storage.identity import anonymous, api_keys, tenancy
from executor.storage.tables.core import actors


def find_revocation(c: Connection, workspace_id: str, actor_id: str, key_id: str) -> str:
    """Why it may not: what was revoked since. Empty if it may. `key_id` is the key that it was submitted with, if any.

    A key that has expired is not revoked, and neither is a browser that was signed out.
    """
    mine = (actors.c.workspace_id == workspace_id, actors.c.id == actor_id)
    actor = c.execute(sa.select(actors).where(*mine)).first()
    if actor is None:
        return "its actor no longer exists"
    if actor.revoked_at is not None:
        return f"the agent {actor.name!r} was revoked"
    key = api_keys.get(c, workspace_id, key_id) if key_id else None
    if key is not None and key.revoked_at is not None:
        return f"the key {key.name!r} was revoked"
    if actor.kind != "human" and actor.issuer != SESSIONS:
        return ""
    visit = anonymous.of_workspace(c, workspace_id) if actor.account_id is None else None
    if visit is not None and visit.human_id == actor_id:
        return ""  # a browser without an account, in the workspace that it opened and that goes with it
    account_id = actor.account_id if actor.kind == "human" else actor.subject.partition(":")[0]
    role = tenancy.role(c, workspace_id, account_id)
    if role is None:
        return f"{actor.name!r} is no longer a member"
    return "" if "execute" in ROLES[role] else f"{actor.name!r} has the role {role}, which may not run code"
