"""Invitations into an organization. The link is shown once; only its digest is here."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.access import Invitation
from executor.storage.rows import RowMapper
from executor.storage.tables.access import invitations

_rows = RowMapper(Invitation)


def insert(c: Connection, invitation: Invitation, digest: str) -> None:
    c.execute(sa.insert(invitations), {**_rows.values(invitation), "digest": digest})


def listing(c: Connection, organization_id: str) -> list[Invitation]:
    query = sa.select(invitations).where(invitations.c.organization_id == organization_id)
    return _rows.every(c.execute(query.order_by(invitations.c.id)))


def revoke(c: Connection, organization_id: str, invitation_id: str, at: int) -> bool:
    mine = (invitations.c.organization_id == organization_id, invitations.c.id == invitation_id)
    unspent = (invitations.c.accepted_at.is_(None), invitations.c.revoked_at.is_(None))
    return c.execute(sa.update(invitations).where(*mine, *unspent).values(revoked_at=at)).rowcount == 1


def use(c: Connection, digest: str, now: int) -> Invitation | None:
    """The first time and while it is good; then never again."""
    good = (invitations.c.accepted_at.is_(None), invitations.c.revoked_at.is_(None), invitations.c.expires_at > now)
    wanted = invitations.c.digest == digest
    if c.execute(sa.update(invitations).where(wanted, *good).values(accepted_at=now)).rowcount != 1:
        return None
    return _rows.noun(c.execute(sa.select(invitations).where(wanted)).one())


def mark_accepted(c: Connection, organization_id: str, invitation_id: str, account_id: str) -> None:
    mine = (invitations.c.organization_id == organization_id, invitations.c.id == invitation_id)
    c.execute(sa.update(invitations).where(*mine).values(accepted_by=account_id))
