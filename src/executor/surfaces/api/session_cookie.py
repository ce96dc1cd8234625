"""The cookie of a browser that has signed in: how it is set, and how it goes away."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from executor.daemon.wiring.executor import Executor
from executor.identity import members
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.surfaces.api.json_response import Answer, answer
from executor.surfaces.http.guard import SESSION_COOKIE
from executor.surfaces.views.base import time
from executor.surfaces.views.identity import SignedInView


def client_address(request: Request) -> str:
    return request.client.host if request.client else ""


def user_agent(request: Request) -> str:
    """As a person may read it in a list; control characters are not theirs to send."""
    text = request.headers.get("user-agent", "")[:200]
    return "".join(character if character.isprintable() else "?" for character in text)


def signed_in(executor: Executor, actor: Actor, token: str, expires_at: int) -> Answer[SignedInView]:
    """HttpOnly and SameSite=Strict: no script reads it, and no browser sends it for another site's page."""
    view: SignedInView = {
        "actorId": actor.id,
        "accountId": actor.account_id,
        "name": actor.name,
        "role": members.role_of(actor),
        "workspaceId": actor.workspace_id,
        "expiresAt": time(expires_at),
    }
    response = answer(view)
    keep_session(response, executor, token, expires_at)
    return response


def keep_session(response: Response, executor: Executor, token: str, expires_at: int) -> None:
    response.set_cookie(
        SESSION_COOKIE,
        token,
        max_age=(expires_at - now_ms()) // 1000,
        path="/",
        httponly=True,
        samesite="strict",
        secure=executor.settings.address.startswith("https:"),
    )


def signed_out(executor: Executor) -> Response:
    response = Response(status_code=204)
    secure = executor.settings.address.startswith("https:")
    response.delete_cookie(SESSION_COOKIE, path="/", httponly=True, samesite="strict", secure=secure)
    return response
