"""Artifacts: what is known of each, and its content in pieces, so that a part of it can be read without the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import NotFound
from executor.model.artifact import Artifact
from executor.model.execution import Call, Execution
from executor.model.ids import now_ms
from executor.storage import scan
from executor.storage.scan import Page, Unindexed, fetching, stream_of
from executor.storage.tables.core import artifacts, chunks, executions

CHUNK = 256 * 1024
LAST = "~"  # above every id
_all = stream_of(artifacts, artifacts.c.id, artifacts.c.workspace_id)
_of_one = stream_of(artifacts, artifacts.c.id, artifacts.c.execution_id, Unindexed(artifacts.c.workspace_id))


def add(c: Connection, artifact: Artifact, content: bytes) -> Artifact:
    """Inside a run's fenced transaction. What is there already is found again, and nothing is written twice."""
    same = sa.select(artifacts).where(
        artifacts.c.workspace_id == artifact.workspace_id,
        artifacts.c.execution_id == artifact.execution_id,
        artifacts.c.call_seq == artifact.call_seq,
        artifacts.c.name == artifact.name,
        artifacts.c.digest == artifact.digest,
        artifacts.c.form == artifact.form,
    )
    row = c.execute(same).first()
    if row is not None:
        return _artifact(row)
    values = {column.name: getattr(artifact, column.name) for column in artifacts.c}
    c.execute(sa.insert(artifacts), values)
    if not _is_stored(c, artifact):
        _store(c, artifact, content)
    return artifact


def get(c: Connection, workspace_id: str, artifact_id: str) -> Artifact | None:
    mine = (artifacts.c.id == artifact_id, artifacts.c.workspace_id == workspace_id)
    row = c.execute(sa.select(artifacts).where(*mine)).first()
    return _artifact(row) if row else None


def page(
    c: Connection,
    workspace_id: str,
    *,
    execution_id: str = "",
    actor_id: str = "",
    toolkit_id: str = "",
    limit: int = 50,
    before: str = "",
) -> Page[Artifact]:
    """Newest first, without what was deleted; with `actor_id` only those of executions that it submitted, with
    `toolkit_id` only of those in the toolkit."""
    rest: list[sa.ColumnElement[bool]] = [artifacts.c.deleted_at.is_(None)]
    for column, value in ((executions.c.actor_id, actor_id), (executions.c.toolkit_id, toolkit_id)):
        if value:
            rest.append(sa.exists().where(executions.c.id == artifacts.c.execution_id, Unindexed(column) == value))

    def fits(ids: list[str]) -> set[str]:
        return {row.id for row in c.execute(sa.select(artifacts.c.id).where(artifacts.c.id.in_(ids), *rest))}

    one = fetching(c, _of_one, "", execution_id, workspace_id)
    found = scan.page([one if execution_id else fetching(c, _all, "", workspace_id)], before or LAST, limit, fits)
    whole = sa.select(artifacts).where(artifacts.c.id.in_(found)).order_by(artifacts.c.id.desc())
    return Page([_artifact(row) for row in c.execute(whole)] if found else [], found.next, partial=found.partial)


def of_execution(c: Connection, workspace_id: str, execution_id: str) -> dict[str, Artifact]:
    """By id, also what was deleted."""
    mine = (artifacts.c.execution_id == execution_id, artifacts.c.workspace_id == workspace_id)
    return {row.id: _artifact(row) for row in c.execute(sa.select(artifacts).where(*mine))}


def files_of_result(c: Connection, result: Artifact, limit: int) -> list[Artifact]:
    """Those in what an execution returned, in the order in which they stand there."""
    mine = (artifacts.c.execution_id == result.execution_id, artifacts.c.workspace_id == result.workspace_id)
    query = sa.select(artifacts).where(*mine, artifacts.c.call_seq == 0, artifacts.c.form == "bytes")
    return [_artifact(row) for row in c.execute(query.order_by(artifacts.c.id).limit(limit))]


def content(c: Connection, artifact: Artifact, start: int = 0, end: int | None = None) -> bytes:
    """The bytes from `start` up to `end`, which must be within it; only the pieces that have them are read.

    Raises NotFound if they are gone: it may be deleted between the moment it was looked up and this one.
    """
    end = artifact.size if end is None else end
    first, last = start // CHUNK, max(start, end - 1) // CHUNK
    query = (
        sa.select(chunks.c.data)
        .where(
            chunks.c.workspace_id == artifact.workspace_id,
            chunks.c.execution_id == artifact.execution_id,
            chunks.c.digest == artifact.content_key,
            chunks.c.seq.between(first, last),
        )
        .order_by(chunks.c.seq)
    )
    pieces = [row.data for row in c.execute(query)]
    if len(pieces) <= last - first:
        raise NotFound(f"the artifact {artifact.id} was deleted", hint="run the code again")
    return b"".join(pieces)[start - first * CHUNK : end - first * CHUNK]


def json_text(c: Connection, workspace_id: str, artifact_id: str) -> str | None:
    """The result that it holds, letter by letter as it was; None if its content was deleted, or is an object."""
    artifact = get(c, workspace_id, artifact_id)
    if artifact is None or artifact.deleted_at is not None or artifact.object_key is not None:
        return None
    try:
        return as_json(artifact, content(c, artifact))
    except NotFound:
        return None


def as_json(artifact: Artifact, content: bytes) -> str:
    text = content.decode()
    return orjson.dumps(text).decode() if artifact.form == "text" else text


def fill_result(c: Connection, found: Execution) -> Execution:
    """With its result, wherever that is kept."""
    if not found.artifact_id:
        return found
    return replace(found, result=json_text(c, found.workspace_id, found.artifact_id))


def filled_calls(c: Connection, found: Sequence[Call]) -> list[Call]:
    return [
        replace(call, result=json_text(c, call.workspace_id, call.artifact_id)) if call.artifact_id else call
        for call in found
    ]


def delete(c: Connection, artifact: Artifact) -> bool:
    """Its content goes, unless another artifact of the execution has the same; that it was there stays known."""
    mine = (artifacts.c.id == artifact.id, artifacts.c.workspace_id == artifact.workspace_id)
    is_file = artifact.form == "file"  # of which only pieces are deleted at a time
    values = {"deleted_at": now_ms(), **({} if is_file else {"preview": ""})}
    gone = sa.update(artifacts).where(*mine, artifacts.c.deleted_at.is_(None)).values(**values)
    if c.execute(gone).rowcount == 0:
        return False
    if is_file:
        return True
    others = sa.select(artifacts.c.id).where(
        artifacts.c.workspace_id == artifact.workspace_id,
        artifacts.c.execution_id == artifact.execution_id,
        artifacts.c.digest == artifact.digest,
        artifacts.c.form != "file",
        artifacts.c.deleted_at.is_(None),
    )
    if c.execute(others.limit(1)).first() is not None:  # which may have the same object
        c.execute(sa.update(artifacts).where(*mine).values(object_key=None))
    else:
        same = (chunks.c.execution_id == artifact.execution_id, chunks.c.digest == artifact.digest)
        c.execute(sa.delete(chunks).where(chunks.c.workspace_id == artifact.workspace_id, *same))
    return True


def _is_stored(c: Connection, artifact: Artifact) -> bool:
    same = (chunks.c.execution_id == artifact.execution_id, chunks.c.digest == artifact.digest)
    query = sa.select(chunks.c.seq).where(chunks.c.workspace_id == artifact.workspace_id, *same)
    return c.execute(query.limit(1)).first() is not None


def _store(c: Connection, artifact: Artifact, content: bytes) -> None:
    owner = {
        "execution_id": artifact.execution_id,
        "digest": artifact.digest,
        "workspace_id": artifact.workspace_id,
    }
    for seq, start in enumerate(range(0, max(1, len(content)), CHUNK)):
        c.execute(sa.insert(chunks), {**owner, "seq": seq, "data": content[start : start + CHUNK]})


def _artifact(row: Any) -> Artifact:
    return Artifact(**row._mapping)
