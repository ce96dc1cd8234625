"""/v1/auth: who is asking, and how browsers and strangers come in."""

from __future__ import annotations

from typing import get_args

from fastapi import APIRouter
from starlette.responses import Response

from executor.identity import members, sessions, workspaces
from executor.model.identity.permissions import Permission
from executor.model.ids import now_ms
from executor.surfaces.api.context import Context, EdgeRoute, needs, public, within_toolkit
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas import identity
from executor.surfaces.api.session_cookie import client_address, signed_in, signed_out, user_agent
from executor.surfaces.http.open_requests import expect_own_end
from executor.surfaces.views import identity as views
from executor.surfaces.views.base import time

router = APIRouter(prefix="/v1/auth", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)


@router.get("/whoami")
@needs("credential")
@within_toolkit
async def whoami(here: Context) -> Answer[views.WhoView]:
    """Get who you are, in which workspace, and what you may do."""
    workspace, organization = await workspaces.current(here.executor.database, here.actor)
    human = here.actor.is_in_person
    return answer(
        {
            "actorId": here.actor.id,
            "kind": here.actor.kind,
            "name": here.actor.name,
            "accountId": here.actor.account_id or None,
            "role": members.role_of(here.actor) if human else None,
            "permissions": [permission for permission in PERMISSIONS if here.actor.may(permission)],
            "via": here.actor.via,
            "workspace": {"id": workspace.id, "name": workspace.name},
            "organization": {"id": organization.id, "name": organization.name},
        }
    )


@router.post("/links", status_code=201)
@needs("human")
async def link(here: Context, body: identity.NewLink | None = None) -> Answer[views.LinkView]:
    """Create a link with which one browser can sign in, once, within ten minutes. Its token comes after the `#`."""
    wanted = body.account_id if body else ""
    token, expires_at = await sessions.create_link(here.executor.database, here.actor, wanted)
    url = f"{here.executor.settings.address}/sign-in#{token}"
    return answer({"url": url, "expiresAt": time(expires_at)}, 201)


@router.post("/sign-in")
@public
async def sign_in(here: Context, body: identity.SignIn) -> Answer[views.SignedInView]:
    """Use a sign-in link. The response sets the cookie `executor_session`."""
    executor, address = here.executor, client_address(here)
    async with executor.authenticator.trying(address):
        came = await sessions.sign_in(executor.database, body.token, agent=user_agent(here), address=address)
    return signed_in(executor, *came)


@router.post("/sign-out", status_code=204)
@needs("credential")
async def sign_out(here: Context) -> Response:
    """End the session of this browser. Other credentials are not affected. An anonymous workspace goes with it."""
    expect_own_end()
    if here.actor.via == "browser":
        await sessions.close(here.executor.database, here.actor, here.actor.credential_id)
    elif here.actor.via == "anonymous_browser":
        await here.executor.anonymous.leave(here.actor)
    return signed_out(here.executor)


@router.get("/sessions")
@needs("human")
async def listing(here: Context) -> Answer[views.SessionPage]:
    """List the browsers in which you are signed in."""
    found = await sessions.listing(here.executor.database, here.actor)
    return answer({"items": [views.session_view(one, here.actor.credential_id) for one in found]})


@router.delete("/sessions/{session_id}", status_code=204)
@needs("human")
async def close(here: Context, session_id: str) -> Response:
    """Sign a browser out."""
    expect_own_end()
    await sessions.close(here.executor.database, here.actor, session_id)
    return Response(status_code=204)


@router.post("/anonymous/bootstrap", status_code=201)
@public
async def bootstrap(here: Context, body: identity.AnonymousStart | None = None) -> Answer[views.AnonymousSessionView]:
    """Create a workspace for an agent without a credential. Anyone who knows the `sessionId` gets tokens for it, and
    finds the same workspace again by it."""
    known = body.session_id if body is not None and body.session_id is not None else ""
    started = await here.executor.anonymous.start(client_address(here), known)
    return answer(
        {
            "sessionId": started.session_id,
            "workspaceId": started.workspace_id,
            "actorId": started.actor_id,
            "clientId": started.client_id,
        },
        200 if known else 201,
    )


@router.post("/anonymous/token")
@public
async def anonymous_token(here: Context, body: identity.AnonymousToken) -> Answer[views.AnonymousTokenView]:
    """Create a bearer token that is valid for a day. The previous one ends."""
    anonymous = here.executor.anonymous
    token, expires_at = await anonymous.token(body.session_id, body.client_id, client_address(here))
    seconds = (expires_at - now_ms()) // 1000
    return answer({"accessToken": token, "tokenType": "Bearer", "expiresIn": seconds, "expiresAt": time(expires_at)})
