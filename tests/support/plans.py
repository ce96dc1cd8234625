"""Which statements would cost more the more there is: judged by the plan that SQLite makes for them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

GROWING = ("executions", "calls", "events", "interactions", "artifacts", "chunks")
# One of these names a row, or the rows of one execution; anything else may be true of every row there is.
NAMING = ("id=?", "execution_id=?", "rowid=?")
_SCAN = re.compile(r"SCAN (\w+)")
_SEARCH = re.compile(r"SEARCH (\w+) USING (?:COVERING )?(?:INDEX (\w+)|.*?) ?\((.*)\)")
_ONE_STEP = re.compile(r"(UPDATE \w+ SET \w+=\()?SELECT (min|max)\(", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"(?:\bSET|,) \w+=\?")  # comparisons have spaces


@dataclass
class Recorded:
    """Statements with the parameters of the first time that each was run."""

    statements: dict[str, Any] = field(default_factory=dict)


@contextmanager
def recording(engine: Engine) -> Iterator[Recorded]:
    recorded = Recorded()

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        recorded.statements.setdefault(statement, parameters)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield recorded
    finally:
        event.remove(engine, "before_cursor_execute", note)


def costs(database: sqlite3.Connection, statement: str, parameters: Any) -> list[str]:
    """Why this statement has no bound; empty if it has one."""
    if not re.match(r"\s*(SELECT|UPDATE|DELETE|WITH)", statement, re.IGNORECASE):
        return []
    values = parameters[0] if isinstance(parameters, list) else parameters
    plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    columns = {name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")] for name in GROWING}
    indexes = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"))
    return list(_faults(statement, plan, columns, indexes))


def _compared_columns(statement: str, table: str, columns: list[str]) -> list[str]:
    """Columns of the table that are compared with a value: an index that leaves one out may pass every row."""
    compared = _ASSIGNMENT.sub("", statement)
    written = re.findall(r"(\w+\.)?(\w+)\s*(?:[=<>]+|IN|LIKE|IS)\s*(?:\?|'|\d|\()", compared)
    return [name for owner, name in written if owner in ("", f"{table}.") and name in columns]


def _faults(
    statement: str, plan: Sequence[str], columns: dict[str, list[str]], indexes: dict[str, str]
) -> Iterator[str]:
    """A partial index holds no row of another kind: the comparisons that define it are met by all it has."""
    walks = False
    for step in plan:
        if (scan := _SCAN.match(step)) and scan[1] in GROWING:
            yield f"reads all of {scan[1]}: {step}"
        search = _SEARCH.match(step)
        if search and search[1] in GROWING and not any(key in search[3].split(" AND ") for key in NAMING):
            walks = True
            if "LIMIT" not in statement and not _ONE_STEP.match(statement):
                yield f"walks without a limit: {step}"
            for name in _compared_columns(statement, search[1], columns[search[1]]):
                defines = re.search(rf"\b{name}\b", indexes.get(search[2] or "", "").partition(" WHERE ")[2])
                if not defines and not re.search(rf"\b{name}[=<>]", search[3]):
                    yield f"walks past rows of another {name}: {step}"
    if walks and any("TEMP B-TREE" in step for step in plan):
        yield f"sorts what it walks: {plan}"
