"""Organizations and workspaces: who makes and names them."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.errors import Conflict, NotFound
from executor.model.identity.actor import Actor, Organization, Place, Separation, SeparationChoice, Workspace
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.executions import separation as separations
from executor.storage.identity import members, tenancy, workspaces

MOST = 100


async def listing(database: Database, by: Actor) -> list[Place]:
    """Those that the account belongs to; a credential of one workspace sees that one."""
    found = await database.read(lambda c: workspaces.of_account(c, by.account_id)) if by.account_id else []
    everywhere = by.is_in_person
    return [place for place in found if everywhere or place.workspace.id == by.workspace_id]


async def current(database: Database, by: Actor) -> tuple[Workspace, Organization]:
    return await database.read(lambda c: workspaces.get(c, by.workspace_id))


async def create(database: Database, by: Actor, name: str) -> Workspace:
    """In the organization of the workspace that one acts in."""

    def write(c: Connection) -> Workspace:
        _, organization = workspaces.get(c, by.workspace_id)
        workspaces.lock_organization(c, organization.id)
        _refuse_taken(c, organization, name)
        if len(workspaces.ids(c, organization.id)) >= MOST:
            raise Conflict(f"this organization already has {MOST} workspaces", hint="use an existing one")
        made = workspaces.create(c, organization.id, name)
        tenancy.human(c, made.id, by.account_id)
        data = {"workspaceId": made.id, "name": name}
        events.append(c, by.workspace_id, "workspace.created", data, by=by)
        return made

    return await database.write(write)


async def rename(database: Database, by: Actor, workspace_id: str, name: str) -> Workspace:
    def write(c: Connection) -> Workspace:
        _, organization = workspaces.get(c, by.workspace_id)
        workspaces.lock_organization(c, organization.id)
        if workspace_id not in workspaces.ids(c, organization.id):
            raise NotFound(f"there is no workspace {workspace_id!r}", hint="see `executor workspaces list`")
        before, _ = workspaces.get(c, workspace_id)
        if before.name != name:
            _refuse_taken(c, organization, name)
            workspaces.rename(c, organization.id, workspace_id, name)
            data = {"workspaceId": workspace_id, "name": name, "before": before.name}
            events.append(c, by.workspace_id, "workspace.renamed", data, by=by)
        return Workspace(workspace_id, organization.id, name)

    return await database.write(write)


async def create_organization(database: Database, by: Actor, name: str) -> Place:
    """With a first workspace, and the one who asks as its owner."""

    def write(c: Connection) -> Place:
        mine = {place.organization.id for place in workspaces.of_account(c, by.account_id)}
        if len(mine) >= MOST:
            raise Conflict(f"you already belong to {MOST} organizations", hint="use an existing one")
        organization = workspaces.create_organization(c, name)
        members.add(c, organization.id, by.account_id, "owner")
        made = workspaces.create(c, organization.id, "default")
        tenancy.human(c, made.id, by.account_id)
        data = {"organizationId": organization.id, "name": name, "workspaceId": made.id}
        events.append(c, by.workspace_id, "organization.created", data, by=by)
        return next(place for place in workspaces.of_account(c, by.account_id) if place.workspace.id == made.id)

    return await database.write(write)


async def rename_organization(database: Database, by: Actor, organization_id: str, name: str) -> Organization:
    def write(c: Connection) -> Organization:
        _, before = workspaces.get(c, by.workspace_id)
        if organization_id != before.id:
            raise NotFound(f"there is no organization {organization_id!r}", hint="see `executor organizations list`")
        if before.name != name:
            workspaces.rename_organization(c, before.id, name)
            data = {"organizationId": before.id, "name": name, "before": before.name}
            events.append(c, by.workspace_id, "organization.renamed", data, by=by)
        return Organization(before.id, name)

    return await database.write(write)


async def separation(database: Database, by: Actor) -> tuple[SeparationChoice, Separation]:
    """What was chosen for the organization, and what is in force."""
    return await database.read(lambda c: _separation(c, by))


async def separate(database: Database, by: Actor, choice: SeparationChoice) -> tuple[SeparationChoice, Separation]:
    def write(c: Connection) -> tuple[SeparationChoice, Separation]:
        before = separations.read_choice(c, by.workspace_id)
        if before != choice:
            separations.choose(c, workspaces.get(c, by.workspace_id)[1].id, choice)
            data = {"separation": choice, "before": before}
            events.append(c, by.workspace_id, "organization.separation_changed", data, by=by)
        return _separation(c, by)

    return await database.write(write)


def _separation(c: Connection, by: Actor) -> tuple[SeparationChoice, Separation]:
    return separations.read_choice(c, by.workspace_id), separations.in_force(c, by.workspace_id)


def _refuse_taken(c: Connection, organization: Organization, name: str) -> None:
    if workspaces.is_named(c, organization.id, name):
        raise Conflict(f"a workspace {name!r} already exists", hint="choose another name")
