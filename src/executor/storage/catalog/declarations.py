"""What a configuration has made: which entry, what became of it, and the entry's digest when it was applied."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.declaration import Declaration
from executor.model.ids import now_ms
from executor.storage.tables.core import declarations
from executor.storage.upserts import upsert


def listing(c: Connection, workspace_id: str) -> dict[tuple[str, str], Declaration]:
    """By noun and name."""
    query = sa.select(declarations).where(declarations.c.workspace_id == workspace_id)
    rows = c.execute(query.order_by(declarations.c.noun, declarations.c.name))
    return {
        (row.noun, row.name): Declaration(row.noun, row.name, row.origin, row.resource_id, row.digest) for row in rows
    }


def of_source(c: Connection, workspace_id: str, source_id: str) -> Declaration | None:
    made = (one for one in listing(c, workspace_id).values() if one.noun == "source")
    return next((one for one in made if one.resource_id == source_id), None)


def put(c: Connection, workspace_id: str, made: Declaration) -> None:
    values = {"noun": made.noun, "name": made.name, "origin": made.origin, "resource_id": made.resource_id}
    row = {**values, "workspace_id": workspace_id, "digest": made.digest, "applied_at": now_ms()}
    upsert(c, declarations, ("workspace_id", "noun", "name"), row)


def remove(c: Connection, workspace_id: str, noun: str, name: str) -> None:
    t = declarations.c
    c.execute(sa.delete(declarations).where(t.workspace_id == workspace_id, t.noun == noun, t.name == name))
