"""/v1/members and /v1/invitations: who belongs to the organization, and how one comes to."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import Unauthorized
from executor.identity import invitations, members
from executor.identity.presented import Shown
from executor.model.actor import Actor
from executor.surfaces.api.context import EdgeRoute, context, needs, public
from executor.surfaces.api.json_response import PROBLEMS, answer
from executor.surfaces.api.schemas import identity
from executor.surfaces.api.session_cookie import client_address, signed_in, user_agent
from executor.surfaces.http.guard import SESSION_COOKIE, cookie
from executor.surfaces.http.open_requests import expect_own_end

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("/members", response_model=identity.MemberPage)
@needs("read")
async def listing(request: Request) -> Response:
    here = context(request)
    found = await members.listing(here.executor.database, here.actor)
    return answer({"items": [identity.member_view(member) for member in found]})


@router.patch("/members/{account_id}", response_model=identity.MemberView)
@needs("manage")
async def change(request: Request, account_id: str, body: identity.NewRole) -> Response:
    """Give another role, neither from nor to one above your own."""
    here = context(request)
    executor = here.executor
    expect_own_end()
    changed = await members.change(executor.database, executor.tenancy, here.actor, account_id, body.role)
    return answer(identity.member_view(changed))


@router.delete("/members/{account_id}", status_code=204)
@needs("manage")
async def remove(request: Request, account_id: str) -> Response:
    """With their keys and sessions."""
    here = context(request)
    expect_own_end()
    await members.remove(here.executor.database, here.executor.tenancy, here.actor, account_id)
    return Response(status_code=204)


@router.get("/invitations", response_model=identity.InvitationPage)
@needs("manage")
async def invited(request: Request) -> Response:
    here = context(request)
    found = await invitations.listing(here.executor.database, here.actor)
    return answer({"items": [identity.invitation_view(one) for one in found]})


@router.post("/invitations", status_code=201, response_model=identity.NewInvitationView)
@needs("manage")
async def invite(request: Request, body: identity.NewInvitation) -> Response:
    """A link, shown this once, that makes one person a member."""
    here = context(request)
    expires_at = identity.expiry(body.expires_in_days) or 0
    made, token = await invitations.create(here.executor.database, here.actor, body.role, body.email, expires_at)
    url = f"{here.executor.settings.address}/invitation#{token}"
    return answer({**identity.invitation_view(made), "url": url}, 201)


@router.delete("/invitations/{invitation_id}", status_code=204)
@needs("manage")
async def uninvite(request: Request, invitation_id: str) -> Response:
    here = context(request)
    await invitations.revoke(here.executor.database, here.actor, invitation_id)
    return Response(status_code=204)


@router.post("/invitations/accept", response_model=identity.SignedInView)
@public
async def accept(request: Request, body: identity.Accept) -> Response:
    """Spend an invitation: with the account that is signed in, or with a new one. The answer sets the cookie."""
    executor, address = request.app.state.executor, client_address(request)
    here = await _here(request, address)
    async with executor.authenticator.trying(address):
        came = await invitations.accept(
            executor.database,
            body.token,
            identity.visible(body.name),
            signed_in=here,
            agent=user_agent(request),
            address=address,
        )
    return signed_in(executor, *came)


async def _here(request: Request, address: str) -> Actor | None:
    session = cookie(request.headers.get("cookie", ""), SESSION_COOKIE)
    if not session:
        return None
    with suppress(Unauthorized):
        actor: Actor = await request.app.state.executor.authenticator.identify(Shown(session=session, address=address))
        return actor
    return None
