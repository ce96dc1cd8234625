"""Moving what was written into the database file, beside the writer instead of in one of its commits."""

from __future__ import annotations

from sqlalchemy.engine import Connection


def checkpoint(c: Connection) -> None:
    """For whoever writes much. Else some commit has to do it, and everything that is queued behind waits.

    It waits for nobody and stops nobody: what a reader still needs stays where it is.
    """
    if c.dialect.name == "sqlite":
        c.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
