"""Is there an MCP server, and how does it want to be spoken to? Asked with two small requests, without the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from executor import __version__
from executor.dataclass import dataclass
from executor.errors import EgressRefused, InvalidRequest, SourceError, SourceUnreachable
from executor.network.addresses import display_url
from executor.network.private_access import Reach
from executor.sources.kind import Auth, Probe
from executor.sources.mcp.sessions.exchange import Exchange
from executor.sources.mcp.tools import tool_names
from executor.sources.mcp.transports.endpoint import TRANSPORTS, Endpoint, printable, with_credential
from executor.sources.source_request import SourceRequest

if TYPE_CHECKING:
    import httpx2

USUAL_PATHS = ("/mcp", "/sse")
ASK_SECONDS = 5.0
ALL_SECONDS = 15.0
MAX_GREETING = 256_000
SESSION = "mcp-session-id"
TOO_NEW = -32022  # a server that knows only newer revisions of the protocol than ours
REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
ABOUT = {"name": "executor", "version": __version__}
_ENVELOPE = {f"{META}protocolVersion": REVISION, f"{META}clientInfo": ABOUT, f"{META}clientCapabilities": {}}
DISCOVERY = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": _ENVELOPE}})
MODERN = {"MCP-Protocol-Version": REVISION, "Mcp-Method": "server/discover"}
GREETING = orjson.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": ABOUT,
        },
    }
)
# Raises EgressRefused for a private address that was not granted.
ReachOf = Callable[[str, tuple[str, ...]], Reach]


@dataclass(frozen=True, slots=True)
class Found:
    """`refusal` is why it can't be used yet, though it is there."""

    endpoint: Endpoint
    name: str = ""
    refusal: SourceUnreachable | None = None


async def probe(request: SourceRequest, reach_of: ReachOf) -> Probe | None:
    explained = await request.context.find_explanation()
    if explained == "document":
        return None
    found = await look(request, reach_of, posts=explained != "stream")
    if found is None:
        return None
    url = found.endpoint.url
    name = request.context.redact(found.name.encode()).decode("utf-8", "replace")
    return Probe(
        kind="mcp",
        location=url,
        name=name,
        namespace=tool_names.namespace_from(name, urlsplit(url).hostname or "", ()),
        transport=found.endpoint.transport,
        auth=needed_auth(found.refusal),
        note=found.refusal.message if found.refusal is not None else "",
        guarded=found.refusal is not None,
    )


async def find(request: SourceRequest, reach_of: ReachOf) -> Endpoint:
    """The endpoint to connect to. Raises SourceUnreachable if it finds none, or if it wants a credential first."""
    transport = request.options.get("transport")
    if transport is not None and transport not in TRANSPORTS[:2]:
        raise InvalidRequest(f"{str(transport)[:40]!r} is not a transport for an address", hint="use http or sse")
    if transport is not None:
        endpoint = endpoint_at(request, request.location, transport)
        reach_of(endpoint.url, endpoint.origins)
        return endpoint
    found = await look(request, reach_of)
    if found is None:
        raise SourceUnreachable(
            f"no MCP server answers at {display_url(request.location)}",
            hint="check the address; it is often /mcp or /sse",
            reason="protocol",
        )
    if found.refusal is not None:
        raise found.refusal
    return found.endpoint


async def look(request: SourceRequest, reach_of: ReachOf, *, posts: bool = True) -> Found | None:
    """Raises what the first address raised if no other helped: it is the one that was asked for.

    `posts` is false if it is known to open with a stream.
    """
    first: SourceError | None = None
    try:
        async with asyncio.timeout(ALL_SECONDS):
            for position, url in enumerate(candidates(request.location)):
                try:
                    found = await look_at(request, url, reach_of, posts=posts or position > 0)
                except SourceError as error:
                    if isinstance(error, EgressRefused) or error.details.get("reason") in ("connect", "tls"):
                        raise
                    first = first or (error if position == 0 else None)
                else:
                    if found is not None:
                        return found
    except TimeoutError:
        pass
    if first is not None and first.details.get("reason") == "timeout":
        raise first
    return None


def candidates(location: str) -> list[str]:
    parts = urlsplit(location)
    if parts.path not in ("", "/"):
        return [location]
    return [location, *(urlunsplit((parts.scheme, parts.netloc, path, "", "")) for path in USUAL_PATHS)]


def endpoint_at(request: SourceRequest, url: str, transport: Any) -> Endpoint:
    """The request comes with its grants."""
    return Endpoint(transport, url=url, headers=request.headers, origins=request.consented.origins)


def open_endpoint(request: SourceRequest, endpoint: Endpoint) -> Endpoint:
    """As the request is sent, not as it is kept: a source never remembers a credential."""
    return with_credential(endpoint, request.context.credential)


async def look_at(request: SourceRequest, url: str, reach_of: ReachOf, *, posts: bool = True) -> Found | None:
    http = await asyncio.to_thread(_http)
    endpoint = endpoint_at(request, url, "http")
    reach = reach_of(url, endpoint.origins)
    found = await greet_at(request, endpoint, reach) if posts else None
    if found is not None:
        return found
    endpoint = replace(endpoint, transport="sse")
    async with http.open_client(open_endpoint(request, endpoint), reach=reach, limit=MAX_GREETING) as client:
        try:
            return Found(endpoint) if await streams(client, url) else None
        except SourceUnreachable as error:
            return Found(endpoint, refusal=error) if asks_for_login(error, url) else None


async def greet_at(request: SourceRequest, endpoint: Endpoint, reach: Reach) -> Found | None:
    http = await asyncio.to_thread(_http)
    async with http.open_client(open_endpoint(request, endpoint), reach=reach, limit=MAX_GREETING) as client:
        try:
            return await greet(client, endpoint)
        except SourceUnreachable as error:
            if asks_for_login(error, endpoint.url):
                return Found(endpoint, refusal=error)
            if error.details.get("reason") in ("connect", "tls", "timeout", "auth"):
                raise
            return None


def _http() -> Any:
    from executor.sources.mcp.transports import http_client as http

    return http


async def greet(client: httpx2.AsyncClient, endpoint: Endpoint) -> Found | None:
    """As sessions begin: by the handshake, and where that is refused as the newest revision does."""
    refusal: SourceUnreachable | None = None
    try:
        result = (await ask(client, endpoint, GREETING, {"Mcp-Method": "initialize"})).get("result")
    except SourceUnreachable as error:
        if error.details.get("reason") not in ("status", "protocol", "session"):
            raise
        refusal, result = error, None
    if isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
        return Found(endpoint, shown_name(result.get("serverInfo")))
    try:
        message = await ask(client, endpoint, DISCOVERY, MODERN)
    except SourceUnreachable as error:
        raise refusal or error from error
    found, failure = message.get("result"), message.get("error")
    if isinstance(found, dict) and isinstance(found.get("supportedVersions"), list):
        meta = found.get("_meta")
        return Found(endpoint, shown_name(meta.get(f"{META}serverInfo") if isinstance(meta, dict) else None))
    return Found(endpoint) if isinstance(failure, dict) and failure.get("code") == TOO_NEW else None


async def ask(client: httpx2.AsyncClient, endpoint: Endpoint, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    async with Exchange(ASK_SECONDS).running(display_url(endpoint.url)):
        async with client.stream("POST", endpoint.url, content=body, headers=headers) as response:
            message = await first_message(response)
            session = response.headers.get(SESSION, "")
        if session:
            await end_session(client, endpoint.url, session)
    return message


def shown_name(server: Any) -> str:
    name = (server.get("title") or server.get("name")) if isinstance(server, dict) else ""
    return printable(name, 200) if isinstance(name, str) else ""


async def first_message(response: httpx2.Response) -> dict[str, Any]:
    """Of a body of JSON, or of a stream of events that may stay open after it."""
    read, rest = [], b""
    async for part in response.aiter_bytes():
        read.append(part)
        *lines, rest = (rest + part).split(b"\n") if b"\n" in part else (rest + part,)
        for line in lines:
            if line.startswith(b"data:") and (message := as_object(line[5:])):
                return message
    return as_object(b"".join(read))


async def streams(client: httpx2.AsyncClient, url: str) -> bool:
    """The older transport begins with an event that names where to send messages."""
    async with (
        Exchange(ASK_SECONDS).running(display_url(url)),
        client.stream("GET", url, headers={"Accept": "text/event-stream"}) as response,
    ):
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            return False
        read = b""
        async for part in response.aiter_bytes():
            read += part
            if b"event: endpoint" in read or b"event:endpoint" in read:
                return True
            if len(read) > MAX_GREETING:
                return False
    return False


async def end_session(client: httpx2.AsyncClient, url: str, session: str) -> None:
    try:
        await client.delete(url, headers={SESSION: session})
    except SourceError:
        return


def as_object(text: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def asks_for_login(error: SourceUnreachable, url: str) -> bool:
    """Any service may answer 401; a server of this kind names its metadata, or lives where such servers live."""
    if error.details.get("reason") != "auth":
        return False
    named = any("resource_metadata" in auth["details"] for auth in error.details["auth"])
    return named or urlsplit(url).path.rstrip("/").endswith(USUAL_PATHS)


def needed_auth(refusal: SourceUnreachable | None) -> tuple[Auth, ...]:
    return tuple(Auth(**one) for one in refusal.details["auth"]) if refusal is not None else ()
