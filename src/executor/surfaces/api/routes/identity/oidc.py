"""/v1/auth/oidc: a browser on its way to the identity provider and back."""

from __future__ import annotations

from html import escape
from typing import cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from executor.daemon.wiring.executor import Executor
from executor.errors import ExecutorError, NotFound, Unauthorized
from executor.identity.oidc import membership
from executor.identity.oidc.sign_in import SignIns
from executor.model.identity.permissions import Role
from executor.surfaces.api.context import Context, EdgeRoute, public
from executor.surfaces.api.json_response import answer
from executor.surfaces.api.oauth_pages import page
from executor.surfaces.api.session_cookie import client_address, keep_session, user_agent
from executor.surfaces.http.guard import cookie

router = APIRouter(prefix="/v1/auth/oidc", route_class=EdgeRoute, include_in_schema=False)
MAX_VALUE = 16_384
COOKIE_PATH = "/v1/auth/oidc"
COOKIE_SECONDS = 600


@router.get("/offered")
@public
async def show_provider(here: Context) -> Response:
    """Get the identity provider, if there is one, for the sign-in page."""
    there = here.executor.issuers.sign_ins is not None
    return answer({"offered": there, "issuer": here.executor.settings.oidc_issuer if there else None})


@router.get("/start")
@public
async def start(here: Context) -> Response:
    """Redirect to the identity provider. `return_to` is the page to open afterwards."""
    try:
        query = single(here)
        begun = await sign_ins_of(here.executor).begin(query.get("return_to") or "/", client_address(here))
    except ExecutorError as error:
        return failure_page(error)
    response = RedirectResponse(begun.url, 303)
    # Lax: the answer comes as a navigation from another site, and must carry it.
    response.set_cookie(
        begun.cookie,
        begun.value,
        max_age=COOKIE_SECONDS,
        path=COOKIE_PATH,
        httponly=True,
        samesite="lax",
        secure=here.executor.settings.address.startswith("https:"),
    )
    return response


@router.get("/callback")
@public
async def callback(here: Context) -> Response:
    """Where the identity provider redirects the browser. The response sets the cookie `executor_session`."""
    executor = here.executor
    address, header = client_address(here), here.headers.get("cookie", "")
    try:
        query, sign_ins = single(here), sign_ins_of(executor)
        with executor.authenticator.attempts.limit_failures(address):
            person, return_to = await sign_ins.finish(query, lambda name: cookie(header, name))
        default = cast("Role | None", executor.settings.oidc_default_role or None)
        came = await membership.sign_in(
            executor.database, executor.tenancy, person, default, agent=user_agent(here), address=address
        )
    except ExecutorError as error:
        return failure_page(error)
    response = RedirectResponse(return_to, 303)
    keep_session(response, executor, *came[1:])
    return response


def sign_ins_of(executor: Executor) -> SignIns:
    if executor.issuers.sign_ins is None:
        raise NotFound("no identity provider is configured", hint="an operator must set oidc_issuer and oidc_client_id")
    return executor.issuers.sign_ins


def single(request: Request) -> dict[str, str]:
    """A name that is there twice would be one thing to us and another to the provider."""
    pairs = request.query_params.multi_items()
    query = dict(pairs)
    if len(query) != len(pairs) or any(len(value) > MAX_VALUE for value in query.values()):
        raise Unauthorized("this request does not come from an identity provider", hint="start the sign-in again")
    return query


def failure_page(error: ExecutorError) -> Response:
    hint = f"<p>{escape(error.hint)}</p>" if error.hint else ""
    back = '<p><a href="/sign-in">Back to sign-in</a></p>'
    return page("Not signed in", f"<pre>{escape(error.message)}</pre>{hint}{back}", error.status)
