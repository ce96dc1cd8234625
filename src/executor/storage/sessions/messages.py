"""Transcripts: records by session, written again under their ids, followed by sequence and shown by position."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.sessions.session import Message, MessageKind
from executor.storage.rows import JSON, RowMapper
from executor.storage.tables.sessions import NOTICES, session_messages
from executor.storage.upserts import insert_of

_rows = RowMapper(Message, data=JSON)
_m = session_messages.c
UNREAD = '"isRead":false'
BY_NOTICE = "INDEXED BY ix_session_messages_notices"
_REPLACED = ("sequence", "text", "data", "updated_at")


def put(c: Connection, message: Message) -> Message:
    """As it is stored: a record that is there already keeps its position, its task and the time it was created."""
    row = insert_of(c, session_messages).values(_rows.values(message))
    values = {name: row.excluded[name] for name in _REPLACED}
    written = row.on_conflict_do_update(index_elements=["session_id", "id"], set_=values)
    kept = c.execute(written.returning(_m.position, _m.task_id, _m.created_at)).one()
    return replace(message, position=kept.position, task_id=kept.task_id, created_at=kept.created_at)


def append(c: Connection, session_id: str, message_id: str, text: str, sequence: int, at: int) -> None:
    """More text of a record, without writing what it has again."""
    mine = (_m.session_id == session_id, _m.id == message_id)
    longer = {"text": _m.text.concat(text), "sequence": sequence, "updated_at": at}
    c.execute(sa.update(session_messages).where(*mine).values(longer))


def get(c: Connection, session_id: str, message_id: str) -> Message | None:
    mine = (_m.session_id == session_id, _m.id == message_id)
    return _rows.first(c.execute(sa.select(session_messages).where(*mine)))


def of_kind(c: Connection, session_id: str, kind: MessageKind, *, after: int = 0) -> list[Message]:
    """Those with a position above `after`, in the order in which they are shown."""
    mine = (_m.session_id == session_id, _m.position > after, _m.kind == kind)
    return _rows.every(c.execute(sa.select(session_messages).where(*mine).order_by(_m.position)))


def unread_notices(c: Connection, session_id: str, *, after: int) -> list[Message]:
    """Those with a position above `after` that say of themselves that they were not read. Others cost nothing."""
    mine = (_m.session_id == session_id, _m.position > after, NOTICES, _m.data.contains(UNREAD))
    query = sa.select(session_messages).with_hint(session_messages, BY_NOTICE, "sqlite").where(*mine)
    return _rows.every(c.execute(query.order_by(_m.position)))


def newest(c: Connection, session_id: str) -> int:
    """The highest sequence, 0 without any."""
    return int(c.execute(sa.select(sa.func.max(_m.sequence)).where(_m.session_id == session_id)).scalar() or 0)


def count(c: Connection, session_id: str) -> int:
    return int(c.execute(sa.select(sa.func.count()).where(_m.session_id == session_id)).scalar_one())


def size(c: Connection, session_id: str) -> int:
    total = sa.func.sum(sa.func.length(_m.text) + sa.func.length(_m.data))
    return int(c.execute(sa.select(total).where(_m.session_id == session_id)).scalar() or 0)


def after(c: Connection, session_id: str, sequence: int, limit: int) -> list[Message]:
    """In the order in which they last changed."""
    query = sa.select(session_messages).where(_m.session_id == session_id, _m.sequence > sequence)
    return _rows.every(c.execute(query.order_by(_m.sequence).limit(limit)))


def before(c: Connection, session_id: str, position: int, limit: int) -> list[Message]:
    """The last ones below a position, in the order in which they are shown."""
    query = sa.select(session_messages).where(_m.session_id == session_id, _m.position < position)
    return _rows.every(c.execute(query.order_by(_m.position.desc()).limit(limit)))[::-1]


def search(c: Connection, workspace_id: str, text: str, *, session_id: str = "", limit: int = 50) -> list[Message]:
    """Records that contain a text, the newest first."""
    query = sa.select(session_messages).where(_m.workspace_id == workspace_id)
    if session_id:
        query = query.where(_m.session_id == session_id)
    found = sa.or_(_m.text.contains(text, autoescape=True), _m.data.contains(text, autoescape=True))
    return _rows.every(c.execute(query.where(found).order_by(_m.created_at.desc()).limit(limit)))


def copy(c: Connection, session_id: str, to: str) -> None:
    """A session's records for another one."""
    names = [column.name for column in session_messages.c]
    rows = sa.select(*(sa.literal(to).label(name) if name == "session_id" else _m[name] for name in names))
    c.execute(sa.insert(session_messages).from_select(names, rows.where(_m.session_id == session_id)))
