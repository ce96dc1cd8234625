"""What SQLite's planner knows of the large tables.

Every list has its index without it. What bites: statistics from when a table was small make SQLite read all of it, and
continue doing so when it has grown. So a table has none until it is large.
"""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.storage.integrity import LARGE

ENOUGH = 10_000  # rows
LOOKED_AT = 400  # rows of each index, so that the cost has a bound however much there is


def refresh(c: Connection) -> None:
    if c.dialect.name != "sqlite":
        return
    c.exec_driver_sql(f"PRAGMA analysis_limit={LOOKED_AT}")
    for table in LARGE:
        rows = c.exec_driver_sql(f"SELECT max(rowid) FROM {table}").scalar()  # noqa: S608 - a name of ours
        if rows is not None and rows >= ENOUGH:
            c.exec_driver_sql(f"ANALYZE {table}")
