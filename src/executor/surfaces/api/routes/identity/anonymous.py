"""/v1/anonymous: what strangers use here, for anyone who runs the machine."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from executor.errors import NotFound
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.views import identity as views

router = APIRouter(prefix="/v1/anonymous", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("")
@needs("operate")
async def listing(here: Context) -> Answer[views.AnonymousUsePage]:
    """List anonymous sessions, oldest first, with their executions and the space they use."""
    found = await here.executor.anonymous.listing()
    return answer({"items": [views.anonymous_use_view(session, *use) for session, use in found]})


@router.delete("", status_code=204)
@needs("operate")
async def clear(here: Context) -> Response:
    """End all anonymous sessions and remove everything in their workspaces."""
    anonymous = here.executor.anonymous
    await anonymous.clear(here.actor, [session for session, _ in await anonymous.listing()])
    return Response(status_code=204)


@router.delete("/{session_id}", status_code=204)
@needs("operate")
async def clear_one(here: Context, session_id: str) -> Response:
    """End an anonymous session and remove everything in its workspace."""
    wanted = [session for session, _ in await here.executor.anonymous.listing() if session.id == session_id]
    if not wanted:
        raise NotFound(f"there is no anonymous session {session_id!r}", hint="see `executor anonymous list`")
    await here.executor.anonymous.clear(here.actor, wanted)
    return Response(status_code=204)
