"""/v1/auth/anonymous: browsers without an account, each with a workspace that it opened."""

from __future__ import annotations

from fastapi import APIRouter

from executor.errors import Conflict, Unauthorized
from executor.identity.presented import Shown
from executor.model.ids import now_ms
from executor.surfaces.api.context import Context, EdgeRoute, needs, public
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.session_cookie import client_address, keep_session
from executor.surfaces.http.guard import SESSION_COOKIE, Headers, check_same_page, cookie
from executor.surfaces.views import identity as views
from executor.surfaces.views.base import time

router = APIRouter(prefix="/v1/auth/anonymous", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("/offered")
@public
async def show_offer(here: Context) -> Answer[views.AnonymousOfferView]:
    """Get whether a browser may open an anonymous workspace, for the sign-in page."""
    return answer({"offered": here.executor.anonymous.admitted})


@router.post("/browser")
@public
async def enter(here: Context) -> Answer[views.AnonymousEntryView]:
    """Open an anonymous workspace in this browser, or find the one it has. The response sets the cookie
    `executor_session`, which decides in that workspace. Only the sign-in page can do this."""
    headers = Headers(here.scope["headers"])
    check_same_page(headers)
    shown = cookie(headers.get(b"cookie") or "", SESSION_COOKIE)
    if shown and await _is_signed_in(here, shown):
        raise Conflict("this browser is signed in", hint="sign out first")
    executor = here.executor
    entered = await executor.anonymous.enter(client_address(here), shown)
    expires_at = entered.session.expires_at or now_ms()
    view: views.AnonymousEntryView = {"workspaceId": entered.session.workspace_id, "lapsesAt": time(expires_at)}
    response = answer(view)
    if entered.cookie:
        keep_session(response, executor, entered.cookie, expires_at)
    return response


async def _is_signed_in(here: Context, session: str) -> bool:
    try:
        actor = await here.executor.authenticator.confirm(Shown(session=session, address=client_address(here)))
    except Unauthorized:
        return False
    return not actor.is_stranger


@router.get("/workspace")
@needs("stranger")
async def workspace(here: Context) -> Answer[views.AnonymousWorkspaceView]:
    """Get when the anonymous workspace of this browser lapses, and what is known of its agent's key."""
    session, key = await here.executor.anonymous.workspace(here.actor)
    settings = here.executor.settings
    return answer(views.anonymous_workspace_view(session, key, settings.address, settings.anonymous_sources))


@router.post("/key", status_code=201)
@needs("stranger")
async def create_key(here: Context) -> Answer[views.AnonymousTokenView]:
    """Create the key with which an agent uses this workspace at `/mcp/anonymous`. It is shown once; the previous one
    ends."""
    token, expires_at = await here.executor.anonymous.new_key(here.actor)
    seconds = (expires_at - now_ms()) // 1000
    return answer(
        {"accessToken": token, "tokenType": "Bearer", "expiresIn": seconds, "expiresAt": time(expires_at)}, 201
    )
