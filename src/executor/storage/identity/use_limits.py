"""What was chosen for workspaces and actors instead of the default limits."""

from __future__ import annotations

from dataclasses import asdict

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.use_limits import ChosenLimits
from executor.storage.rows import RowMapper
from executor.storage.tables.core import use_limits
from executor.storage.upserts import upsert

_KEY = ("workspace_id", "actor_id")
_rows = RowMapper(ChosenLimits)


def everywhere(c: Connection) -> dict[tuple[str, str], ChosenLimits]:
    """By workspace and actor; that of the workspace itself is empty."""
    return {(row.workspace_id, row.actor_id): _rows.noun(row) for row in c.execute(sa.select(use_limits))}


def of_workspace(c: Connection, workspace_id: str) -> dict[str, ChosenLimits]:
    """By actor; that of the workspace itself is empty."""
    mine = sa.select(use_limits).where(use_limits.c.workspace_id == workspace_id)
    return {row.actor_id: _rows.noun(row) for row in c.execute(mine)}


def save(c: Connection, workspace_id: str, actor_id: str, chosen: ChosenLimits) -> None:
    if chosen == ChosenLimits():
        mine = (use_limits.c.workspace_id == workspace_id, use_limits.c.actor_id == actor_id)
        c.execute(sa.delete(use_limits).where(*mine))
    else:
        upsert(c, use_limits, _KEY, {"workspace_id": workspace_id, "actor_id": actor_id, **asdict(chosen)})
