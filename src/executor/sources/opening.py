"""What adding a source would open, in words for the one who is asked to approve it."""

from __future__ import annotations

import shlex

from executor.errors import EgressRefused
from executor.sources import templates
from executor.sources.addresses import is_private_host, parse, shown
from executor.sources.kind import SourceRequest


def runs_here(request: SourceRequest) -> bool:
    """Whether adding it runs code on this machine, as far as the request itself says."""
    request = templates.applied(request)
    return bool(request.command) or request.kind == "python" or request.location.startswith("python:")


def opens(request: SourceRequest) -> list[str]:
    """The exact command, the module that would be imported, or each origin that the request itself names."""
    if request.command:
        return [f"this machine, which would run: {shlex.join(request.command)}"]
    request = templates.applied(request)
    if request.kind == "python" or request.location.startswith("python:"):
        return [f"the daemon itself, which would import and run: {request.location}"]
    named = (request.location, request.spec_url, request.base_url)
    return list(dict.fromkeys(origin(address) for address in named if address))


def origin(address: str) -> str:
    """A name is not looked up here; whatever addresses it has when the source is added are what it opens."""
    try:
        target = parse(address)
    except EgressRefused:
        return shown(address)
    where = "a private network" if is_private_host(target.host) else "also if it is on a private network"
    return f"{target.origin} ({where})"
