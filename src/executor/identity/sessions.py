"""Browsers: a link that works once lets one sign in, and a cookie keeps it signed in."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.errors import Forbidden, NotFound, Unauthorized
from executor.identity.new_token import LINK, SESSION, digest, mint
from executor.model.identity.access import BrowserSession
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.ids import now_ms
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import browser_sessions, tenancy, workspaces

LINK_MS = 10 * 60_000
SESSION_MS = 14 * 86_400_000
KEPT_MS = 86_400_000
# Anyone who shows a link's token may learn what became of it: no one else knows one.
UNUSABLE = {
    "unknown": ("this link is not valid", "copy the whole link; `executor web` creates a new one"),
    "used": (
        "this link was already used",
        ("if not by you, see `executor login --list`; `executor web` creates a new one"),
    ),
    "expired": ("this link has expired", "links work for ten minutes; `executor web` creates a new one"),
}


async def create_link(database: Database, by: Actor, account_id: str = "") -> tuple[str, int]:
    """The token that goes behind the `#` of a link, and when it expires. For someone else only from an owner."""
    account_id = account_id or by.account_id
    if account_id != by.account_id and not by.may("own"):
        raise Forbidden("only an owner can create a link for someone else", hint="they can create their own")
    minted, at = mint(LINK), now_ms()

    def write(c: Connection) -> None:
        refuse_elsewhere(c, by, account_id)
        if tenancy.human(c, by.workspace_id, account_id) is None:
            raise NotFound(f"there is no member {account_id!r}", hint="see `executor members list`")
        browser_sessions.forget_links(c, at - KEPT_MS)
        browser_sessions.add_link(c, by.workspace_id, account_id, minted.digest, at=at, expires_at=at + LINK_MS)
        events.append(c, by.workspace_id, "session.offered", {"accountId": account_id}, by=by)

    await database.write(write)
    return minted.token, at + LINK_MS


def refuse_elsewhere(c: Connection, by: Actor, account_id: str) -> None:
    """A link lets one act as the account wherever it belongs: so its maker must own all of that, and the machine."""
    if account_id == by.account_id:
        return
    if account_id == tenancy.local_account(c):
        require(by, "signing in as this installation's own account")
    mine = {place.organization.id for place in workspaces.of_account(c, by.account_id) if place.role == "owner"}
    theirs = {place.organization.id for place in workspaces.of_account(c, account_id)}
    if theirs - mine:
        raise Forbidden(
            "they also belong to an organization that you do not own", hint="they can create their own link"
        )


async def sign_in(database: Database, token: str, *, agent: str, address: str) -> tuple[Actor, str, int]:
    """Who came in, the token of the cookie, and when it expires. What is no link is found by reading alone."""
    at = now_ms()
    state = await database.read(lambda c: browser_sessions.link_state(c, digest(token), at))
    if state != "fresh":
        message, hint = UNUSABLE[state]
        raise Unauthorized(message, hint=hint)

    def write(c: Connection) -> tuple[Actor, str, int]:
        used = browser_sessions.use_link(c, digest(token), at)
        actor = tenancy.human(c, *used) if used else None
        if actor is None:
            message, hint = UNUSABLE["unknown" if used else "used"]
            raise Unauthorized(message, hint=hint)
        return open_for(c, actor, agent=agent, address=address, at=at)

    return await database.write(write)


def open_for(c: Connection, actor: Actor, *, agent: str, address: str, at: int) -> tuple[Actor, str, int]:
    """A session for a human who has shown in some way who they are: a link, an invitation, an identity provider."""
    minted, expires_at = mint(SESSION), at + SESSION_MS
    session_id = browser_sessions.open_session(
        c, actor.workspace_id, actor.account_id, minted.digest, agent=agent, at=at, expires_at=expires_at
    )
    came = replace(actor, via="browser", credential_id=session_id, address=address)
    events.append(c, actor.workspace_id, "session.opened", {"sessionId": session_id, "agent": agent[:200]}, by=came)
    return came, minted.token, expires_at


async def listing(database: Database, by: Actor) -> list[BrowserSession]:
    at = now_ms()
    return await database.read(lambda c: browser_sessions.listing(c, by.account_id, at))


async def close(database: Database, by: Actor, session_id: str) -> None:
    at = now_ms()

    def write(c: Connection) -> None:
        if not browser_sessions.close_session(c, by.account_id, session_id, at):
            raise NotFound(f"there is no session {session_id!r}", hint="see `executor login --list`")
        events.append(c, by.workspace_id, "session.closed", {"sessionId": session_id}, by=by)

    await database.write(write)
