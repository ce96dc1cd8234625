"""Tokens of executor processes, by digest."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.sessions.session import SessionToken
from executor.storage.rows import RowMapper
from executor.storage.tables.sessions import session_tokens

_rows = RowMapper(SessionToken)
_t = session_tokens.c


def insert(c: Connection, token: SessionToken, digest: str) -> None:
    c.execute(sa.insert(session_tokens), {**_rows.values(token), "digest": digest})


def by_digest(c: Connection, digest: str, now: int) -> SessionToken | None:
    good = (_t.digest == digest, _t.revoked_at.is_(None), _t.expires_at > now)
    return _rows.first(c.execute(sa.select(session_tokens).where(*good)))


def spend(c: Connection, digest: str, now: int) -> bool:
    """Count one use; false if none is left, or the token is no longer good."""
    good = (_t.digest == digest, _t.revoked_at.is_(None), _t.expires_at > now, _t.uses_left > 0)
    return c.execute(sa.update(session_tokens).where(*good).values(uses_left=_t.uses_left - 1)).rowcount == 1


def revoke(c: Connection, session_id: str, at: int) -> int:
    """All of a session; how many there were."""
    mine = (_t.session_id == session_id, _t.revoked_at.is_(None))
    return c.execute(sa.update(session_tokens).where(*mine).values(revoked_at=at)).rowcount


def sweep(c: Connection, before: int) -> int:
    """Forget those that ended before a time."""
    return c.execute(sa.delete(session_tokens).where(sa.or_(_t.expires_at < before, _t.revoked_at < before))).rowcount
