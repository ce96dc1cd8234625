"""Clients' own names for what they submitted: one execution for each name of an actor."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.execution import Execution
from executor.storage.tables.core import submissions


def insert(c: Connection, execution: Execution, key: str, digest: str) -> None:
    owner = {"actor_id": execution.actor_id, "workspace_id": execution.workspace_id, "execution_id": execution.id}
    c.execute(sa.insert(submissions), {**owner, "key": key, "digest": digest})


def find(c: Connection, workspace_id: str, actor_id: str, key: str) -> tuple[str, str] | None:
    """The execution it started, and the digest of what was submitted."""
    named = (submissions.c.actor_id == actor_id, submissions.c.key == key)
    mine = (submissions.c.workspace_id == workspace_id, *named)
    row = c.execute(sa.select(submissions).where(*mine)).first()
    return (row.execution_id, row.digest) if row else None
