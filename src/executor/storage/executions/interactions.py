"""Interactions: decisions that humans must make. Settling one is possible once; using its answer is possible once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import Fenced
from executor.model.ids import now_ms
from executor.model.interaction import Binding, Interaction
from executor.storage import scan
from executor.storage.prepared_statements import Prepared
from executor.storage.rows import FLAG, JSON, OPTIONAL_ID, RowMapper, Stored, dump, expect_one, load, read_fields
from executor.storage.scan import Fetch, Page, Unindexed, fetching, stream_of
from executor.storage.tables.core import calls, executions, interactions
from executor.storage.tables.sessions import agent_sessions

COUNTED = 10_000
LAST = "~"  # above every id
_binding = Stored(lambda binding: dump(asdict(binding)), lambda text: read_fields(Binding, load(text)))
_rows = RowMapper(
    Interaction, binding=_binding, prompt=JSON, used=FLAG, execution_id=OPTIONAL_ID, session_id=OPTIONAL_ID
)
_i = interactions.c
_id = _i.id == sa.bindparam("key")
_all = stream_of(interactions, _i.id, _i.workspace_id)
_of_status = stream_of(interactions, _i.id, _i.workspace_id, _i.status)
_of_one = stream_of(interactions, _i.id, _i.execution_id, Unindexed(_i.workspace_id))
_last_number = sa.select(sa.func.max(_i.number)).where(
    _i.execution_id == sa.bindparam("execution_id"), Unindexed(_i.workspace_id) == sa.bindparam("workspace_id")
)
_next_number = sa.func.coalesce(_last_number.scalar_subquery(), sa.literal_column("0")) + sa.literal_column("1")
_columns = {column.name: sa.bindparam(column.name, type_=column.type) for column in _i if column.name != "number"}
_insert = Prepared(sa.insert(interactions).values(_columns | {"number": _next_number}))
_SETTLED = ("status", "settled_at", "settled_by", "settled_from", "scope", "reason", "result")
_settle = Prepared(
    sa.update(interactions)
    .where(_id, interactions.c.status == sa.literal_column("'pending'"))
    .values({name: sa.bindparam(f"new_{name}") for name in _SETTLED})
)
_open_elicitation = (interactions.c.status == "pending", Unindexed(interactions.c.kind) == "elicitation")
_has_elicitation = Prepared(
    sa.select(sa.literal_column("1"))
    .select_from(interactions)
    .where(_i.execution_id == sa.bindparam("key"), _i.status == sa.literal_column("'pending'"))
    .where(Unindexed(_i.kind) == sa.literal_column("'elicitation'"))
    .limit(sa.literal_column("1"))
    .offset(scan.NONE)
)
_use = Prepared(sa.update(interactions).where(_id, interactions.c.used == sa.false()).values(used=sa.true()))
_execution_of = Prepared(sa.select(_i.execution_id).where(_id, _i.workspace_id == sa.bindparam("workspace")))
_get = Prepared(sa.select(interactions).where(_id, interactions.c.workspace_id == sa.bindparam("workspace")))
_of_execution = Prepared(
    sa.select(interactions).where(interactions.c.execution_id == sa.bindparam("key")).order_by(interactions.c.number)
)


def insert(c: Connection, interaction: Interaction) -> None:
    """Numbered within its execution, whose lock the caller holds: the last one counts, whatever clocks say."""
    _insert.send(c, _rows.values(interaction))


def settle(c: Connection, settled: Interaction) -> bool:
    """False, and nothing changed, for a second one."""
    values = {f"new_{name}": getattr(settled, name) for name in _SETTLED}
    return _settle(c, {"key": settled.id, **values}).rowcount == 1


def forget_result(c: Connection, interaction_id: str) -> None:
    """What someone answered a server, once it has been passed on."""
    c.execute(sa.update(interactions).where(interactions.c.id == interaction_id).values(result=None))


def use(c: Connection, interaction_id: str) -> None:
    """Spend a settled decision. Raises Fenced if it was spent before."""

    def check(done: Any) -> None:
        if done.rowcount != 1:
            raise Fenced(f"the decision {interaction_id} was used before")

    _use.send(c, {"key": interaction_id}, check)


def supersede(c: Connection, interaction_id: str) -> None:
    """A decision that no longer fits its call; another interaction takes its place."""
    done = c.execute(sa.update(interactions).where(interactions.c.id == interaction_id).values(status="superseded"))
    expect_one(done, f"interaction {interaction_id}, which another one takes the place of")


def cancel_pending(c: Connection, execution_id: str) -> list[str]:
    """Close everything an ended execution still asked; the ids that were closed."""
    pending = (interactions.c.execution_id == execution_id, interactions.c.status == "pending")
    ids = [row.id for row in c.execute(sa.select(interactions.c.id).where(*pending))]
    if ids:
        c.execute(sa.update(interactions).where(*pending).values(status="cancelled", settled_at=now_ms()))
    return ids


def has_elicitation(c: Connection, execution_id: str) -> bool:
    """A server asks something: while that is open, a run is alive that keeps the call under way."""
    return _has_elicitation(c, {"key": execution_id}).first() is not None


def list_eliciting(c: Connection) -> list[str]:
    """Executions with an open elicitation."""
    return [row[0] for row in c.execute(sa.select(interactions.c.execution_id).where(*_open_elicitation).distinct())]


def withdraw_elicitations(c: Connection, execution_id: str, reason: str, only: str | None = None) -> list[Interaction]:
    """No one waits for the answer now; those that were closed."""
    wanted = [*_open_elicitation, interactions.c.execution_id == execution_id]
    wanted += [interactions.c.id == only] if only else []
    found = _rows.every(c.execute(sa.select(interactions).where(*wanted)))
    if found:
        values = {"status": "cancelled", "settled_at": now_ms(), "reason": reason}
        c.execute(sa.update(interactions).where(*wanted).values(**values))
    return found


def pending_of_session(c: Connection, session_id: str) -> list[Interaction]:
    mine = (interactions.c.session_id == session_id, interactions.c.status == "pending")
    return _rows.every(c.execute(sa.select(interactions).where(*mine)))


def granted_in_session(c: Connection, session_id: str) -> list[Interaction]:
    """What a human allowed for the rest of a session."""
    mine = (interactions.c.session_id == session_id, interactions.c.status == "approved")
    return _rows.every(c.execute(sa.select(interactions).where(*mine, interactions.c.scope == "session")))


def list_expired(c: Connection, now: int, limit: int = 200) -> list[Interaction]:
    query = sa.select(interactions).where(interactions.c.status == "pending", interactions.c.expires_at <= now)
    return _rows.every(c.execute(query.limit(limit)))


def count_pending(c: Connection) -> list[tuple[str, int, int]]:
    """In all workspaces: each kind, how many there are, and when the oldest was created."""
    t = interactions.c
    query = sa.select(t.kind, sa.func.count(), sa.func.min(t.created_at)).where(t.status == "pending").group_by(t.kind)
    return [(row[0], row[1], row[2]) for row in c.execute(query)]


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
    expect_one(c.execute(changed.values(binding=dump(asdict(binding)))), f"the binding of interaction {interaction_id}")


def get(c: Connection, workspace_id: str, interaction_id: str) -> Interaction | None:
    return _rows.first(_get(c, {"key": interaction_id, "workspace": workspace_id}))


def execution_of(c: Connection, workspace_id: str, interaction_id: str) -> str | None:
    row = _execution_of(c, {"key": interaction_id, "workspace": workspace_id}).first()
    return row.execution_id if row is not None else None


def of_execution(c: Connection, execution_id: str) -> list[Interaction]:
    """In the order in which they were requested."""
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
    """What the stream does not see to. An execution or session knows its actor, and a call its source."""
    found = [interactions.c.status == status] if status and execution_id else []
    if actor_id:
        mine = (executions.c.id == interactions.c.execution_id, Unindexed(executions.c.actor_id) == actor_id)
        agents = (agent_sessions.c.id == interactions.c.session_id, agent_sessions.c.agent_id == actor_id)
        found.append(sa.or_(sa.exists().where(*mine), sa.exists().where(*agents)))
    if source_id:
        asked = (calls.c.execution_id == interactions.c.execution_id, calls.c.seq == interactions.c.call_seq)
        found.append(sa.exists().where(*asked, calls.c.source_id == source_id))
    return found


def _fitting(c: Connection, ids: list[str], rest: list[sa.ColumnElement[bool]]) -> set[str]:
    return {row.id for row in c.execute(sa.select(interactions.c.id).where(interactions.c.id.in_(ids), *rest))}
