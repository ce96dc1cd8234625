"""Calls: the journal of an execution. Written before anything is sent, and again with the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.execution import Call, CallHead
from executor.model.ids import now_ms
from executor.storage.prepared_statements import Prepared
from executor.storage.rows import OPTIONAL_ID, OPTIONAL_JSON, RowMapper, dump, expecting_one
from executor.storage.scan import NONE
from executor.storage.tables.core import artifacts, calls

PREVIEW = 160
_rows = RowMapper(Call, failure=OPTIONAL_JSON, artifact_id=OPTIONAL_ID)
_insert = Prepared(sa.insert(calls), columns=[column.name for column in calls.c])
_key = (calls.c.execution_id == sa.bindparam("e"), calls.c.seq == sa.bindparam("s"))
_mine = sa.select(calls).where(calls.c.execution_id == sa.bindparam("e"), calls.c.workspace_id == sa.bindparam("w"))
_of_execution = Prepared(_mine.order_by(calls.c.seq))
_first = Prepared(_mine.order_by(calls.c.seq).limit(sa.bindparam("n")).offset(NONE))
_start = Prepared(
    sa.update(calls)
    .where(*_key)
    .values(state=sa.literal_column("'started'"), started_at=sa.bindparam("at"), route=sa.bindparam("new_route"))
)
_ANSWERED = ("state", "result", "failure", "done_seq", "done_ms", "artifact_id")
_answer = Prepared(
    sa.update(calls)
    .where(*_key, calls.c.done_seq.is_(None))
    .values({name: sa.bindparam(f"new_{name}") for name in _ANSWERED})
)


def insert(c: Connection, journalled: Sequence[Call]) -> None:
    if c.dialect.name == "sqlite":
        _insert(c, [_rows.values(call) for call in journalled])
        return
    for call in journalled:
        _insert.send(c, _rows.values(call))


def start(c: Connection, call: Call) -> None:
    values = {"e": call.execution_id, "s": call.seq, "at": now_ms(), "new_route": call.route}
    _start.send(c, values, expecting_one(f"the start of call {call.seq} of {call.execution_id}"))


def answer(c: Connection, call: Call) -> None:
    """Record the answer and its place in delivery order. Raises InternalError unless the call waits for one."""
    values = {f"new_{name}": getattr(call, name) for name in _ANSWERED}
    values["new_failure"] = dump(call.failure) if call.failure is not None else None
    values["new_artifact_id"] = call.artifact_id or None
    values |= {"e": call.execution_id, "s": call.seq}
    _answer.send(c, values, expecting_one(f"the answer of call {call.seq} of {call.execution_id}"))


def close(c: Connection, execution_id: str, unknown: dict[str, Any]) -> list[tuple[int, str]]:
    """The execution has ended: what never went out is abandoned, and a write without an answer fails as `unknown`.

    Returns seq and path of those writes.
    """
    mine = calls.c.execution_id == execution_id
    sent = (mine, calls.c.state == "started", calls.c.kind == "tool", calls.c.effect != "read")
    lost = [(row.seq, row.path) for row in c.execute(sa.select(calls.c.seq, calls.c.path).where(*sent))]
    if lost:
        c.execute(sa.update(calls).where(*sent).values(state="failed", failure=dump(unknown)))
    c.execute(sa.update(calls).where(mine, calls.c.state.in_(("proposed", "started"))).values(state="abandoned"))
    return lost


def of_execution(c: Connection, workspace_id: str, execution_id: str) -> list[Call]:
    return _rows.every(_of_execution(c, {"e": execution_id, "w": workspace_id}))


def first(c: Connection, workspace_id: str, execution_id: str, limit: int) -> list[Call]:
    """No more than `limit` of an execution's calls."""
    return _rows.every(_first(c, {"e": execution_id, "w": workspace_id, "n": limit}))


def one(c: Connection, workspace_id: str, execution_id: str, seq: int) -> Call | None:
    mine = (calls.c.execution_id == execution_id, calls.c.seq == seq, calls.c.workspace_id == workspace_id)
    return _rows.first(c.execute(sa.select(calls).where(*mine)))


def heads(c: Connection, workspace_id: str, execution_id: str) -> list[CallHead]:
    """Every call without what was sent and answered: of that only the beginning and the size are read."""
    columns = [column for column in calls.c if column.name not in ("arguments", "result")]
    begin = sa.func.substr(calls.c.arguments, 1, PREVIEW)
    size = sa.func.coalesce(sa.func.length(calls.c.result), artifacts.c.size)
    query = sa.select(*columns, begin.label("arguments"), sa.null().label("result"), size.label("size"))
    query = query.outerjoin(artifacts, artifacts.c.id == calls.c.artifact_id)
    mine = (calls.c.execution_id == execution_id, calls.c.workspace_id == workspace_id)
    return [CallHead(_rows.noun(row), row.size) for row in c.execute(query.where(*mine).order_by(calls.c.seq))]
