"""Browsers that have signed in, and the links that let one sign in once. Only digests of what they show are here."""

from __future__ import annotations

from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.access import BrowserSession
from executor.model.ids import new_id
from executor.storage.rows import RowMapper
from executor.storage.tables.access import browser_sessions, sign_in_links
from executor.storage.tables.core import members

_rows = RowMapper(BrowserSession)


def open_session(
    c: Connection, workspace_id: str, account_id: str, digest: str, *, agent: str, at: int, expires_at: int
) -> str:
    session_id = new_id("brs")
    session = BrowserSession(session_id, workspace_id, account_id, agent[:200], at, expires_at, at)
    c.execute(sa.insert(browser_sessions), {**_rows.values(session), "digest": digest})
    return session_id


def by_digest(c: Connection, digest: str, now: int) -> BrowserSession | None:
    """One that is still good."""
    mine = (browser_sessions.c.digest == digest, *_good(now))
    return _rows.first(c.execute(sa.select(browser_sessions).where(*mine)))


def listing(c: Connection, account_id: str, now: int) -> list[BrowserSession]:
    """Those of one account that are still good, in whichever workspace they began."""
    mine = (browser_sessions.c.account_id == account_id, *_good(now))
    return _rows.every(c.execute(sa.select(browser_sessions).where(*mine).order_by(browser_sessions.c.id)))


def close_session(c: Connection, account_id: str, session_id: str, at: int) -> bool:
    mine = (browser_sessions.c.account_id == account_id, browser_sessions.c.id == session_id)
    open_ones = sa.update(browser_sessions).where(*mine, browser_sessions.c.revoked_at.is_(None))
    return c.execute(open_ones.values(revoked_at=at)).rowcount == 1


def close_in_workspace(c: Connection, workspace_id: str, account_id: str, at: int) -> None:
    """When a member leaves: also the links that they have not used yet."""
    theirs = (browser_sessions.c.workspace_id == workspace_id, browser_sessions.c.account_id == account_id)
    still_open = browser_sessions.c.revoked_at.is_(None)
    c.execute(sa.update(browser_sessions).where(*theirs, still_open).values(revoked_at=at))
    links = (sign_in_links.c.workspace_id == workspace_id, sign_in_links.c.account_id == account_id)
    c.execute(sa.delete(sign_in_links).where(*links))


def forget_links_of_members(c: Connection, organization_id: str) -> None:
    """When an owner is one no more: they may have created links for anyone, and who created a link is not kept."""
    everyone = sa.select(members.c.account_id).where(members.c.organization_id == organization_id)
    c.execute(sa.delete(sign_in_links).where(sign_in_links.c.account_id.in_(everyone)))


def touch(c: Connection, workspace_id: str, session_id: str, at: int) -> None:
    mine = (browser_sessions.c.workspace_id == workspace_id, browser_sessions.c.id == session_id)
    c.execute(sa.update(browser_sessions).where(*mine).values(last_seen_at=at))


def add_link(c: Connection, workspace_id: str, account_id: str, digest: str, *, at: int, expires_at: int) -> None:
    link = {"digest": digest, "workspace_id": workspace_id, "account_id": account_id}
    c.execute(sa.insert(sign_in_links), {**link, "created_at": at, "expires_at": expires_at})


def use_link(c: Connection, digest: str, now: int) -> tuple[str, str] | None:
    """The workspace and account of the link, the first time and before it expires; then never again."""
    fresh = (sign_in_links.c.digest == digest, sign_in_links.c.used_at.is_(None), sign_in_links.c.expires_at > now)
    if c.execute(sa.update(sign_in_links).where(*fresh).values(used_at=now)).rowcount != 1:
        return None
    row = c.execute(sa.select(sign_in_links).where(sign_in_links.c.digest == digest)).one()
    return row.workspace_id, row.account_id


def link_state(c: Connection, digest: str, now: int) -> Literal["fresh", "unknown", "used", "expired"]:
    row = c.execute(sa.select(sign_in_links).where(sign_in_links.c.digest == digest)).first()
    if row is None:
        return "unknown"
    if row.used_at is not None:
        return "used"
    return "fresh" if row.expires_at > now else "expired"


def forget_links(c: Connection, before: int) -> None:
    """Those that expired long ago."""
    c.execute(sa.delete(sign_in_links).where(sign_in_links.c.expires_at < before))


def _good(now: int) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return browser_sessions.c.revoked_at.is_(None), browser_sessions.c.expires_at > now
