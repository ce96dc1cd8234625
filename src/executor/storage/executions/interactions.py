"""Interactions: decisions that humans must make. Settling one is possible once; using its answer is possible once."""

from __future__ import annotations

from dataclasses import asdict

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.ids import now_ms
from executor.model.interaction import Binding, Interaction
from executor.storage import scan
from executor.storage.prepared_statements import Prepared
from executor.storage.rows import FLAG, JSON, RowMapper, Stored, dump, load
from executor.storage.scan import Fetch, Page, Unindexed, fetching, stream_of
from executor.storage.tables.core import calls, executions, interactions

COUNTED = 10_000
LAST = "~"  # above every id
_binding = Stored(lambda binding: dump(asdict(binding)), lambda text: Binding(**load(text)))
_rows = RowMapper(Interaction, binding=_binding, prompt=JSON, used=FLAG)
_i = interactions.c
_id = _i.id == sa.bindparam("key")
_all = stream_of(interactions, _i.id, _i.workspace_id)
_of_status = stream_of(interactions, _i.id, _i.workspace_id, _i.status)
_of_one = stream_of(interactions, _i.id, _i.execution_id, Unindexed(_i.workspace_id))
_insert = Prepared(sa.insert(interactions), columns=[column.name for column in interactions.c])
_SETTLED = ("status", "settled_at", "settled_by", "settled_from", "scope", "reason", "result")
_settle = Prepared(
    sa.update(interactions)
    .where(_id, interactions.c.status == sa.literal_column("'pending'"))
    .values({name: sa.bindparam(f"new_{name}") for name in _SETTLED})
)
_use = Prepared(sa.update(interactions).where(_id, interactions.c.used == sa.false()).values(used=sa.true()))
_get = Prepared(sa.select(interactions).where(_id, interactions.c.workspace_id == sa.bindparam("workspace")))
_of_execution = Prepared(
    sa.select(interactions)
    .where(interactions.c.execution_id == sa.bindparam("key"))
    .order_by(interactions.c.created_at, interactions.c.id)
)


def insert(c: Connection, interaction: Interaction) -> None:
    _insert(c, _rows.values(interaction))


def settle(c: Connection, settled: Interaction) -> bool:
    """False, and nothing changed, for a second one."""
    values = {f"new_{name}": getattr(settled, name) for name in _SETTLED}
    return _settle(c, {"key": settled.id, **values}).rowcount == 1


def use(c: Connection, interaction_id: str) -> bool:
    """Spend a settled decision; false if it was spent before."""
    return _use(c, {"key": interaction_id}).rowcount == 1


def supersede(c: Connection, interaction_id: str) -> None:
    """A decision that no longer fits its call; another interaction takes its place."""
    c.execute(sa.update(interactions).where(interactions.c.id == interaction_id).values(status="superseded"))


def cancel_pending(c: Connection, execution_id: str) -> list[str]:
    """Close everything an ended execution still asked; the ids that were closed."""
    pending = (interactions.c.execution_id == execution_id, interactions.c.status == "pending")
    ids = [row.id for row in c.execute(sa.select(interactions.c.id).where(*pending))]
    if ids:
        c.execute(sa.update(interactions).where(*pending).values(status="cancelled", settled_at=now_ms()))
    return ids


def list_expired(c: Connection, now: int, limit: int = 200) -> list[Interaction]:
    query = sa.select(interactions).where(interactions.c.status == "pending", interactions.c.expires_at <= now)
    return _rows.every(c.execute(query.limit(limit)))


def open_by_execution(c: Connection, workspace_id: str, actor_id: str) -> list[tuple[str, int]]:
    """How many decisions an actor's executions wait for: how many open interactions each of them has."""
    mine = (interactions.c.workspace_id == workspace_id, interactions.c.status == "pending")
    joined = sa.select(interactions.c.execution_id, sa.func.count()).join_from(
        interactions, executions, interactions.c.execution_id == executions.c.id
    )
    query = joined.where(*mine, executions.c.actor_id == actor_id).group_by(interactions.c.execution_id)
    return [(row[0], row[1]) for row in c.execute(query)]


def rebind(c: Connection, interaction_id: str, binding: Binding) -> None:
    """A decision that itself changed the policies holds under the policies it made."""
    changed = sa.update(interactions).where(interactions.c.id == interaction_id)
    c.execute(changed.values(binding=dump(asdict(binding))))


def get(c: Connection, workspace_id: str, interaction_id: str) -> Interaction | None:
    return _rows.first(_get(c, {"key": interaction_id, "workspace": workspace_id}))


def of_execution(c: Connection, execution_id: str) -> list[Interaction]:
    return _rows.every(_of_execution(c, {"key": execution_id}))


def was_given(c: Connection, execution_id: str, call_seq: int) -> bool:
    """A human gave a credential, or logged in, for this very call. Its approval, asked afterwards, supersedes that."""
    t = interactions.c
    mine = (t.execution_id == execution_id, t.call_seq == call_seq, t.kind.in_(("credential", "oauth")))
    given = (t.status.in_(("approved", "superseded")), t.settled_at.is_not(None))
    query = sa.select(sa.literal(1)).where(*mine, *given).limit(1)
    return c.execute(query).first() is not None


def page(
    c: Connection, workspace_id: str, *, limit: int = 50, before: str | None = None, **wanted: str | None
) -> Page[Interaction]:
    """Newest first. `wanted` are a `status`, `execution_id`, `actor_id` or `source_id`."""
    rest = _conditions(**wanted)
    fits = (lambda ids: _fitting(c, ids, rest)) if rest else None
    found = scan.page([_stream(c, workspace_id, **wanted)], before or LAST, limit, fits)
    whole = sa.select(interactions).where(interactions.c.id.in_(found))
    rows = _rows.every(c.execute(whole.order_by(interactions.c.id.desc()))) if found else []
    return Page(rows, found.next, partial=found.partial)


def count(c: Connection, workspace_id: str, **wanted: str | None) -> int:
    """Among the newest `COUNTED`."""
    rest = _conditions(**wanted)
    ids = _stream(c, workspace_id, **wanted)(LAST, COUNTED)
    blocks = (ids[start : start + scan.BLOCK] for start in range(0, len(ids), scan.BLOCK))
    return sum(len(_fitting(c, block, rest)) for block in blocks) if rest else len(ids)


def _stream(
    c: Connection, workspace_id: str, *, status: str | None = None, execution_id: str | None = None, **rest: str | None
) -> Fetch[str]:
    if execution_id:
        return fetching(c, _of_one, "", execution_id, workspace_id)
    return fetching(c, _of_status, "", workspace_id, status) if status else fetching(c, _all, "", workspace_id)


def _conditions(
    status: str | None = None,
    execution_id: str | None = None,
    actor_id: str | None = None,
    source_id: str | None = None,
) -> list[sa.ColumnElement[bool]]:
    """What the stream does not see to. Its execution knows the actor of an interaction, and its call the source."""
    found = [interactions.c.status == status] if status and execution_id else []
    if actor_id:
        mine = (executions.c.id == interactions.c.execution_id, Unindexed(executions.c.actor_id) == actor_id)
        found.append(sa.exists().where(*mine))
    if source_id:
        asked = (calls.c.execution_id == interactions.c.execution_id, calls.c.seq == interactions.c.call_seq)
        found.append(sa.exists().where(*asked, calls.c.source_id == source_id))
    return found


def _fitting(c: Connection, ids: list[str], rest: list[sa.ColumnElement[bool]]) -> set[str]:
    return {row.id for row in c.execute(sa.select(interactions.c.id).where(interactions.c.id.in_(ids), *rest))}
