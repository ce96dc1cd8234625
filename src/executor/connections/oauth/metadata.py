"""What servers publish about themselves: where it is found, and what of it is believed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from executor.dataclass import dataclass
from executor.errors import EgressRefused, OAuthFailed
from executor.network.addresses import display_url, parse

SERVER = "oauth-authorization-server"
OPENID = "openid-configuration"
RESOURCE = "oauth-protected-resource"
MAX_URL = 2_000
MAX_NAMES = 500


@dataclass(frozen=True, slots=True)
class Server:
    """`issuer` names it. `is_declared` when only a source's document speaks of it: then it is its token endpoint.

    `pkce` says that it verifies S256, `states_issuer` that its answers carry `iss`, `takes_client_urls` that a client
    may be known by the address of a document.
    """

    issuer: str
    token_endpoint: str = ""
    authorization_endpoint: str = ""
    refresh_endpoint: str = ""
    registration_endpoint: str = ""
    device_endpoint: str = ""
    scopes: tuple[str, ...] = ()
    auth_methods: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = ()
    pkce: bool = False
    states_issuer: bool = False
    takes_client_urls: bool = False
    is_declared: bool = False

    def pack(self) -> dict[str, Any]:
        return asdict(self)


def unpack_server(data: Mapping[str, Any]) -> Server:
    names = {one.name for one in fields(Server)}
    known: dict[str, Any] = {}
    for name, value in data.items():
        if name in names:
            known[name] = tuple(value) if isinstance(value, list) else value
    return Server(**known)


def server_addresses(issuer: str) -> list[str]:
    """RFC 8414 puts the well-known part before the issuer's path, OpenID after it."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    found = [well_known(issuer, SERVER), well_known(issuer, OPENID)]
    if path:
        found.append(urlunsplit((parts.scheme, parts.netloc, f"{path}/.well-known/{OPENID}", "", "")))
    return list(dict.fromkeys(found))


def resource_addresses(url: str) -> list[str]:
    """RFC 9728: that of the path, then that of the whole host."""
    parts = urlsplit(url)
    return list(
        dict.fromkeys(
            [well_known(url, RESOURCE), urlunsplit((parts.scheme, parts.netloc, f"/.well-known/{RESOURCE}", "", ""))]
        )
    )


def well_known(url: str, name: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, f"/.well-known/{name}{parts.path.rstrip('/')}", "", ""))


def same_issuer(one: str, other: str) -> bool:
    """Compared as text. Only an empty path and `/` are the same."""
    return root_of(one) == root_of(other)


def root_of(url: str) -> str:
    return url[:-1] if url.endswith("/") and urlsplit(url).path == "/" else url


def read_server(document: Mapping[str, Any], issuer: str) -> Server:
    """Anyone who answers for another issuer than the one asked could pass its endpoints off as that one's."""
    said = document.get("issuer")
    if not isinstance(said, str) or not same_issuer(said, issuer):
        stated = display_url(said) if isinstance(said, str) else "nobody"
        raise OAuthFailed(
            f"the metadata of {display_url(issuer)} was issued by {stated}, not by that server",
            hint="nothing in it was used; the operator of the server must correct it",
        )
    methods = names_in(document.get("code_challenge_methods_supported"))
    return Server(
        issuer=said,
        token_endpoint=address(document, "token_endpoint"),
        authorization_endpoint=address(document, "authorization_endpoint"),
        registration_endpoint=address(document, "registration_endpoint"),
        device_endpoint=address(document, "device_authorization_endpoint"),
        scopes=names_in(document.get("scopes_supported")),
        auth_methods=names_in(document.get("token_endpoint_auth_methods_supported")) or ("client_secret_basic",),
        grant_types=names_in(document.get("grant_types_supported")) or ("authorization_code",),
        pkce="S256" in methods,
        states_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        takes_client_urls=document.get("client_id_metadata_document_supported") is True,
    )


def address(document: Mapping[str, Any], name: str) -> str:
    """Only http and https: a browser would run a `javascript:` address as a page of ours."""
    value = document.get(name)
    if value is None or value == "":
        return ""
    try:
        if not isinstance(value, str) or len(value) > MAX_URL:
            raise EgressRefused(f"{str(value)[:80]!r} is not an address")
        return parse(value).url
    except EgressRefused as error:
        raise OAuthFailed(
            f"the authorization server names an unusable {name}: {error.message}",
            hint="the operator of the server must correct it",
        ) from error


def names_in(value: Any) -> tuple[str, ...]:
    """Scopes, methods and types: short printable words, without what could end one of them early."""
    words = value.split() if isinstance(value, str) else value if isinstance(value, Sequence) else ()
    return tuple(
        dict.fromkeys(
            word for word in words[:MAX_NAMES] if isinstance(word, str) and 0 < len(word) <= 500 and is_name(word)
        )
    )


def is_name(word: str) -> bool:
    return all("!" <= letter <= "~" and letter not in '"\\' for letter in word)


def covers(resource: str, url: str) -> bool:
    """Whether a token for `resource` is meant for `url`: the same origin, and its path or one above it."""
    try:
        one, other = parse(resource), parse(url)
    except EgressRefused:
        return False
    above, below = urlsplit(one.url).path.rstrip("/"), urlsplit(other.url).path.rstrip("/")
    return one.origin == other.origin and (below == above or below.startswith(f"{above}/"))
