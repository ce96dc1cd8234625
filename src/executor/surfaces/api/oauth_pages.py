"""/oauth: the few pages a browser sees on the way to an authorization server and back. Plain, and without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from executor.connections.oauth.code_flow import Callback
from executor.connections.oauth.new_connection import Connected
from executor.errors import ExecutorError, NotFound, OAuthFailed
from executor.surfaces.api.context import Context, EdgeRoute, public
from executor.surfaces.api.json_response import answer
from executor.surfaces.api.routes.credentials.oauth import set_cookie
from executor.surfaces.api.session_cookie import client_address
from executor.surfaces.http.guard import cookie

router = APIRouter(prefix="/oauth", route_class=EdgeRoute, include_in_schema=False)
MAX_VALUE = 16_384
_TICKET = re.compile(r"[A-Za-z0-9_-]{43}\Z")
_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem}"
    "pre{padding:.75rem 1rem;border:1px solid;border-radius:.5rem;white-space:pre-wrap;overflow-wrap:anywhere}"
    ":root{color-scheme:light dark}"
)
_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Executor: {title}</title><style>{style}</style></head>
<body>
<h1>{title}</h1>
{content}
</body>
</html>
"""


@router.get("/begin/{ticket}")
@public
async def begin(here: Context, ticket: str) -> Response:
    """Shown before anything happens: a link that someone else sent must not start a login automatically."""
    try:
        check_ticket(ticket)
        asked = await here.executor.logins.look(ticket)
    except OAuthFailed as error:
        return failure_page(error)
    content = (
        f"<p>{escape(asked.by)} wants to connect <b>{escape(asked.source)}</b> to Executor and sends you to "
        f"<b>{escape(asked.page)}</b> to give consent. The permission you give there goes to "
        f"<b>{escape(asked.token)}</b>. Calls then use the account you sign in with.</p><p>Continue only if you "
        f'started this yourself.</p><p><a href="/oauth/begin/{ticket}/go">Continue</a></p>'
    )
    return page("Connect a source?", content)


@router.get("/begin/{ticket}/go")
@public
async def go(here: Context, ticket: str) -> Response:
    try:
        check_ticket(ticket)
        begun = await here.executor.logins.code.take_up(ticket)
    except OAuthFailed as error:
        return failure_page(error)
    response = RedirectResponse(begun.url, 303)
    set_cookie(response, begun, secure=here.executor.settings.address.startswith("https:"))
    return response


@router.get("/callback")
@public
async def callback(here: Context) -> Response:
    """Where authorization servers redirect the browser. Shows that the login worked, or exactly why not."""
    try:
        pairs = here.query_params.multi_items()
        query = dict(pairs)
        if len(query) != len(pairs) or any(len(value) > MAX_VALUE for value in query.values()):
            raise OAuthFailed("this request does not come from an authorization server", hint="start the login again")
        header = here.headers.get("cookie", "")
        done = await here.executor.logins.finish(
            Callback(query, lambda name: cookie(header, name), client_address(here))
        )
    except ExecutorError as error:
        return failure_page(error)
    content = "<p>The source is connected. Calls that were waiting for it continue. You can close this page.</p>"
    return page("Connected", f'{content}<p><a href="{escape(back(done))}">Back to Executor</a></p>')


@router.get("/client.json")
@public
async def client(here: Context) -> Response:
    """The client ID metadata document, for authorization servers."""
    if not here.executor.logins.clients.document_url:
        raise NotFound("not found", hint="it is available when `public_url` starts with https://")
    return answer(here.executor.logins.clients.document(), headers={"Cache-Control": "public, max-age=3600"})


def back(done: Connected) -> str:
    """To the interaction that the login was started for, which says how its execution continues; or to the source,
    whose tools can be read now."""
    if done.interaction_id:
        return f"/connect/{quote(done.interaction_id, safe='')}"
    if done.source.known_keys.get("unread"):
        return f"/sources/add?connected={quote(done.source.namespace, safe='')}"
    return f"/sources/{quote(done.source.namespace, safe='')}/edit"


def check_ticket(ticket: str) -> None:
    if not _TICKET.match(ticket):
        raise OAuthFailed("this is not a login link", hint="copy the whole link")


def failure_page(error: ExecutorError) -> Response:
    hint = f"<p>{escape(error.hint)}</p>" if error.hint else ""
    return page("Not connected", f"<pre>{escape(error.message)}</pre>{hint}", 400)


def page(title: str, content: str, status: int = 200) -> Response:
    html = _PAGE.format(title=title, style=_STYLE, content=content)
    return HTMLResponse(html, status, headers={"Content-Security-Policy": _POLICY})
