"""Artifacts whose content is in the object store, and those that can go there.

The row is the truth: what no row names may be removed from the store, and what a row names is there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.artifact import Artifact
from executor.model.execution import FINAL
from executor.model.ids import now_ms
from executor.storage.executions.files import FORM
from executor.storage.tables.core import IN_OBJECT, IN_ROWS, OLD_OBJECT, artifacts, chunks, executions, object_prefixes

BATCH = 16
_a, _p = artifacts.c, object_prefixes.c


def find_movable(c: Connection, least: int, but: Collection[str] = ()) -> list[Artifact]:
    """The largest first, of executions that have ended: until then the journal has its results to itself."""
    is_over = sa.exists().where(executions.c.id == _a.execution_id, executions.c.status.in_(FINAL))
    query = sa.select(artifacts).where(IN_ROWS, _a.size >= least, _a.id.not_in(but), is_over)
    return _every(c, query.order_by(_a.size.desc()).limit(BATCH))


def attach(c: Connection, artifact: Artifact, key: str) -> bool:
    """From now on the content is in the store. False if it was deleted meanwhile.

    The rows of a file are removed afterwards, a part at a time.
    """
    is_file = artifact.form == FORM
    same = (_a.id == artifact.id,) if is_file else (_a.digest == artifact.digest, _a.form != FORM)
    mine = (_a.workspace_id == artifact.workspace_id, _a.execution_id == artifact.execution_id)
    if c.execute(sa.update(artifacts).where(IN_ROWS, *mine, *same).values(object_key=key)).rowcount == 0:
        return False
    if not is_file:
        rows = (chunks.c.execution_id == artifact.execution_id, chunks.c.digest == artifact.digest)
        c.execute(sa.delete(chunks).where(chunks.c.workspace_id == artifact.workspace_id, *rows))
    return True


def find_moved_rows(c: Connection) -> list[Artifact]:
    """Files that were moved, and that still have rows."""
    has_rows = sa.exists().where(chunks.c.execution_id == _a.execution_id, chunks.c.digest == _a.id)
    return _every(c, sa.select(artifacts).where(IN_OBJECT, _a.form == FORM, has_rows).limit(BATCH))


def find_removable(c: Connection, begun_before: int) -> list[Artifact]:
    """Deleted ones, and those whose upload began before that time and never ended: their digest is not known."""
    is_due = sa.or_(_a.digest != _a.id, _a.created_at < begun_before)
    return _every(c, sa.select(artifacts).where(OLD_OBJECT, is_due).order_by(_a.deleted_at).limit(BATCH))


def detach(c: Connection, artifact: Artifact) -> None:
    """The object is gone."""
    gone = (_a.id == artifact.id, _a.workspace_id == artifact.workspace_id, _a.deleted_at.is_not(None))
    c.execute(sa.update(artifacts).where(*gone).values(object_key=None, preview=""))


def find_known(c: Connection, keys: Sequence[str]) -> set[str]:
    return set(c.execute(sa.select(_a.object_key).where(IN_OBJECT, _a.object_key.in_(keys))).scalars())


def find_any(c: Connection) -> Artifact | None:
    query = sa.select(artifacts).where(IN_OBJECT, _a.deleted_at.is_(None)).order_by(_a.object_key).limit(1)
    return next(iter(_every(c, query)), None)


# The prefix of a store.
def find_tokens(c: Connection, location: str) -> tuple[str, str, int] | None:
    """The token, the one before it, and when the prefix was swept."""
    row = c.execute(sa.select(_p.token, _p.last_token, _p.swept_at).where(_p.location == location)).first()
    return (row.token, row.last_token, row.swept_at) if row else None


def save_token(c: Connection, location: str, token: str, last_token: str) -> None:
    values = {"token": token, "last_token": last_token, "swept_at": now_ms()}
    if c.execute(sa.update(object_prefixes).where(_p.location == location).values(**values)).rowcount == 0:
        c.execute(sa.insert(object_prefixes), {"location": location, **values})


def _every(c: Connection, query: sa.Select[tuple[object, ...]]) -> list[Artifact]:
    return [Artifact(**row._mapping) for row in c.execute(query)]
