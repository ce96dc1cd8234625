"""What SQLite's planner knows of the tables. Every list has its index without it; other joins are planned better."""

from __future__ import annotations

from sqlalchemy.engine import Connection

ROWS = 400  # looked at of each index, so that the cost has a bound however much there is


def refresh(c: Connection) -> None:
    if c.dialect.name == "sqlite":
        c.exec_driver_sql(f"PRAGMA analysis_limit={ROWS}")
        c.exec_driver_sql("ANALYZE")
