"""Where a login really goes: the origins of its endpoints, which are one, or confirmed by a person, each by name.

A document or a server's metadata can name the login page of one service and a token endpoint of its own: what the
person consents to there would be handed to the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from executor.connections.oauth.http import origin_of
from executor.connections.oauth.metadata import Server
from executor.errors import EgressRefused, InvalidRequest, OAuthFailed
from executor.network.addresses import parse

GrantType = Literal["authorization_code", "device_code", "client_credentials"]
# What goes to each endpoint, in the words that a person reads.
PURPOSES = {
    "authorization": "you sign in",
    "device": "the code for your device comes from",
    "verification": "you type the code in",
    "token": "the code and the client's secret go",
    "refresh": "renewals go",
    "registration": "the client is registered",
}


def endpoints_of(server: Server, grant_type: GrantType, *, registers: bool) -> dict[str, str]:
    """The addresses that a login of this type uses, by purpose."""
    found = {
        "authorization": server.authorization_endpoint if grant_type == "authorization_code" else "",
        "device": server.device_endpoint if grant_type == "device_code" else "",
        "token": server.token_endpoint,
        "refresh": server.refresh_endpoint,
        "registration": server.registration_endpoint if registers else "",
    }
    return {purpose: url for purpose, url in found.items() if url}


def check_origins(endpoints: Mapping[str, str], confirmed: Collection[str]) -> None:
    """Raises OAuthFailed, with `servers` in its details, unless there is one origin or each is confirmed."""
    origins = {purpose: parse(url).origin for purpose, url in endpoints.items()}
    distinct = set(origins.values())
    if len(distinct) <= 1 or distinct <= set(confirmed):
        return
    named = "; ".join(f"{PURPOSES[purpose]} at {host_of(url)}" for purpose, url in endpoints.items())
    addresses = list(dict.fromkeys(origin_of(url) for url in endpoints.values()))
    servers = ", ".join(addresses)
    raise OAuthFailed(
        f"this login involves several servers: {named}",
        hint=f"continue only if all of them belong to the service; then repeat it with `confirmServers`: {servers}",
        servers=[{"use": purpose, "says": PURPOSES[purpose], "origin": origin_of(endpoints[purpose])}
                 for purpose in endpoints],
    )  # fmt: skip


def confirmed_origins(given: Iterable[str], before: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Those that a person names now, and those of servers that the source has a login at already."""
    found: set[str] = set()
    for text in given:
        try:
            found.add(parse(text if "://" in text else f"https://{text}").origin)
        except EgressRefused as error:
            raise InvalidRequest(
                f"{text[:80]!r} is not a valid server address: {error.message}", hint=error.hint
            ) from error
    for server in before:
        for name, url in server.items():
            if name.endswith("_endpoint") and url:
                found.add(parse(str(url)).origin)
    return frozenset(found)


def host_of(url: str) -> str:
    """As a person reads it: without a scheme, unless that is worth a look."""
    origin = origin_of(url)
    return origin.removeprefix("https://")
