"""What Executor is registered as at authorization servers, and logins that are under way. Secret parts are sealed."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.storage.rows import JSON, RowMapper
from executor.storage.tables.access import oauth_clients, oauth_flows
from executor.storage.upserts import upsert


@dataclass(frozen=True, slots=True)
class ClientRow:
    """`sealed` holds the client's secret, if it has one; `details` how it came about and how it says who it is."""

    id: str
    workspace_id: str
    issuer: str
    redirect_uri: str
    client_id: str
    key_id: str = ""
    sealed: bytes | None = None
    details: dict[str, Any] = field(default_factory=dict)
    created_at: int = 0
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class FlowRow:
    """`browser_digest` is that of the browser's cookie, or of the ticket that lets one browser take it up."""

    state_digest: str
    workspace_id: str
    connection_id: str
    actor_id: str
    browser_digest: str
    key_id: str
    sealed: bytes
    created_at: int
    expires_at: int
    interaction_id: str = ""
    used_at: int | None = None


_clients = RowMapper(ClientRow, details=JSON)
_flows = RowMapper(FlowRow)


def client(c: Connection, workspace_id: str, issuer: str, redirect_uri: str) -> ClientRow | None:
    t = oauth_clients.c
    mine = (t.workspace_id == workspace_id, t.issuer == issuer, t.redirect_uri == redirect_uri)
    return _clients.first(c.execute(sa.select(oauth_clients).where(*mine)))


def client_by_id(c: Connection, workspace_id: str, row_id: str) -> ClientRow | None:
    mine = (oauth_clients.c.workspace_id == workspace_id, oauth_clients.c.id == row_id)
    return _clients.first(c.execute(sa.select(oauth_clients).where(*mine)))


def put_client(c: Connection, client: ClientRow) -> None:
    """In the place of whatever was known for that server and redirect."""
    upsert(c, oauth_clients, ("workspace_id", "issuer", "redirect_uri"), _clients.values(client))


def drop_client(c: Connection, workspace_id: str, row_id: str) -> None:
    mine = (oauth_clients.c.workspace_id == workspace_id, oauth_clients.c.id == row_id)
    c.execute(sa.delete(oauth_clients).where(*mine))


def insert_flow(c: Connection, flow: FlowRow) -> None:
    """Those that are over are forgotten on the way."""
    c.execute(sa.delete(oauth_flows).where(oauth_flows.c.expires_at <= flow.created_at))
    c.execute(sa.insert(oauth_flows), _flows.values(flow))


def flow(c: Connection, state_digest: str, now: int) -> FlowRow | None:
    """One that is neither used nor over."""
    return _flows.first(c.execute(sa.select(oauth_flows).where(*_live(state_digest, now))))


def known_flow(c: Connection, state_digest: str) -> FlowRow | None:
    """Also one that is used or over."""
    return _flows.first(c.execute(sa.select(oauth_flows).where(oauth_flows.c.state_digest == state_digest)))


def spend_flow(c: Connection, state_digest: str, now: int) -> FlowRow | None:
    """The first who asks gets it, and no one after."""
    if c.execute(sa.update(oauth_flows).where(*_live(state_digest, now)).values(used_at=now)).rowcount != 1:
        return None
    return _flows.noun(c.execute(sa.select(oauth_flows).where(oauth_flows.c.state_digest == state_digest)).one())


def by_browser(c: Connection, browser_digest: str, now: int) -> FlowRow | None:
    live = (oauth_flows.c.used_at.is_(None), oauth_flows.c.expires_at > now)
    return _flows.first(c.execute(sa.select(oauth_flows).where(oauth_flows.c.browser_digest == browser_digest, *live)))


def bind_flow(c: Connection, state_digest: str, ticket_digest: str, browser_digest: str) -> bool:
    """From the ticket to the browser that showed it, once."""
    mine = (oauth_flows.c.state_digest == state_digest, oauth_flows.c.browser_digest == ticket_digest)
    return c.execute(sa.update(oauth_flows).where(*mine).values(browser_digest=browser_digest)).rowcount == 1


def replace_flow(c: Connection, state_digest: str, key_id: str, sealed: bytes, *, before: bytes | None = None) -> bool:
    """False, and nothing changed, if it no longer holds what was there `before`."""
    same = [oauth_flows.c.state_digest == state_digest]
    same += [oauth_flows.c.sealed == before] if before is not None else []
    return c.execute(sa.update(oauth_flows).where(*same).values(key_id=key_id, sealed=sealed)).rowcount == 1


def every_client(c: Connection) -> list[ClientRow]:
    return _clients.every(c.execute(sa.select(oauth_clients)))


def every_flow(c: Connection) -> list[FlowRow]:
    return _flows.every(c.execute(sa.select(oauth_flows)))


def reseal_client(c: Connection, row_id: str, key_id: str, sealed: bytes, *, before: bytes) -> bool:
    same = (oauth_clients.c.id == row_id, oauth_clients.c.sealed == before)
    return c.execute(sa.update(oauth_clients).where(*same).values(key_id=key_id, sealed=sealed)).rowcount == 1


def _live(state_digest: str, now: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        oauth_flows.c.state_digest == state_digest,
        oauth_flows.c.used_at.is_(None),
        oauth_flows.c.expires_at > now,
    )
