"""What the addition of a source opens on private networks: only what was private, and was seen, at that moment."""

from __future__ import annotations

from dataclasses import replace

from executor.errors import EgressRefused
from executor.network import addresses
from executor.network.addresses import Target, is_private_host, parse
from executor.network.private_access import PUBLIC, grant_of, reach_of
from executor.sources.source_request import SourceRequest


async def grant_addresses(request: SourceRequest) -> SourceRequest:
    """The request with grants for the private addresses that it names itself, if it may open any."""
    consent = request.consented
    if not request.is_new or consent.granted is not None or not consent.private_network:
        return request
    written = [parse(url) for url in (request.location, request.spec_url, request.base_url) if is_url(url)]
    found = [await grant_of(target, may_be_metadata=consent.by_operator) for target in written]
    grants = tuple(dict.fromkeys(grant for grant in found if grant))
    return replace(request, consented=replace(consent, granted=grants))


async def settle_grants(request: SourceRequest, server: str, *, anywhere: bool = False) -> list[str]:
    """The grants of a source whose document has been read; `server` is where its calls go.

    A document opens its own host for an operator, and nothing for code: a human has seen only the request. Raises
    EgressRefused if the server is private and stays closed.
    """
    origins, target = list(request.consented.origins), parse(server)
    if anywhere or reach_of(target, frozenset(origins)) != PUBLIC:
        return origins
    is_new = request.consented.private_network and request.is_new
    grant = await grant_of(target) if is_new and not request.base_url else ""
    if grant and may_open(request, target):
        return [*origins, grant]
    if grant or is_private_host(target.host):
        raise unshown(request, target) if is_new else addresses.refusal(target.host)
    return origins


def may_open(request: SourceRequest, server: Target) -> bool:
    if request.consented.by_code:
        return False
    named = [parse(url).host for url in (request.location, request.spec_url) if is_url(url)]
    return not named or server.host in named


def is_url(location: str) -> bool:
    return location.startswith(("http://", "https://"))


def unshown(request: SourceRequest, server: Target) -> EgressRefused:
    by_code = request.consented.by_code
    hint = "pass `baseUrl`, so that it is shown" if by_code else f"if this is expected, pass {server.url} as `baseUrl`"
    return EgressRefused(
        f"the document names the server {server.origin}, which is on a private network and not part of the request",
        hint=hint,
    )
