"""Two sides of a race, one after the other in a known order.

SQLite has one writer, so two write transactions never overlap. PostgreSQL lets the other side commit at any moment
until this side holds a lock that the other needs. The latest such moment is right before this side's first lock or
write, and that is where `interleave` runs the other side: everything that this side read before that is old.
Both share one transaction: if this side fails, the other side is undone too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection

from executor.storage.database import Database

WRITE = re.compile(r"\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+(\w+)", re.IGNORECASE)
LOCK = re.compile(r"\bFROM\s+(\w+).*\bFOR UPDATE\b", re.IGNORECASE | re.DOTALL)


def table_of(statement: str) -> str:
    """The table that a statement locks or writes; empty for one that only reads."""
    found = LOCK.search(statement) or WRITE.match(statement)
    return found.group(1) if found else ""


@contextmanager
def interleave(database: Database, other: Callable[[Connection], Any], before: str = "") -> Iterator[list[str]]:
    """Within it, the first job that locks or writes meets `other` right before. The tables that it takes, in order.

    With `before`, the first that locks or writes this table, or begins with these words: for when nothing it took
    earlier is what `other` needs. A DELETE or UPDATE that finds no row locks nothing.
    """
    taken: list[str] = []
    is_other = has_met = False

    def meet(connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        nonlocal is_other, has_met
        table = table_of(statement)
        if not table or is_other:
            return
        if not has_met and (before in ("", table) or (" " in before and statement.startswith(before))):
            is_other = has_met = True
            other(connection)
            is_other = False
        if table not in taken:
            taken.append(table)

    event.listen(database.engine, "before_cursor_execute", meet)
    try:
        yield taken
    finally:
        event.remove(database.engine, "before_cursor_execute", meet)


@contextmanager
def record_tables(database: Database) -> Iterator[list[str]]:
    """The tables that jobs lock or write within it, in the order in which each is first taken."""
    with interleave(database, lambda c: None) as taken:
        yield taken
