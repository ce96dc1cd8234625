"""Members and their roles. No one gives or takes a role above their own, and an organization keeps an owner."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.errors import Conflict, Forbidden, NotFound
from executor.model.identity.actor import Actor, Member
from executor.model.identity.permissions import ROLES, Role
from executor.model.ids import now_ms
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import api_keys, browser_sessions, members, workspaces
from executor.storage.identity.tenancy import Tenancy

RANKS: tuple[Role, ...] = ("viewer", "member", "admin", "owner")


def role_of(actor: Actor) -> Role | None:
    """The highest whose permissions it has all of."""
    held = [role for role in RANKS if all(actor.may(permission) for permission in ROLES[role])]
    return held[-1] if held and actor.kind == "human" else None


def refuse_above(by: Actor, role: Role) -> None:
    own = role_of(by)
    if own is None or RANKS.index(role) > RANKS.index(own):
        raise Forbidden(f"the role {role} is above your own", hint="ask an owner")


async def listing(database: Database, by: Actor) -> list[Member]:
    return await database.read(lambda c: members.listing(c, _organization(c, by)))


async def change(database: Database, local: Tenancy, by: Actor, account_id: str, role: Role) -> Member:
    refuse_above(by, role)

    def write(c: Connection) -> Member:
        organization_id = _organization(c, by)
        workspaces.lock_organization(c, organization_id)
        before = _touchable(c, local, by, organization_id, account_id, leaves_owner=role == "owner")
        if before.role != role:
            members.change(c, organization_id, account_id, role)
            if before.role == "owner":
                browser_sessions.forget_links_of_members(c, organization_id)
            data = {"accountId": account_id, "role": role, "before": before.role}
            events.append(c, by.workspace_id, "member.changed", data, by=by)
        return Member(before.account, role, before.created_at)

    return await database.write(write)


async def remove(database: Database, local: Tenancy, by: Actor, account_id: str) -> Member:
    """With everything they could come back with: keys, sessions, links."""
    at = now_ms()

    def write(c: Connection) -> Member:
        organization_id = _organization(c, by)
        workspaces.lock_organization(c, organization_id)
        before = _touchable(c, local, by, organization_id, account_id, leaves_owner=False)
        members.remove(c, organization_id, account_id)
        for workspace_id in workspaces.ids(c, organization_id):
            for actor_id in members.actors_of(c, workspace_id, account_id):
                api_keys.revoke_of_actor(c, workspace_id, actor_id, at)
            browser_sessions.close_in_workspace(c, workspace_id, account_id, at)
        if before.role == "owner":
            browser_sessions.forget_links_of_members(c, organization_id)
        data = {"accountId": account_id, "role": before.role, "name": before.account.name}
        events.append(c, by.workspace_id, "member.removed", data, by=by)
        return before

    return await database.write(write)


def _touchable(
    c: Connection, local: Tenancy, by: Actor, organization_id: str, account_id: str, *, leaves_owner: bool
) -> Member:
    found = members.get(c, organization_id, account_id)
    if found is None:
        raise NotFound(f"there is no member {account_id!r}", hint="see `executor members list`")
    refuse_above(by, found.role)
    if found.role == "owner" and not leaves_owner:
        if account_id == local.account.id and organization_id == local.organization.id:
            raise Conflict(
                "this installation's own account must stay an owner",
                hint="anyone who can read operator.token acts as it; protect the data directory instead",
            )
        if members.owners(c, organization_id) == 1:
            raise Conflict("the last owner can't be removed", hint="make someone else an owner first")
    return found


def _organization(c: Connection, by: Actor) -> str:
    return workspaces.get(c, by.workspace_id)[1].id
