"""Executions as people look for them: newest first, narrowed down, and how many calls each has made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.execution import Execution, ExecutionFilter
from executor.storage import scan
from executor.storage.executions.executions import mapper
from executor.storage.prepared_statements import Prepared
from executor.storage.scan import Fetch, Page, Unindexed, fetching, stream_of
from executor.storage.tables.core import calls, executions

Condition = sa.ColumnElement[bool]
LAST = "exec_~"  # above every id
CODE = 400  # characters that a list reads of the code
SERVED = {"runtime": {"runtime", "language"}}  # by an index that knows more than its name says
LIVE = frozenset({"queued", "running", "paused"})
_e, _c = executions.c, calls.c
_all = stream_of(executions, _e.id, _e.workspace_id)
_of_status = stream_of(executions, _e.id, _e.workspace_id, _e.status)
_of_actor = stream_of(executions, _e.id, _e.workspace_id, _e.actor_id)
_of_runtime = stream_of(executions, _e.id, _e.workspace_id, _e.runtime, _e.language)
_next_runtime = Prepared(
    sa.select(_e.runtime, _e.language)
    .where(
        _e.workspace_id == sa.bindparam("w"),
        sa.tuple_(_e.runtime, _e.language) > sa.tuple_(sa.bindparam("runtime"), sa.bindparam("language")),
    )
    .order_by(_e.runtime, _e.language)
    .limit(sa.literal_column("1"))
    .offset(scan.NONE)
)
_calling = stream_of(calls, _c.execution_id, _c.workspace_id, _c.path)
_next_path = Prepared(
    sa.select(sa.func.min(_c.path)).where(
        _c.workspace_id == sa.bindparam("w"), _c.path >= sa.bindparam("after"), _c.path < sa.bindparam("end")
    )
)


def page(
    c: Connection, workspace_id: str, wanted: ExecutionFilter, *, limit: int = 50, before: str | None = None
) -> Page[Execution]:
    """Without results, and with the beginning of the code alone: a list shows no more."""
    asked = _conditions_of(wanted)
    used = _narrowest(wanted)
    served = SERVED.get(used, {used})
    rest = [condition for name, conditions in asked.items() if name not in served for condition in conditions]
    top = min(before or LAST, LAST if wanted.until is None else _first_id(wanted.until))
    streams = list(_streams(c, workspace_id, wanted, used))
    found = scan.page(streams, top, limit, (lambda ids: _fitting(c, ids, rest)) if rest else None)
    return Page(_heads(c, found), found.next, partial=found.partial)


def newest(c: Connection, workspace_id: str, before: str, limit: int) -> list[str]:
    return fetching(c, _all, "", workspace_id)(before, limit)


def call_counts(c: Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, int]:
    """Of tools; timers are no calls to anyone who reads."""
    mine = (Unindexed(_c.workspace_id) == workspace_id, _c.execution_id.in_(ids), _c.kind == "tool")
    query = sa.select(calls.c.execution_id, sa.func.count()).where(*mine).group_by(calls.c.execution_id)
    return {row[0]: row[1] for row in c.execute(query)} if ids else {}


def _conditions_of(wanted: ExecutionFilter) -> dict[str, list[Condition]]:
    """By what it asks about; the time is a range of ids, which every index can bound."""
    asked: dict[str, list[Condition]] = {}
    for name in ("actor_id", "language", "runtime"):
        if value := getattr(wanted, name):
            asked[name] = [_e[name] == value]
    if wanted.toolkit_id:
        asked["toolkit_id"] = [Unindexed(_e.toolkit_id) == wanted.toolkit_id]
    if wanted.statuses:
        asked["status"] = [_e.status.in_(wanted.statuses)]
    if wanted.tool:
        asked["tool"] = []
    if wanted.text:
        # Not LIKE, which takes as many steps for each letter of the code as the text is long.
        asked["text"] = [scan.Position(sa.func.lower(_e.code), sa.func.lower(wanted.text)) > 0]
    return asked


def _narrowest(wanted: ExecutionFilter) -> str:
    """Which of the indexes passes the fewest rows: the first of these that the filter uses."""
    if wanted.tool:
        return "tool"
    if wanted.statuses and LIVE.issuperset(wanted.statuses):
        return "status"
    named = (("actor_id", wanted.actor_id), ("status", wanted.statuses), ("runtime", wanted.runtime or wanted.language))
    return next((name for name, value in named if value), "")


def _streams(c: Connection, workspace_id: str, wanted: ExecutionFilter, used: str) -> Iterator[Fetch[str]]:
    first = _first_id(wanted.since) if wanted.since else ""
    if used == "tool":
        for path in _paths(c, workspace_id, wanted.tool):
            yield fetching(c, _calling, first, workspace_id, path)
    elif used == "status":
        for status in dict.fromkeys(wanted.statuses):
            yield fetching(c, _of_status, first, workspace_id, status)
    elif used == "actor_id":
        yield fetching(c, _of_actor, first, workspace_id, wanted.actor_id)
    elif used == "runtime":
        for runtime, language in _runtimes(c, workspace_id, wanted):
            yield fetching(c, _of_runtime, first, workspace_id, runtime, language)
    else:
        yield fetching(c, _all, first, workspace_id)


def _paths(c: Connection, workspace_id: str, tool: str) -> Iterator[str]:
    """Of what was called: the tool itself, and everything below it."""
    yield tool
    yield from scan.distinct_values(c, _next_path, workspace_id, f"{tool}.", f"{tool}/")  # "/" follows "."


def _runtimes(c: Connection, workspace_id: str, wanted: ExecutionFilter) -> Iterator[tuple[str, str]]:
    """Of what was run: each runtime with each of its languages, one step in the index from one to the next."""
    last = ("", "")
    while row := _next_runtime(c, {"w": workspace_id, "runtime": last[0], "language": last[1]}).first():
        last = (row.runtime, row.language)
        if wanted.runtime in ("", row.runtime) and wanted.language in ("", row.language):
            yield last


def _fitting(c: Connection, ids: list[str], rest: Sequence[Condition]) -> set[str]:
    return {row.id for row in c.execute(sa.select(_e.id).where(_e.id.in_(ids), *rest))}


def _heads(c: Connection, ids: Sequence[str]) -> list[Execution]:
    if not ids:
        return []
    left_out: dict[str, Any] = {"code": sa.func.substr(_e.code, 1, CODE), "result": sa.null()}
    columns = [left_out[column.name].label(column.name) if column.name in left_out else column for column in _e]
    found = {row.id: mapper.noun(row) for row in c.execute(sa.select(*columns).where(_e.id.in_(ids)))}
    return [found[one] for one in ids if one in found]


def _first_id(at: int) -> str:
    """An id begins with its time, so a time is a place in the order of ids."""
    return f"exec_{at:012x}"
