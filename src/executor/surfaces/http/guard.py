"""The guard: who may talk to the daemon, from where, in which form and how much. Plain ASGI, before any route.

It works from the first request on, so it imports neither FastAPI nor anything of the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from executor.errors import (
    BodyTooLarge,
    CodeTooLarge,
    ExecutorError,
    HostRefused,
    InvalidRequest,
    OriginRefused,
    Unauthorized,
    UnsupportedMediaType,
)
from executor.identity.local_tokens import Tokens
from executor.identity.presented import Shown
from executor.runtime.remote.live_runs import LiveRun, LiveRuns
from executor.settings import Settings
from executor.surfaces.http import problems
from executor.surfaces.http.page_paths import check_moved, is_page
from executor.surfaces.http.sockets import SOCKET
from executor.surfaces.http.www_authenticate import Challenge
from executor.surfaces.scrape import SCRAPE, is_metrics_token

SHOWN = "executor.shown"  # in the scope of a request: what it showed to say who it is
ACTOR = "executor.actor"  # and, once the database is open, whom it acts as
STATUS = "executor.status"  # once anything is answered: the status, or 0 for a WebSocket that was opened
RUN = "executor.run"  # in the scope of a request that showed the token of a live run
SESSION_COOKIE = "executor_session"
WORKSPACE_HEADER = b"x-executor-workspace"
API_KEY_HEADER = b"x-api-key"
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
REFUSED = frozenset({401, 403, 421})
OnRefused = Callable[[Scope, int, bytes], None]
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
PUBLIC = frozenset({"/healthz", "/readyz"})
INTERNAL = "/internal/"
METRICS = "/metrics"
# On the way to an authorization server and back, and what its clients look up: no one need have signed in.
PUBLIC_PREFIXES = ("/oauth/", "/v1/auth/oidc/", "/v1/auth/anonymous/offered", "/.well-known/")
DOCUMENT_PATHS = ("/v1/sources", "/v1/sources/probe", "/v1/sources/preview")
CODE_PATHS = ("/v1/executions", "/v1/catalog/check", "/v1/catalog/complete")
# What is posted here shows in its body who it is from, or no one yet.
OPEN = frozenset(
    {
        "/v1/auth/sign-in", "/v1/auth/anonymous/bootstrap", "/v1/auth/anonymous/token", "/v1/auth/anonymous/browser",
        "/v1/invitations/accept",
    }
)  # fmt: skip
SMALL_BODY = 1024 * 1024
MCP_BODY = 4 * 1024 * 1024
DOCUMENT_BODY = 64 * 1024 * 1024
DRAINED = 64 * 1024 * 1024
DRAIN_SECONDS = 10.0
_HTTP_PORT = 80


class Headers:
    """The few request headers the guard looks at. A header sent twice counts as unreadable."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[bytes, bytes] = {}
        self._repeated: set[bytes] = set()
        for name, value in raw:
            if name in self._values:
                self._repeated.add(name)
            self._values[name] = value

    def get(self, name: bytes) -> str | None:
        value = self._values.get(name)
        return None if value is None or name in self._repeated else value.decode("latin-1")

    def __contains__(self, name: bytes) -> bool:
        return name in self._values


class Edge:
    """Whatever goes wrong inside is answered as a problem; for an unexpected error the answer has only an id."""

    def __init__(self, app: ASGIApp, challenge: Challenge | None = None) -> None:
        self._app = app
        self._challenge = challenge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ExecutorError as error:
            await problems.respond(error, self._headers(scope, error))(scope, receive, send)
        except ClientDisconnect:
            return  # no one is there to be answered, and nothing is wrong here
        except Exception as error:  # noqa: BLE001 - the edge: answered with an opaque id, logged with everything
            problem = problems.opaque(error)
            if STATUS not in scope:
                await problems.respond(problem)(scope, receive, send)

    def _headers(self, scope: Scope, error: ExecutorError) -> dict[str, str]:
        if self._challenge is None:
            return {}
        return self._challenge.headers(scope["path"], error, has_token=has_token(Headers(scope["headers"])))


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings, tokens: Tokens, on_refused: OnRefused) -> None:
        self._app = app
        self._on_refused = on_refused
        self._edge = Edge(self._serve, Challenge(settings))
        self._tokens = tokens
        host = settings.host.lower()
        self._hosts = LOOPBACK | {f"[{host}]" if ":" in host else host}
        self._public = settings.public_url
        self._callback_host = urlsplit(settings.remote_callback_url).netloc.lower()
        self._metrics_token_file = settings.metrics_token_file
        self.runs = LiveRuns()  # none, until the executor is open
        self._execution_body = 2 * settings.max_code_bytes + 64 * 1024

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._edge(scope, receive, self._watch(scope, send))

    def _watch(self, scope: Scope, send: Send) -> Send:
        """The one place that sees everything that is answered: notes the status, and hardens the headers."""

        async def send_watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope[STATUS] = message["status"]
                message["headers"] = harden(message.get("headers", ()))
            elif STATUS not in scope:
                scope[STATUS] = 0  # a WebSocket that is open
            elif scope[STATUS] in REFUSED and not message.get("more_body"):
                self._on_refused(scope, scope[STATUS], message.get("body", b""))
            await send(message)

        return send_watched

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._admit(scope)
        await self._app(scope, self._limit_body(scope, receive), send)

    def _admit(self, scope: Scope) -> None:
        headers = Headers(scope["headers"])
        path = scope["path"]
        if path.startswith(INTERNAL):
            self._admit_run(scope, headers)
            return
        origins = self._check_host(scope, headers)
        check_address(scope)
        check_moved(path)
        if path == METRICS and is_metrics_token(self._metrics_token_file, presented_token(headers)):
            check_origin(headers, frozenset(), navigable=False)
            scope[SCRAPE] = True
            return
        public = path in PUBLIC or path.startswith(PUBLIC_PREFIXES) or is_page(scope["method"], path)
        check_origin(headers, origins, navigable=public)
        if public and scope["method"] in ("GET", "HEAD"):
            return
        session = browser_session(headers, scope["method"])
        if not (scope["method"] == "POST" and path in OPEN):
            scope[SHOWN] = self._read_presented(scope, headers, session)
        check_media_type(headers, scope["method"])

    def _read_presented(self, scope: Scope, headers: Headers, session: str) -> Shown:
        """A token, or else the cookie of a browser that has signed in."""
        address = (scope.get("client") or ("",))[0]
        workspace = headers.get(WORKSPACE_HEADER) or scope.get(SOCKET, "")
        if not has_token(headers) and session:
            return Shown(session=session, workspace=workspace, address=address)
        kind, bearer = self._tokens.recognise(presented_token(headers))
        return Shown(kind, bearer, workspace=workspace, address=address)

    def _admit_run(self, scope: Scope, headers: Headers) -> None:
        """A sandbox host, for one live run: no other token opens this, this token opens nothing else, no page may."""
        if not self._callback_host or (headers.get(b"host") or "").lower() != self._callback_host:
            self._check_host(scope, headers)
        check_origin(headers, frozenset(), navigable=False)
        scope[RUN] = self.runs.authenticate(scope["path"], headers.get(b"authorization"))
        check_media_type(headers, scope["method"])

    def _check_host(self, scope: Scope, headers: Headers) -> frozenset[str]:
        """The name must be ours and the port the one that was connected to. Returns the origins that are ours."""
        address, port = scope.get("server") or ("", 0)
        allowed, origins = names_of(self._hosts, address, port)
        named = (headers.get(b"host") or "").lower()
        if self._public and named == self._public.partition("://")[2]:
            return frozenset({self._public})
        if named not in allowed:
            raise HostRefused(
                "the Host header does not name this daemon",
                hint=f"use http://127.0.0.1:{port}; a proxy must send that Host",
            )
        return origins

    def _limit_body(self, scope: Scope, receive: Receive) -> Receive:
        run: LiveRun | None = scope.get(RUN)
        limit = self._limit(scope["path"]) if run is None else run.largest_body
        declared = declared_length(scope)
        arrived = 0

        async def receive_limited() -> Message:
            nonlocal arrived
            message: Message = {"more_body": True}
            if declared <= limit:
                message = await receive()
                arrived += len(message.get("body", b""))
            if max(declared, arrived) > limit:
                if message.get("more_body", False):
                    await drain(receive, max(declared, arrived))
                raise self._too_large(scope["path"], limit)
            return message

        return receive_limited

    def _limit(self, path: str) -> int:
        if path in CODE_PATHS:
            return self._execution_body
        if path in DOCUMENT_PATHS:
            return DOCUMENT_BODY
        return MCP_BODY if path.startswith("/mcp") else SMALL_BODY

    def _too_large(self, path: str, limit: int) -> ExecutorError:
        if path in CODE_PATHS:
            return CodeTooLarge(f"the request is larger than {limit} bytes", hint="send less code", limit=limit)
        return BodyTooLarge(f"the request is larger than {limit} bytes", hint="send less", limit=limit)


@lru_cache(maxsize=64)
def names_of(hosts: frozenset[str], address: str, port: int) -> tuple[frozenset[str], frozenset[str]]:
    """What a request to this address may name as its host, and the origins that are ours."""
    suffix = "" if port == _HTTP_PORT else f":{port}"
    allowed = frozenset(f"{host}{suffix}" for host in hosts | {f"[{address}]" if ":" in address else address})
    return allowed, frozenset(f"http://{host}" for host in allowed)


def browser_session(headers: Headers, method: str) -> str:
    """The cookie of a browser that has signed in. One that changes something must say which page sends it.

    A browser attaches the cookie automatically, so that alone does not show who wants the request.
    """
    session = cookie(headers.get(b"cookie") or "", SESSION_COOKIE)
    writes = method not in ("GET", "HEAD")
    if session and writes and not has_token(headers) and headers.get(b"origin") is None:
        raise OriginRefused("a request from a browser must say which page sent it")
    return session


def check_same_page(headers: Headers) -> None:
    """Only a script of our own pages, in a browser, sends this. A program can pretend to be one, and then deceives no
    one but itself: see docs/decisions/anonymous-browsers.md."""
    if has_token(headers):
        raise OriginRefused("a token can't open an anonymous workspace in a browser", hint="send no token")
    if headers.get(b"origin") is None or headers.get(b"sec-fetch-site") != "same-origin":
        raise OriginRefused(
            "an anonymous workspace is opened on the sign-in page, over https or on this machine",
            hint="programs use POST /v1/auth/anonymous/bootstrap",
        )


def has_token(headers: Headers) -> bool:
    return b"authorization" in headers or API_KEY_HEADER in headers


def presented_token(headers: Headers) -> str | None:
    """As an `Authorization` header has it. The same token may be in both headers; two tokens are refused."""
    authorization = headers.get(b"authorization")
    if API_KEY_HEADER not in headers:
        return authorization
    key = (headers.get(API_KEY_HEADER) or "").strip()
    if b"authorization" in headers and (authorization or "").partition(" ")[2].strip() != key:
        raise Unauthorized("`Authorization` and `X-Api-Key` carry different tokens", hint="send one of them")
    return f"Bearer {key}"


def cookie(header: str, name: str) -> str:
    """Its value; a cookie sent twice, as another site's page can bring about, counts as none."""
    found = [value for key, _, value in (part.strip().partition("=") for part in header.split(";")) if key == name]
    return found[0] if len(found) == 1 else ""


def check_address(scope: Scope) -> None:
    """No id and no name has a NUL character, and not every database can look for one."""
    if "\0" in scope["path"] or b"%00" in scope.get("query_string", b""):
        raise InvalidRequest("the address contains a NUL character (%00)", hint="leave it out")


def check_origin(headers: Headers, ours: frozenset[str], *, navigable: bool) -> None:
    """A browser names the page that asks. `Sec-Fetch-Site` covers the requests for which it leaves Origin out."""
    if b"origin" in headers and (headers.get(b"origin") or "").lower() not in ours:
        raise OriginRefused("pages of other origins can't use this daemon")
    site = headers.get(b"sec-fetch-site") or "none"
    repeated = b"sec-fetch-site" in headers and headers.get(b"sec-fetch-site") is None
    if not navigable and (repeated or site in ("cross-site", "same-site")):
        raise OriginRefused("other sites can't use this daemon through a browser")


def check_media_type(headers: Headers, method: str) -> None:
    """Forms and plain text are what a page can send across sites without asking; none of them is read."""
    if method in ("GET", "HEAD"):
        return
    declared = headers.get(b"content-type")
    if declared is None:
        bodiless = b"transfer-encoding" not in headers and headers.get(b"content-length") in (None, "0")
        if bodiless and b"content-type" not in headers:
            return
    elif declared.partition(";")[0].strip().lower() == "application/json":
        return
    raise UnsupportedMediaType("the body must be `application/json`", hint="send `Content-Type: application/json`")


def declared_length(scope: Scope) -> int:
    """What Content-Length promises. The server has refused anything that is not a number already."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


async def drain(receive: Receive, length: int) -> None:
    """Read on and forget: a client that is still sending when the connection closes never sees why."""
    left = DRAINED if length <= DRAINED else 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def harden(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """What an answer says itself is left as it is."""
    own = {name.lower() for name, _ in headers}
    return [*headers, *(pair for pair in SECURITY_HEADERS if pair[0] not in own)]
