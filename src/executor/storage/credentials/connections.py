"""Connections and what OAuth granted them. Values are never here in the clear."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection as Database

from executor.dataclass import dataclass
from executor.model.credentials import Connection, ConnectionStatus
from executor.model.event import Announcement
from executor.model.ids import now_ms
from executor.storage.rows import JSON, WORDS, RowMapper
from executor.storage.tables.access import connections, grants
from executor.storage.upserts import upsert


@dataclass(frozen=True, slots=True)
class Grant:
    """`sealed` holds the access and refresh tokens. `generation` rises with every refresh."""

    connection_id: str
    workspace_id: str
    generation: int
    key_id: str
    sealed: bytes
    scopes: tuple[str, ...]
    expires_at: int | None


CHANGED = "connection.changed"
_rows = RowMapper(Connection, inputs=JSON, options=JSON)
_grants = RowMapper(Grant, scopes=WORDS)


def announce(c: Database) -> None:
    """Anyone who remembers connections forgets them once this transaction is committed. No event is written."""
    announced: list[Announcement] = c.info.setdefault("new_events", [])
    announced.append(Announcement("", "", CHANGED))


def insert(c: Database, connection: Connection) -> None:
    c.execute(sa.insert(connections), _rows.values(connection))
    announce(c)


def update(c: Database, connection: Connection) -> None:
    """Everything about how it is used; its revision rises, so approvals with the old one are requested again."""
    kept = ("id", "workspace_id", "source_id", "created_by", "created_at", "last_used_at")
    values = {name: value for name, value in _rows.values(connection).items() if name not in kept}
    raised = {**values, "revision": connections.c.revision + 1, "updated_at": now_ms()}
    c.execute(sa.update(connections).where(connections.c.id == connection.id).values(**raised))
    announce(c)


def set_status(
    c: Database, connection_id: str, status: ConnectionStatus, error: str = "", *, revision: int | None = None
) -> bool:
    """With `revision`, only if it is still that one. Says whether it was."""
    values = {"status": status, "error": error, "updated_at": now_ms()}
    meant = sa.update(connections).where(connections.c.id == connection_id)
    if revision is not None:
        meant = meant.where(connections.c.revision == revision)
    found = c.execute(meant.values(**values)).rowcount == 1
    announce(c)
    return found


def raise_revision(c: Database, connection_id: str) -> None:
    """One of its values has changed: what was approved with the old one needs approval again."""
    values = {"revision": connections.c.revision + 1, "updated_at": now_ms()}
    c.execute(sa.update(connections).where(connections.c.id == connection_id).values(**values))
    announce(c)


def get(c: Database, workspace_id: str, connection_id: str) -> Connection | None:
    mine = (connections.c.workspace_id == workspace_id, connections.c.id == connection_id)
    return _rows.first(c.execute(sa.select(connections).where(*mine)))


def find_named(c: Database, source_id: str, actor_id: str, name: str) -> Connection | None:
    mine = (connections.c.source_id == source_id, connections.c.actor_id == actor_id, connections.c.name == name)
    return _rows.first(c.execute(sa.select(connections).where(*mine)))


def of_source(c: Database, source_id: str) -> list[Connection]:
    query = sa.select(connections).where(connections.c.source_id == source_id)
    return _rows.every(c.execute(query.order_by(connections.c.actor_id.desc(), connections.c.id)))


def listing(c: Database, workspace_id: str) -> list[Connection]:
    query = sa.select(connections).where(connections.c.workspace_id == workspace_id).order_by(connections.c.id)
    return _rows.every(c.execute(query))


def using(c: Database, workspace_id: str, secret_id: str) -> list[Connection]:
    """The connections that name a secret."""
    return [one for one in listing(c, workspace_id) if secret_id in one.inputs.values()]


def delete(c: Database, workspace_id: str, connection_id: str) -> bool:
    mine = (connections.c.workspace_id == workspace_id, connections.c.id == connection_id)
    announce(c)
    return c.execute(sa.delete(connections).where(*mine)).rowcount == 1


def touch(c: Database, connection_id: str, at: int) -> None:
    c.execute(sa.update(connections).where(connections.c.id == connection_id).values(last_used_at=at))


def grant(c: Database, connection_id: str) -> Grant | None:
    return _grants.first(c.execute(sa.select(grants).where(grants.c.connection_id == connection_id)))


def store_grant(c: Database, grant: Grant) -> None:
    """A new one, from a human's consent: whatever was there is replaced."""
    upsert(c, grants, ("connection_id",), _without_claim(grant))


def claim_refresh(c: Database, connection_id: str, generation: int, owner: str, now: int, until: int) -> bool:
    """Only one may refresh a generation at a time; a claim whose owner died runs out, by the server's clock if it has
    one: those of two machines may differ by more than a claim lasts."""
    if c.dialect.name == "postgresql":
        there = int(c.execute(sa.text("SELECT extract(epoch FROM clock_timestamp()) * 1000")).scalar_one())
        now, until = there, there + until - now
    free = sa.or_(grants.c.refresh_until <= now, grants.c.refresh_owner == owner)
    mine = (grants.c.connection_id == connection_id, grants.c.generation == generation, free)
    claimed = {"refresh_owner": owner, "refresh_until": until}
    return c.execute(sa.update(grants).where(*mine).values(**claimed)).rowcount == 1


def finish_refresh(c: Database, grant: Grant, owner: str) -> bool:
    """The next generation, if the claim is still valid."""
    mine = (grants.c.connection_id == grant.connection_id, grants.c.generation == grant.generation - 1)
    values = _without_claim(grant)
    done = c.execute(sa.update(grants).where(*mine, grants.c.refresh_owner == owner).values(**values))
    return done.rowcount == 1


def release_refresh(c: Database, connection_id: str, owner: str) -> None:
    mine = (grants.c.connection_id == connection_id, grants.c.refresh_owner == owner)
    c.execute(sa.update(grants).where(*mine).values(refresh_owner="", refresh_until=0))


def _without_claim(grant: Grant) -> dict[str, Any]:
    return {**_grants.values(grant), "updated_at": now_ms(), "refresh_owner": "", "refresh_until": 0}


def every_grant(c: Database) -> list[Grant]:
    return _grants.every(c.execute(sa.select(grants)))


def reseal_grant(c: Database, grant: Grant, key_id: str, sealed: bytes) -> bool:
    """The same tokens under another key: no new generation. False, and nothing changed, if they are others by now."""
    same = (grants.c.connection_id == grant.connection_id, grants.c.sealed == grant.sealed)
    return c.execute(sa.update(grants).where(*same).values(key_id=key_id, sealed=sealed)).rowcount == 1
