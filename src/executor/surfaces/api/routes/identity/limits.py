"""/v1/limits: how much workspaces and actors may run, queue and submit, and their shares."""

from __future__ import annotations

from fastapi import APIRouter

from executor.execution import limit_administration
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas import identity
from executor.surfaces.views import limits as views

router = APIRouter(prefix="/v1/limits", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("")
@needs("read")
async def show(here: Context) -> Answer[views.WorkspaceLimitsView]:
    """Get the limits of the workspace, of its actors that have their own, and the defaults.

    0 is no limit.
    """
    limits = here.executor.use_limits
    found = await limit_administration.read(here.executor.database, limits, here.actor)
    return answer(views.workspace_limits_view(found, limits.defaults))


@router.patch("/workspaces/{workspace_id}")
@needs("operate")
async def change_workspace(
    here: Context, workspace_id: str, body: identity.ChangedWorkspaceLimits
) -> Answer[views.LimitedWorkspaceView]:
    """Set limits of a workspace of this installation. `null` is the default, and what you leave out stays."""
    executor, changes = here.executor, body.model_dump(exclude_unset=True)
    changed = await limit_administration.change_workspace(
        executor.database, executor.use_limits, here.actor, workspace_id, changes
    )
    return answer(views.limited_workspace_view(changed))


@router.patch("/actors/{actor}")
@needs("administer")
async def change_actor(here: Context, actor: str, body: identity.ChangedActorLimits) -> Answer[views.LimitedActorView]:
    """Set limits of an actor, by name or ID. `null` is the default, and what you leave out stays."""
    executor, changes = here.executor, body.model_dump(exclude_unset=True)
    changed = await limit_administration.change_actor(
        executor.database, executor.use_limits, here.actor, actor, changes
    )
    return answer(views.limited_actor_view(changed))
