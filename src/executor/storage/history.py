"""Executions as people look for them: newest first, narrowed down, and how many calls each has made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.execution import Execution, Status
from executor.storage.executions import from_row
from executor.storage.tables import calls, executions

Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of an execution; what is left empty is not asked about.

    `tool` is the path of a tool it called, or the beginning of one up to a dot: `shop` is anything of that source.
    """

    actor_id: str = ""
    statuses: tuple[Status, ...] = ()
    language: str = ""
    runtime: str = ""
    tool: str = ""
    text: str = ""
    since: int = 0
    until: int | None = None


def page(
    c: Connection, workspace_id: str, wanted: Wanted, *, limit: int = 50, before: str | None = None
) -> list[Execution]:
    """The ids come first, from an index where one serves: sorting must not read the code of everything it passes."""
    e = executions.c
    found = sa.select(e.id).where(e.workspace_id == workspace_id, *_conditions(workspace_id, wanted))
    if before:
        found = found.where(e.id < before)
    ids = [row.id for row in c.execute(found.order_by(e.id.desc()).limit(limit))]
    whole = sa.select(executions).where(e.workspace_id == workspace_id, e.id.in_(ids))
    return [from_row(row) for row in c.execute(whole.order_by(e.id.desc()))] if ids else []


def call_counts(c: Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, int]:
    """Of tools; timers are no calls to whoever reads."""
    mine = (calls.c.workspace_id == workspace_id, calls.c.execution_id.in_(ids), calls.c.kind == "tool")
    query = sa.select(calls.c.execution_id, sa.func.count()).where(*mine).group_by(calls.c.execution_id)
    return {row[0]: row[1] for row in c.execute(query)}


def _conditions(workspace_id: str, wanted: Wanted) -> Iterator[Condition]:
    e = executions.c
    exact: list[tuple[Any, str]] = [
        (e.actor_id, wanted.actor_id),
        (e.language, wanted.language),
        (e.runtime, wanted.runtime),
    ]
    yield from (column == value for column, value in exact if value)
    if wanted.statuses:
        yield e.status.in_(wanted.statuses)
    if wanted.since:
        yield e.id >= _first_id(wanted.since)
    if wanted.until is not None:
        yield e.id < _first_id(wanted.until)
    if wanted.text:
        # Not LIKE, which takes as many steps for each letter of the code as the text is long.
        yield sa.func.instr(sa.func.lower(e.code), sa.func.lower(wanted.text)) > 0
    if wanted.tool:
        yield e.id.in_(_callers(workspace_id, wanted.tool))


def _callers(workspace_id: str, tool: str) -> sa.Select[tuple[str]]:
    """The executions that called it. The range is what an index can walk; the rest leaves out names like `shop-2`."""
    c = calls.c
    within = (c.path >= tool, c.path < f"{tool}/")  # "/" follows "."
    named = sa.or_(c.path == tool, c.path >= f"{tool}.")
    return sa.select(c.execution_id).where(c.workspace_id == workspace_id, *within, named)


def _first_id(at: int) -> str:
    """An id begins with its time, so a time is a place in the order of ids."""
    return f"exec_{at:012x}"
