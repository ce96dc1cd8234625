"""From a source to its authorization server: by the source's own metadata, its challenge, or its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin, urlsplit

from executor.connections.oauth import metadata
from executor.connections.oauth.http import HttpClient, Origins
from executor.connections.oauth.metadata import Server
from executor.dataclass import dataclass
from executor.errors import InvalidRequest, OAuthFailed
from executor.model.source import Source, call_address
from executor.network.addresses import display_url, parse

OAUTH_TYPES = ("oauth2", "openIdConnect")
FLOWS = ("authorizationCode", "deviceAuthorization", "clientCredentials")
OFFLINE = "offline_access"


@dataclass(frozen=True, slots=True)
class Found:
    """`resource` names what a token is for; empty where nothing published it, and then it is not sent."""

    server: Server
    resource: str = ""
    scopes: tuple[str, ...] = ()


def http_address(source: Source) -> str:
    """Where its calls go, and so where a token may go; of a source that can't be read yet, where it would be read."""
    config = source.known_keys
    url = call_address(config)
    if unread := config.get("unread"):
        written = [str(config.get(name) or "") for name in ("spec_url", "location")]
        url = next((one for one in written if "://" in one and parse(one).origin == unread), url)
    if config.get("command") or not url.startswith(("http://", "https://")):
        raise InvalidRequest(
            f"the source {source.namespace} is not reached over HTTP, so it can't use OAuth",
            hint="pass its credentials as environment variables or values",
        )
    return url


def details_of(source: Source, way: str) -> Mapping[str, Any]:
    """Of the scheme called `way`, or of the first that is a login."""
    found = [auth for auth in source.known_keys.get("auth") or () if auth.get("type") in OAUTH_TYPES]
    chosen = next((auth for auth in found if auth.get("name") == way), found[0] if found else {})
    return dict(chosen.get("details") or {})


async def discover(http: HttpClient, source: Source, way: str, origins: Origins) -> Found:
    url, details = http_address(source), details_of(source, way)
    published = await protected_resource(http, url, str(details.get("resource_metadata") or ""), origins)
    asked = metadata.names_in(details.get("scope"))
    if published is not None:
        issuers = metadata.names_in(published.get("authorization_servers"))
        if issuers:
            server = await of_issuer(http, issuers[0], origins)
            offered = asked or metadata.names_in(published.get("scopes_supported"))
            return Found(server, str(published["resource"]), offered)
    if found := await read_declared(http, details, url, origins):
        return found
    if source.kind == "mcp":
        return Found(await of_issuer(http, parse_origin(url), origins), url, asked)
    raise OAuthFailed(
        f"{source.namespace} does not say where to log in",
        hint="use a token instead, or add it again from a document that describes its login",
    )


async def protected_resource(http: HttpClient, url: str, page: str, origins: Origins) -> Mapping[str, Any] | None:
    """RFC 9728. What a challenge names must fit; what merely lies at a well-known place may be of something else."""
    for where in [page] if page else metadata.resource_addresses(url):
        document = await http.document(where, origins)
        if document is None:
            continue
        resource = document.get("resource")
        if isinstance(resource, str) and metadata.covers(resource, url):
            return document
        if page:
            raise OAuthFailed(
                f"{display_url(page)} describes {display_url(str(resource))}, which is not where this source was added",
                hint="the operator of the service must correct this; nothing was sent there",
            )
    return None


async def of_issuer(http: HttpClient, issuer: str, origins: Origins) -> Server:
    for where in metadata.server_addresses(issuer):
        document = await http.document(where, origins)
        if document is not None:
            return metadata.read_server(document, issuer)
    raise OAuthFailed(
        f"the authorization server {display_url(issuer)} publishes no metadata",
        hint="its operator must publish /.well-known/oauth-authorization-server",
    )


async def read_declared(http: HttpClient, details: Mapping[str, Any], url: str, origins: Origins) -> Found | None:
    for name in ("oauth2MetadataUrl", "openIdConnectUrl"):
        if isinstance(details.get(name), str):
            return Found(await at_address(http, urljoin(url, details[name]), origins))
    flows = details.get("flows")
    if not isinstance(flows, Mapping):
        return None
    said = of_flows(flows, url)
    if said is None:
        return None
    return Found(await complete_server(http, said, origins), scopes=scopes_of(flows))


async def at_address(http: HttpClient, where: str, origins: Origins) -> Server:
    document = await http.document(where, origins)
    issuer = document.get("issuer") if document else None
    if document is None or not isinstance(issuer, str):
        raise OAuthFailed(f"no server metadata at {display_url(where)}", hint="check the source's document")
    if where not in metadata.server_addresses(issuer):
        raise OAuthFailed(
            f"the metadata at {display_url(where)} was issued by {display_url(issuer)}, which "
            "publishes its metadata elsewhere",
            hint="nothing in it was used; the operator of the server must correct it",
        )
    return metadata.read_server(document, issuer)


def of_flows(flows: Mapping[str, Any], url: str) -> Server | None:
    """The endpoints that an OpenAPI document writes out. Addresses may be relative to the service."""
    parts = [dict(flows[name]) for name in FLOWS if isinstance(flows.get(name), Mapping)]
    given: dict[str, str] = {}
    for flow in parts:
        for name in ("authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl"):
            if isinstance(flow.get(name), str) and flow[name]:
                given.setdefault(name, metadata.address({name: urljoin(url, flow[name])}, name))
    if not given.get("tokenUrl"):
        return None
    return Server(
        issuer=given["tokenUrl"],
        token_endpoint=given["tokenUrl"],
        authorization_endpoint=given.get("authorizationUrl", ""),
        refresh_endpoint=given.get("refreshUrl", ""),
        device_endpoint=given.get("deviceAuthorizationUrl", ""),
        scopes=scopes_of(flows),
        pkce=True,  # nothing says so: it is sent, and a server that knows it verifies it
        is_declared=True,
    )


def scopes_of(flows: Mapping[str, Any]) -> tuple[str, ...]:
    for name in FLOWS:
        flow = flows.get(name)
        if isinstance(flow, Mapping):
            return metadata.names_in(flow.get("scopes"))
    return ()


async def complete_server(http: HttpClient, said: Server, origins: Origins) -> Server:
    """The server's own metadata knows more, and is believed if it names the same endpoints as the document."""
    try:
        server = await of_issuer(http, parse_origin(said.token_endpoint), origins)
    except OAuthFailed as error:
        if error.details.get("unreachable"):
            raise
        return said
    same = server.token_endpoint == said.token_endpoint
    if not same or (said.authorization_endpoint and server.authorization_endpoint != said.authorization_endpoint):
        return said
    return replace(server, refresh_endpoint=said.refresh_endpoint)


def parse_origin(url: str) -> str:
    parse(url)
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def choose_scopes(found: Found, given: Sequence[str], *, offline: bool) -> tuple[str, ...]:
    """As little as was asked for, and that it may last, where the server offers it.

    Without any other scope it is not added: a server's own defaults would be lost.
    """
    scopes = metadata.names_in(list(given)) or found.scopes
    if offline and OFFLINE in found.server.scopes and scopes and OFFLINE not in scopes:
        scopes = (*scopes, OFFLINE)
    return scopes
