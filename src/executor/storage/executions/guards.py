"""Guards: one number per organization that rises with every change of what decides whether a call may be sent.

Caches of other processes may be old by as long as a notification takes, or for as long as none arrives. So the number
that a call was judged under is compared in the transaction that journals it. SQLite has one process, and none of this.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.event import REVOKING
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.cluster import guards
from executor.storage.tables.core import workspaces


class Moved(Exception):
    """It is not at the revision that was taken for granted."""


TYPES = (
    *("policy.", "source.", "connection.", "secret.", "client.", "organization."),
    *("member.", "invitation.accepted", "agent.created", *sorted(REVOKING)),
)
_organization = sa.select(workspaces.c.organization_id).where(workspaces.c.id == sa.bindparam("w"))
_read = Prepared(sa.select(guards.c.revision).where(guards.c.organization_id == _organization.scalar_subquery()))


@cache
def _raise() -> sa.Insert:
    """SQLite does without this dialect, which is large."""
    from sqlalchemy.dialects.postgresql import insert

    first = insert(guards).from_select(
        ["organization_id", "revision"],
        sa.select(workspaces.c.organization_id, sa.literal_column("1")).where(workspaces.c.id == sa.bindparam("w")),
    )
    return first.on_conflict_do_update(
        index_elements=[guards.c.organization_id], set_={"revision": guards.c.revision + sa.literal_column("1")}
    )


def read(c: Connection, workspace_id: str) -> int:
    """Of the organization that the workspace belongs to."""
    return int(_read(c, {"w": workspace_id}).scalar() or 0)


def is_at(c: Connection, workspace_id: str, revision: int) -> bool:
    """Where statements travel together, it is taken to be so: if it isn't, the transaction is undone and run again
    without that, and finds out here."""
    if c.info.get("pipeline") is None:
        return read(c, workspace_id) == revision

    def check(found: Any) -> None:
        row = found.fetchone()
        if (row[0] if row is not None else 0) != revision:
            raise Moved

    _read.send(c, {"w": workspace_id}, check)
    return True


def note(c: Connection, workspace_id: str, types: Iterable[str]) -> None:
    """Of events that are about to be committed."""
    if c.dialect.name == "postgresql" and any(type.startswith(TYPES) for type in types):
        c.execute(_raise(), {"w": workspace_id})
