"""Those whom an outside issuer vouches for: accounts that sign in there, and agents that come with its tokens."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.access import Invitation
from executor.model.identity.actor import Account, Actor
from executor.model.ids import new_id, now_ms
from executor.storage.identity.invitations import listing as listed
from executor.storage.tables.access import invitations
from executor.storage.tables.core import accounts, actors, workspaces
from executor.storage.upserts import insert_missing


def agent(c: Connection, workspace_id: str, issuer: str, subject: str) -> tuple[Actor, bool] | None:
    """With whether an operator has revoked it."""
    mine = (actors.c.workspace_id == workspace_id, actors.c.issuer == issuer, actors.c.subject == subject)
    row = c.execute(sa.select(actors).where(*mine, actors.c.kind == "agent")).first()
    return (Actor(row.id, row.workspace_id, row.kind, row.name), row.revoked_at is not None) if row else None


def add_agent(c: Connection, workspace_id: str, issuer: str, subject: str, name: str) -> Actor:
    made = Actor(new_id("act"), workspace_id, "agent", name)
    row = {"id": made.id, "workspace_id": workspace_id, "kind": "agent", "name": name, "created_at": now_ms()}
    if insert_missing(c, actors, {**row, "issuer": issuer, "subject": subject}):
        return made
    found = agent(c, workspace_id, issuer, subject)  # someone else has just added it
    return found[0] if found is not None else made


def count_agents(c: Connection, workspace_id: str) -> int:
    mine = (actors.c.workspace_id == workspace_id, actors.c.issuer != "")
    return int(c.execute(sa.select(sa.func.count()).select_from(actors).where(*mine)).scalar_one())


def revoke_agent(c: Connection, workspace_id: str, actor_id: str, at: int) -> bool:
    """False for one that is revoked already, or that no issuer vouches for."""
    mine = (actors.c.workspace_id == workspace_id, actors.c.id == actor_id, actors.c.issuer != "")
    return c.execute(sa.update(actors).where(*mine, actors.c.revoked_at.is_(None)).values(revoked_at=at)).rowcount == 1


def has_workspace(c: Connection, workspace_id: str) -> bool:
    return c.execute(sa.select(workspaces.c.id).where(workspaces.c.id == workspace_id)).first() is not None


def account(c: Connection, issuer: str, subject: str) -> tuple[Account, bool] | None:
    """With whether it was disabled."""
    mine = (accounts.c.issuer == issuer, accounts.c.subject == subject)
    row = c.execute(sa.select(accounts).where(*mine)).first()
    return (Account(row.id, row.name, row.email), row.disabled_at is not None) if row else None


def add_account(c: Connection, issuer: str, subject: str, name: str, email: str) -> Account:
    made = Account(new_id("acc"), name, email)
    row = {"id": made.id, "name": name, "email": email, "created_at": now_ms()}
    if insert_missing(c, accounts, {**row, "issuer": issuer, "subject": subject}):
        return made
    found = account(c, issuer, subject)  # someone else has just added it
    return found[0] if found is not None else made


def was_member(c: Connection, account_id: str) -> bool:
    """Whether it has ever come in as a member: then it is one no more because someone removed it."""
    return c.execute(sa.select(actors.c.id).where(actors.c.account_id == account_id).limit(1)).first() is not None


def invitation(c: Connection, email: str, now: int) -> Invitation | None:
    """The first open one for this address, whichever organization it is of."""
    query = sa.select(invitations.c.organization_id).where(sa.func.lower(invitations.c.email) == email.lower())
    for organization_id in c.execute(query.distinct().order_by(invitations.c.organization_id)).scalars():
        for one in listed(c, organization_id):
            if one.email.lower() == email.lower() and one.status(now) == "open":
                return one
    return None


def use_invitation(c: Connection, one: Invitation, account_id: str, now: int) -> bool:
    mine = (invitations.c.organization_id == one.organization_id, invitations.c.id == one.id)
    unspent = (invitations.c.accepted_at.is_(None), invitations.c.revoked_at.is_(None), invitations.c.expires_at > now)
    spent = sa.update(invitations).where(*mine, *unspent).values(accepted_at=now, accepted_by=account_id)
    return c.execute(spent).rowcount == 1
