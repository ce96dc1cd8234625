"""Events: append-only. Appending also hands them to the live feed once the transaction is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.event import REVOKING, SUBJECTS, TRACED, Announcement, Event, EventFilter, Revocation
from executor.model.execution import Execution
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.storage import scan
from executor.storage.executions import event_chain, guards
from executor.storage.prepared_statements import Prepared
from executor.storage.rows import JSON, RowMapper, dump, load
from executor.storage.scan import Fetch, Page, Unindexed, fetching, stream_of
from executor.storage.tables.core import BY_TYPE, BY_WORKSPACE, events

if TYPE_CHECKING:
    from executor.storage.postgres.pipeline import Pipeline

By = Actor | Execution | None
_COLUMNS = ("workspace_id", "execution_id", "type", "at", "data", "actor_id", "origin", "seal")
LAST = 2**63 - 1
LOG = "execution.log"
REMARKS = ("call.warned", "call.logged")  # what calls say besides their results
_insert = Prepared(sa.insert(events), columns=_COLUMNS)
_rows = RowMapper(Event, data=JSON)
_e = events.c
_all = stream_of(events, _e.id, _e.workspace_id)
_of_type = stream_of(events, _e.id, _e.workspace_id, _e.type)
_of_execution = stream_of(events, _e.id, _e.execution_id, Unindexed(_e.workspace_id))
_logged = Prepared(
    sa.select(sa.func.count())
    .select_from(events)
    .where(_e.execution_id == sa.bindparam("key"), _e.type == sa.literal_column(f"'{LOG}'"))
)
_remarks = Prepared(
    sa.select(events)
    .where(_e.execution_id == sa.bindparam("key"), _e.type.in_([sa.literal_column(f"'{type}'") for type in REMARKS]))
    .order_by(_e.id)
)
_said = Prepared(
    sa.select(events)
    .where(
        _e.execution_id == sa.bindparam("key"),
        _e.type.in_([sa.literal_column(f"'{type}'") for type in (LOG, *REMARKS)]),
    )
    .order_by(_e.id)
    .limit(sa.bindparam("n"))
    .offset(scan.NONE)
)
_next_type = Prepared(
    sa.select(sa.func.min(_e.type)).where(
        _e.workspace_id == sa.bindparam("w"), _e.type >= sa.bindparam("after"), _e.type < sa.bindparam("end")
    )
)
_at_or_after = Prepared(
    sa.select(_e.id, _e.at)
    .with_hint(events, BY_WORKSPACE, "sqlite")
    .where(_e.workspace_id == sa.bindparam("w"), _e.id >= sa.bindparam("id"))
    .order_by(_e.id)
    .limit(sa.literal_column("1"))
    .offset(scan.NONE)
)


def append(
    c: Connection,
    workspace_id: str,
    type: str,
    data: dict[str, Any],
    execution_id: str = "",
    *,
    by: Actor | Execution | None = None,
) -> None:
    append_all(c, workspace_id, execution_id, [(type, data)], by=by)


def append_all(
    c: Connection,
    workspace_id: str,
    execution_id: str,
    happened: Sequence[tuple[str, dict[str, Any]]],
    *,
    by: Actor | Execution | None = None,
) -> None:
    """Several events of one execution, in order, with one statement. `by` is anyone who brought them about."""
    actor_id, origin = author(by)
    owner = {"workspace_id": workspace_id, "execution_id": execution_id, "at": now_ms(), "actor_id": actor_id}
    rows = [{**owner, "origin": origin, "type": type, "data": dump(data)} for type, data in happened]
    _append(c, workspace_id, rows)
    guards.note(c, workspace_id, (type for type, _ in happened))
    announced: list[Announcement] = c.info.setdefault("new_events", [])
    announced.extend(
        Announcement(workspace_id, execution_id, type) if type not in REVOKING else revocation(workspace_id, type, data)
        for type, data in happened
    )


def _append(c: Connection, workspace_id: str, rows: list[dict[str, Any]]) -> None:
    pipeline: Pipeline | None = c.info.get("pipeline")
    if pipeline is None:
        event_chain.extend(c, workspace_id, rows)
        _insert(c, rows)
        event_chain.settle(c)
        return
    if workspace_id not in pipeline.chained:
        event_chain.ensure(c, workspace_id)
        pipeline.chained.add(workspace_id)
    pipeline.append_events(workspace_id, rows)


def revocation(workspace_id: str, type: str, data: dict[str, Any]) -> Revocation:
    return Revocation(workspace_id, "", type, frozenset(data[name] for name in SUBJECTS if name in data))


def author(by: Actor | Execution | None) -> tuple[str, str]:
    """What a run does is done by anyone who submitted it; what no one asked for is Executor's own."""
    if by is None:
        return "", ""
    return (by.actor_id if isinstance(by, Execution) else by.id), by.origin


def after(
    c: Connection,
    workspace_id: str,
    *,
    execution_id: str | None = None,
    types: Sequence[str] = (),
    after: int = 0,
    limit: int = 500,
) -> list[Event]:
    query = sa.select(events).where(events.c.id > after)
    if execution_id is None:
        query = query.where(events.c.workspace_id == workspace_id).with_hint(events, BY_WORKSPACE, "sqlite")
    else:
        query = query.where(Unindexed(events.c.workspace_id) == workspace_id, events.c.execution_id == execution_id)
    if types:
        query = query.where(sa.or_(*map(_is_of, types)))
    return _rows.every(c.execute(query.order_by(events.c.id).limit(limit)))


def of_types(c: Connection, workspace_id: str, types: Sequence[str], *, after: int, limit: int) -> list[Event]:
    """Those after a position, oldest first. What is between costs nothing: each type is found by an index."""
    ids: list[int] = []
    for type in types:
        mine = (events.c.workspace_id == workspace_id, events.c.type == type, events.c.id > after)
        query = sa.select(events.c.id).with_hint(events, BY_TYPE, "sqlite").where(*mine)
        ids += c.execute(query.order_by(events.c.id).limit(limit)).scalars()
    query = sa.select(events).where(events.c.id.in_(sorted(ids)[:limit]))
    return _rows.every(c.execute(query.order_by(events.c.id)))


def naming(c: Connection, workspace_id: str, types: Sequence[str], text: str, *, since: int) -> list[Event]:
    """Those of a time on that have a text as one of their values, oldest first. There should be few of these types."""
    mine = (events.c.workspace_id == workspace_id, events.c.type.in_(types), Unindexed(events.c.at) >= since)
    query = sa.select(events).with_hint(events, BY_TYPE, "sqlite").where(*mine, events.c.data.contains(f'"{text}"'))
    return _rows.every(c.execute(query.order_by(events.c.id)))


def logs(c: Connection, workspace_id: str, execution_id: str, limit: int = 10_000) -> list[Event]:
    """What the code logged, what its calls warned of, and what servers said during them."""
    query = sa.select(events).where(
        Unindexed(events.c.workspace_id) == workspace_id,
        events.c.execution_id == execution_id,
        Unindexed(events.c.type).in_((LOG, *REMARKS)),
    )
    return _rows.every(c.execute(query.order_by(events.c.id).limit(limit)))


def diagnostics(c: Connection, workspace_id: str, execution_id: str) -> tuple[dict[str, Any], ...]:
    """The warnings of an execution's type check."""
    mine = (Unindexed(events.c.workspace_id) == workspace_id, events.c.execution_id == execution_id)
    query = sa.select(events.c.data).where(*mine, Unindexed(events.c.type) == "execution.checked").order_by(events.c.id)
    return tuple(one for row in c.execute(query) for one in load(row.data).get("diagnostics", ()))


def count_logs(c: Connection, execution_id: str) -> int:
    return int(_logged(c, {"key": execution_id}).scalar())


def remarks(c: Connection, execution_id: str) -> tuple[Event, ...]:
    """Of an execution's calls."""
    return tuple(_rows.every(_remarks(c, {"key": execution_id})))


def first_said(c: Connection, execution_id: str, limit: int) -> list[Event]:
    """No more than `limit` of the lines that the code logged, and of its calls' remarks."""
    return _rows.every(_said(c, {"key": execution_id, "n": limit}))


def latest_trace(c: Connection, execution_id: str) -> dict[str, Any]:
    """Where the trace of an execution was last, if it was traced."""
    mine = (events.c.execution_id == execution_id, Unindexed(events.c.type) == TRACED)
    row = c.execute(sa.select(events.c.data).where(*mine).order_by(events.c.id.desc()).limit(1)).first()
    return load(row.data) if row is not None else {}


def search(
    c: Connection, workspace_id: str, wanted: EventFilter, *, before: int | None = None, limit: int = 100
) -> Page[Event]:
    """Newest first."""
    since, until = wanted.since, wanted.until
    first = _place(c, workspace_id, since) if since else 0
    top = min(LAST if before is None else before, LAST if until is None else _place(c, workspace_id, until))
    rest = [events.c.actor_id == wanted.actor_id] if wanted.actor_id else []
    rest += [events.c.at >= since] if since else []
    rest += [events.c.at < until] if until is not None else []
    streams = list(_streams(c, workspace_id, wanted.type, first))
    found = scan.page(streams, top, limit, (lambda ids: _fitting(c, ids, rest)) if rest else None)
    whole = sa.select(events).where(events.c.id.in_(found)).order_by(events.c.id.desc())
    return Page([_rows.noun(row) for row in c.execute(whole)], found.next, partial=found.partial)


def newest(c: Connection, workspace_id: str, *, execution_id: str | None = None) -> int:
    """The number of the last event, 0 without any."""
    if execution_id is None:
        return next(iter(fetching(c, _all, 0, workspace_id)(LAST, 1)), 0)
    return next(iter(fetching(c, _of_execution, 0, execution_id, workspace_id)(LAST, 1)), 0)


def _streams(c: Connection, workspace_id: str, type: str, first: int) -> Iterator[Fetch[int]]:
    if not type:
        yield fetching(c, _all, first, workspace_id)
    elif type.endswith(".*"):
        for one in scan.distinct_values(c, _next_type, workspace_id, type[:-1], f"{type[:-2]}/"):  # "/" follows "."
            yield fetching(c, _of_type, first, workspace_id, one)
    else:
        yield fetching(c, _of_type, first, workspace_id, type)


def _fitting(c: Connection, ids: list[int], rest: Sequence[sa.ColumnElement[bool]]) -> set[int]:
    return {row.id for row in c.execute(sa.select(events.c.id).where(events.c.id.in_(ids), *rest))}


def _place(c: Connection, workspace_id: str, at: int) -> int:
    """The number of the first event at or after a time, by halving: events are written in the order of the clock.

    Where the clock was set back, the time of the event that halving meets counts.
    """
    low, high = 0, newest(c, workspace_id) + 1
    while low < high:
        middle = (low + high) // 2
        row = _at_or_after(c, {"w": workspace_id, "id": middle}).first()
        if row is None or row.at >= at:
            high = middle
        else:
            low = row.id + 1
    return low


def _is_of(type: str) -> sa.ColumnElement[bool]:
    if type.endswith(".*"):
        return events.c.type.startswith(type[:-1], autoescape=True)
    return events.c.type == type
