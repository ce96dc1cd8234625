"""Files that arrive in pieces: artifacts whose content is written over many short transactions.

Until it is complete, such an artifact counts as deleted. What a crash leaves of it goes when the daemon starts again,
and so does the content of those that were deleted.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.artifact import Artifact
from executor.storage.executions import artifacts as kept
from executor.storage.executions.artifacts import CHUNK
from executor.storage.tables.core import LEFT_OVER, artifacts, chunks

FORM = "file"
BATCH = 16  # chunks that one transaction removes, and files that one query finds
_a = artifacts.c


def begin(c: Connection, artifact: Artifact) -> None:
    """Its `digest` is not known yet: until then its id is there."""
    c.execute(sa.insert(artifacts), {column.name: getattr(artifact, column.name) for column in artifacts.c})


def total(c: Connection, execution_id: str) -> int:
    """How many bytes of files an execution has."""
    found = c.execute(sa.select(sa.func.sum(_a.size)).where(_a.execution_id == execution_id, _a.form == FORM)).scalar()
    return int(found or 0)


def append(c: Connection, artifact: Artifact, seq: int, data: bytes) -> None:
    """Whole chunks, except at the end."""
    owner = {"execution_id": artifact.execution_id, "digest": artifact.id, "workspace_id": artifact.workspace_id}
    for number, start in enumerate(range(0, len(data), CHUNK)):
        c.execute(sa.insert(chunks), {**owner, "seq": seq + number, "data": data[start : start + CHUNK]})


def complete(c: Connection, artifact: Artifact) -> Artifact:
    """The same file of the same call may be there from before a crash: then that one is it."""
    same = (_a.execution_id == artifact.execution_id, _a.call_seq == artifact.call_seq, _a.name == artifact.name)
    row = c.execute(sa.select(_a.id).where(*same, _a.digest == artifact.digest, _a.deleted_at.is_(None))).first()
    if row is not None and (found := kept.get(c, artifact.workspace_id, row.id)) is not None:
        return found
    values = {"size": artifact.size, "digest": artifact.digest, "deleted_at": None}
    c.execute(sa.update(artifacts).where(_a.id == artifact.id).values(**values))
    return artifact


def remove_some(c: Connection, artifact: Artifact) -> bool:
    """A part of the content of an artifact that is deleted; true while there is more."""
    if remove_rows(c, artifact):
        return True
    c.execute(sa.update(artifacts).where(_a.id == artifact.id).values(preview=""))
    return False


def remove_rows(c: Connection, artifact: Artifact) -> bool:
    """A part of the content in the database; true if there was any."""
    owner = (chunks.c.workspace_id == artifact.workspace_id, chunks.c.execution_id == artifact.execution_id)
    mine = (*owner, chunks.c.digest == artifact.id)
    found = c.execute(sa.select(chunks.c.seq).where(*mine).order_by(chunks.c.seq.desc()).limit(BATCH)).scalars().all()
    if found:
        c.execute(sa.delete(chunks).where(*mine, chunks.c.seq.in_(found)))
    return bool(found)


def left_over(c: Connection, before: int) -> list[Artifact]:
    """A batch of those begun before that time, deleted or never completed, whose content may still be there."""
    mine = (LEFT_OVER, _a.created_at < before, _a.object_key.is_(None))
    query = sa.select(artifacts).where(*mine).order_by(_a.created_at).limit(BATCH)
    return [Artifact(**row._mapping) for row in c.execute(query)]
