"""Rows that are written whether or not they are there, and rows that are locked. Both databases spell these alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Connection


def insert_missing(c: Connection, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """False, and nothing changed, if a row with one of its unique keys is there already."""
    insert = insert_of(c, table).values(**values).on_conflict_do_nothing()
    # psycopg's cursor forgets how many there were when it is closed
    return c.execute(insert, execution_options={"preserve_rowcount": True}).rowcount == 1


def upsert(c: Connection, table: sa.Table, key: Collection[str], values: Mapping[str, Any]) -> None:
    """In the place of the row with the same `key`, if there is one. Two at once leave the later one, never an error."""
    rest = {name: value for name, value in values.items() if name not in key}
    c.execute(insert_of(c, table).values(**values).on_conflict_do_update(index_elements=list(key), set_=rest))


def lock_row(c: Connection, table: sa.Table, row_id: str) -> bool:
    """Until the commit no one else has this lock. What was read before may be old by now. False if it is gone."""
    return c.execute(sa.select(table.c.id).where(table.c.id == row_id).with_for_update()).first() is not None


def insert_of(c: Connection, table: sa.Table) -> Any:
    """With `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if c.dialect.name != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
