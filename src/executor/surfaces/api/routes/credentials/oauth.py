"""/v1/connections/oauth: logins at authorization servers, for a browser, another device, or no one at all."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field, SecretStr
from starlette.responses import Response
from typing_extensions import TypedDict

from executor.connections.oauth.code_flow import Begun
from executor.connections.oauth.logins import Wish
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.requests import Body
from executor.surfaces.views.base import time
from executor.surfaces.views.credentials import ConnectionView, connection_view

router = APIRouter(prefix="/v1/connections/oauth", route_class=EdgeRoute, tags=["connections"], responses=PROBLEMS)
COOKIE_PATH = "/oauth"

Text = Annotated[str, Field(max_length=500)]


class Login(Body):
    """What to log in to, with which scopes, and who will own the connection."""

    source: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Text], Field(max_length=200, default_factory=list)]
    name: Annotated[str, Field(max_length=64)] = ""
    scope: Literal["actor", "workspace"] = "workspace"
    interaction_id: Annotated[str, Field(max_length=100)] = ""
    client_id: Annotated[str, Field(max_length=4096)] = ""
    client_secret: SecretStr = SecretStr("")
    client_method: Literal["", "none", "client_secret_basic", "client_secret_post", "private_key_jwt"] = ""
    allow_server: Annotated[str, Field(max_length=2000)] = ""
    confirm_servers: Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=10, default_factory=list)]


class AskDevice(Body):
    flow: Annotated[str, Field(min_length=1, max_length=200)]


class LoginView(TypedDict):
    authorizationUrl: str
    expiresAt: str


class DeviceView(TypedDict):
    flow: str
    userCode: str
    verificationUrl: str
    verificationUrlComplete: str | None
    interval: int
    expiresAt: str


class DeviceStanding(TypedDict):
    status: Literal["pending", "connected"]
    interval: int
    connection: ConnectionView | None


@router.post("/start")
@needs("connect")
async def start(here: Context, body: Login) -> Answer[LoginView]:
    """Start a login and get the address for the browser. A signed-in browser gets a cookie that the answer must carry.

    Other clients get a link: the answer must come back in the browser that opens it first.
    """
    begun = await here.executor.logins.begin(here.actor, wish(body), in_browser=here.actor.via == "browser")
    base = here.executor.settings.address
    url = f"{base}/oauth/begin/{begun.ticket}" if begun.ticket else begun.url
    view: LoginView = {"authorizationUrl": url, "expiresAt": time(begun.expires_at)}
    response = answer(view)
    if begun.browser:
        set_cookie(response, begun, secure=base.startswith("https:"))
    return response


@router.post("/device")
@needs("connect")
async def device(here: Context, body: Login) -> Answer[DeviceView]:
    """Start a device login: a person enters the code on any device. Poll its state every `interval` seconds."""
    shown = await here.executor.logins.begin_device(here.actor, wish(body))
    return answer(
        {
            "flow": shown.flow,
            "userCode": shown.user_code,
            "verificationUrl": shown.url,
            "verificationUrlComplete": shown.complete_url or None,
            "interval": shown.interval,
            "expiresAt": time(shown.expires_at),
        }
    )


@router.post("/device/ask")
@needs("connect")
async def ask_device(here: Context, body: AskDevice) -> Answer[DeviceStanding]:
    """Get the state of a device login. The server is queried no sooner than it allows, however often you call this."""
    state = await here.executor.logins.ask_device(here.actor, body.flow)
    done = state.connected
    view = connection_view(done.connection, done.source.namespace) if done is not None else None
    return answer({"status": state.status, "interval": state.interval, "connection": view})


@router.post("/credentials", status_code=201)
@needs("connect")
async def credentials(here: Context, body: Login) -> Answer[ConnectionView]:
    """Connect by client credentials. No person is involved, so the client must have a secret."""
    done = await here.executor.logins.by_credentials(here.actor, wish(body))
    return answer(connection_view(done.connection, done.source.namespace), 201)


def wish(body: Login) -> Wish:
    return Wish(
        source=body.source,
        scopes=tuple(body.scopes),
        name=body.name,
        scope=body.scope,
        interaction_id=body.interaction_id,
        client_id=body.client_id,
        client_secret=body.client_secret.get_secret_value(),
        client_method=body.client_method,
        allow=body.allow_server,
        confirm=tuple(body.confirm_servers),
    )


def set_cookie(response: Response, begun: Begun, *, secure: bool) -> None:
    """Lax: the answer comes as a navigation from another site, and must carry it."""
    response.set_cookie(
        begun.cookie, begun.browser, max_age=600, path=COOKIE_PATH, httponly=True, samesite="lax", secure=secure
    )
