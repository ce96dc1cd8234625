"""/v1/members and /v1/invitations: who belongs to the organization, and how one comes to."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter
from starlette.responses import Response

from executor.errors import Unauthorized
from executor.identity import invitations, members
from executor.identity.presented import Shown
from executor.model.identity.actor import Actor
from executor.surfaces.api.context import Context, EdgeRoute, needs, public
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas import identity
from executor.surfaces.api.session_cookie import client_address, signed_in, user_agent
from executor.surfaces.http.guard import SESSION_COOKIE, cookie
from executor.surfaces.http.open_requests import expect_own_end
from executor.surfaces.views import identity as views

router = APIRouter(prefix="/v1", route_class=EdgeRoute, tags=["identity"], responses=PROBLEMS)


@router.get("/members")
@needs("read")
async def listing(here: Context) -> Answer[views.MemberPage]:
    """List the members of the organization with their roles."""
    found = await members.listing(here.executor.database, here.actor)
    return answer({"items": [views.member_view(member) for member in found]})


@router.patch("/members/{account_id}")
@needs("manage")
async def change(here: Context, account_id: str, body: identity.NewRole) -> Answer[views.MemberView]:
    """Change a role. Neither the old nor the new one may be above your own."""
    expect_own_end()
    changed = await members.change(here.executor.database, here.executor.tenancy, here.actor, account_id, body.role)
    return answer(views.member_view(changed))


@router.delete("/members/{account_id}", status_code=204)
@needs("manage")
async def remove(here: Context, account_id: str) -> Response:
    """Remove a member with their keys and sessions."""
    expect_own_end()
    await members.remove(here.executor.database, here.executor.tenancy, here.actor, account_id)
    return Response(status_code=204)


@router.get("/invitations")
@needs("manage")
async def list_invitations(here: Context) -> Answer[views.InvitationPage]:
    """List invitations and their state."""
    found = await invitations.listing(here.executor.database, here.actor)
    return answer({"items": [views.invitation_view(one) for one in found]})


@router.post("/invitations", status_code=201)
@creates
@needs("manage")
async def invite(here: Context, body: identity.NewInvitation) -> Answer[views.NewInvitationView]:
    """Create a link that adds one person as a member. It is shown only once."""
    expires_at = identity.expiry(body.expires_in_days) or 0
    made, token = await invitations.create(here.executor.database, here.actor, body.role, body.email, expires_at)
    url = f"{here.executor.settings.address}/invitation#{token}"
    return answer({**views.invitation_view(made), "url": url}, 201)


@router.delete("/invitations/{invitation_id}", status_code=204)
@needs("manage")
async def uninvite(here: Context, invitation_id: str) -> Response:
    """Revoke an invitation."""
    await invitations.revoke(here.executor.database, here.actor, invitation_id)
    return Response(status_code=204)


@router.post("/invitations/accept")
@public
async def accept(here: Context, body: identity.Accept) -> Answer[views.SignedInView]:
    """Accept an invitation with the account that is signed in, or with a new one. The response sets the cookie."""
    executor, address = here.executor, client_address(here)
    member = await _find_member(here, address)
    async with executor.authenticator.trying(address):
        came = await invitations.accept(
            executor.database,
            body.token,
            identity.visible(body.name),
            signed_in=member,
            agent=user_agent(here),
            address=address,
        )
    return signed_in(executor, *came)


async def _find_member(here: Context, address: str) -> Actor | None:
    """Who has signed in with this browser."""
    if session := cookie(here.headers.get("cookie", ""), SESSION_COOKIE):
        with suppress(Unauthorized):
            return await here.executor.authenticator.identify(Shown(session=session, address=address))
    return None
