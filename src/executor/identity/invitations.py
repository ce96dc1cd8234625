"""Invitations: a link, shown once, that makes anyone who opens it a member with a given role."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.errors import Conflict, NotFound, Unauthorized
from executor.identity import sessions
from executor.identity.members import RANKS, refuse_above
from executor.identity.new_token import INVITATION, digest, mint
from executor.model.identity.access import Invitation
from executor.model.identity.actor import Account, Actor
from executor.model.identity.permissions import ROLES, Role
from executor.model.ids import new_id, now_ms
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import invitations, members, tenancy, workspaces

MOST_OPEN = 1000


async def create(database: Database, by: Actor, role: Role, email: str, expires_at: int) -> tuple[Invitation, str]:
    """With the token that goes behind the `#` of its link, this one time."""
    refuse_above(by, role)
    minted, at = mint(INVITATION), now_ms()

    def write(c: Connection) -> Invitation:
        _, organization = workspaces.get(c, by.workspace_id)
        if sum(one.status(at) == "open" for one in invitations.listing(c, organization.id)) >= MOST_OPEN:
            raise Conflict(f"{MOST_OPEN} invitations are already open", hint="revoke those you no longer need")
        made = Invitation(new_id("inv"), organization.id, email, role, by.id, at, expires_at)
        invitations.insert(c, made, minted.digest)
        data = {"invitationId": made.id, "role": role, "email": email}
        events.append(c, by.workspace_id, "invitation.created", data, by=by)
        return made

    return await database.write(write), minted.token


async def listing(database: Database, by: Actor) -> list[Invitation]:
    return await database.read(lambda c: invitations.listing(c, workspaces.get(c, by.workspace_id)[1].id))


async def revoke(database: Database, by: Actor, invitation_id: str) -> Invitation:
    at = now_ms()

    def write(c: Connection) -> Invitation:
        _, organization = workspaces.get(c, by.workspace_id)
        found = next((one for one in invitations.listing(c, organization.id) if one.id == invitation_id), None)
        if found is None:
            raise NotFound(f"there is no invitation {invitation_id!r}", hint="see `executor invitations list`")
        refuse_above(by, found.role)
        if not invitations.revoke(c, organization.id, invitation_id, at):
            raise Conflict(f"invitation {invitation_id} is {found.status(at)}", hint="there is nothing left to do")
        data = {"invitationId": invitation_id, "role": found.role}
        events.append(c, by.workspace_id, "invitation.revoked", data, by=by)
        return replace(found, revoked_at=at)

    return await database.write(write)


async def accept(
    database: Database, token: str, name: str, *, signed_in: Actor | None, agent: str, address: str
) -> tuple[Actor, str, int]:
    """Anyone who is signed in joins with that account; anyone else gets one. The answer is as of a sign-in."""
    at = now_ms()

    def write(c: Connection) -> tuple[Actor, str, int]:
        used = invitations.use(c, digest(token), at)
        if used is None:
            raise Unauthorized("this invitation is unknown, was used or has expired", hint="ask for a new one")
        refuse_departed(c, used)
        account = (members.account(c, signed_in.account_id) if signed_in else None) or _new(c, name, used)
        if members.get(c, used.organization_id, account.id) is not None:
            raise Conflict("you are already a member", hint="someone else can use the invitation")
        members.add(c, used.organization_id, account.id, used.role)
        invitations.mark_accepted(c, used.organization_id, used.id, account.id)
        return _enter(c, used, account, agent=agent, address=address, at=at)

    return await database.write(write)


def refuse_departed(c: Connection, used: Invitation) -> None:
    """Its creator must still be allowed to create it: else it would be their way back after they were removed."""
    for workspace_id in workspaces.ids(c, used.organization_id):
        if (creator := tenancy.actor(c, workspace_id, used.created_by)) is not None:
            role = tenancy.role(c, workspace_id, creator.account_id)
            if role and "manage" in ROLES[role] and RANKS.index(role) >= RANKS.index(used.role):
                return
    raise Unauthorized("the person who created this invitation may no longer invite", hint="ask for a new one")


def _new(c: Connection, name: str, used: Invitation) -> Account:
    return members.add_account(c, name or used.email or "guest", used.email)


def _enter(
    c: Connection, used: Invitation, account: Account, *, agent: str, address: str, at: int
) -> tuple[Actor, str, int]:
    first = workspaces.ids(c, used.organization_id)[0]
    actor = tenancy.human(c, first, account.id)
    if actor is None:  # an account that was disabled
        raise Unauthorized("this account may not sign in", hint="ask the person who invited you")
    came = sessions.open_for(c, actor, agent=agent, address=address, at=at)
    data = {"invitationId": used.id, "accountId": account.id, "role": used.role, "name": account.name}
    events.append(c, first, "invitation.accepted", data, by=came[0])
    return came
