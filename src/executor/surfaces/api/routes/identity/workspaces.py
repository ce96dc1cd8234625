"""/v1/workspaces and /v1/organizations: the places that one belongs to."""

from __future__ import annotations

from fastapi import APIRouter

from executor.identity import workspaces
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas import identity
from executor.surfaces.views import identity as views
from executor.surfaces.views.base import Named

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("/workspaces")
@needs("credential")
async def listing(here: Context) -> Answer[views.WorkspacePage]:
    """List the workspaces you can use. A request selects one with the header `X-Executor-Workspace`."""
    return answer({"items": await _places(here)})


@router.post("/workspaces", status_code=201)
@creates
@needs("manage")
async def create(here: Context, body: identity.NewName) -> Answer[views.WorkspaceView]:
    """Create a workspace in the organization."""
    made = await workspaces.create(here.executor.database, here.actor, body.name)
    return answer(await _place(here, made.id), 201)


@router.patch("/workspaces/{workspace_id}")
@needs("manage")
async def rename(here: Context, workspace_id: str, body: identity.NewName) -> Answer[views.WorkspaceView]:
    """Rename a workspace."""
    await workspaces.rename(here.executor.database, here.actor, workspace_id, body.name)
    return answer(await _place(here, workspace_id))


@router.get("/organizations")
@needs("human")
async def organizations(here: Context) -> Answer[views.OrganizationPage]:
    """List the organizations you belong to."""
    found: dict[str, views.OrganizationView] = {}
    for place in await _places(here):
        own, role = place["organization"], place["role"]
        known = found.setdefault(own["id"], {"id": own["id"], "name": own["name"], "role": role, "current": False})
        known["current"] = known["current"] or place["current"]
    return answer({"items": list(found.values())})


@router.post("/organizations", status_code=201)
@creates
@needs("own")
async def create_organization(here: Context, body: identity.NewName) -> Answer[views.WorkspaceView]:
    """Create an organization that you own. The response is its first workspace."""
    made = await workspaces.create_organization(here.executor.database, here.actor, body.name)
    return answer(views.workspace_view(made, here.workspace_id), 201)


@router.patch("/organizations/{organization_id}")
@needs("own")
async def rename_organization(
    here: Context, organization_id: str, body: identity.NewName
) -> Answer[views.OrganizationView]:
    """Rename an organization."""
    renamed = await workspaces.rename_organization(here.executor.database, here.actor, organization_id, body.name)
    return answer({"id": renamed.id, "name": renamed.name, "role": "owner", "current": True})


@router.get("/separation")
@needs("read")
async def separation(here: Context) -> Answer[views.SeparationView]:
    """Get which calls must be approved by someone other than the requester."""
    return answer(views.separation_view(await workspaces.separation(here.executor.database, here.actor)))


@router.patch("/separation")
@needs("manage")
async def separate(here: Context, body: identity.NewSeparation) -> Answer[views.SeparationView]:
    """Set `off`, `destructive`, `all`, or `default`: destructive calls once there is a second person."""
    changed = await workspaces.separate(here.executor.database, here.actor, body.separation)
    return answer(views.separation_view(changed))


async def _places(here: Context) -> list[views.WorkspaceView]:
    """Of a program with a token, its own workspace; it belongs to no account."""
    found = await workspaces.listing(here.executor.database, here.actor)
    if found:
        return [views.workspace_view(place, here.workspace_id) for place in found]
    workspace, organization = await workspaces.current(here.executor.database, here.actor)
    own: Named = {"id": organization.id, "name": organization.name}
    return [{"id": workspace.id, "name": workspace.name, "organization": own, "role": None, "current": True}]


async def _place(here: Context, workspace_id: str) -> views.WorkspaceView:
    return next(place for place in await _places(here) if place["id"] == workspace_id)
