"""What runs on this machine: only what its operator has seen and agreed to."""

from __future__ import annotations

import shlex

from executor.errors import ConsentRequired, EgressRefused
from executor.model.identity.permissions import refusal_of
from executor.network.addresses import display_url, is_private_host, parse
from executor.sources import templates
from executor.sources.kind import Kind
from executor.sources.source_request import SourceRequest


# What adding a source would open, in words for the approver.
def runs_here(request: SourceRequest) -> bool:
    """Whether adding it runs code on this machine, as far as the request itself says."""
    request = templates.apply_template(request)
    return bool(request.command) or request.kind == "python" or request.location.startswith("python:")


def opens(request: SourceRequest) -> list[str]:
    """The exact command, the module that would be imported, or each origin that the request itself names."""
    if request.command:
        return [f"this machine, which would run: {shlex.join(request.command)}"]
    request = templates.apply_template(request)
    if request.kind == "python" or request.location.startswith("python:"):
        return [f"the daemon itself, which would import and run: {request.location}"]
    named = (request.location, request.spec_url, request.base_url)
    return list(dict.fromkeys(origin(address) for address in named if address))


def origin(address: str) -> str:
    """A name is not looked up here; whatever addresses it has when the source is added are what it opens."""
    try:
        target = parse(address)
    except EgressRefused:
        return display_url(address)
    where = "a private network" if is_private_host(target.host) else "also if it is on a private network"
    return f"{target.origin} ({where})"


def check_consent(kind: Kind, request: SourceRequest) -> None:
    """Nothing is run on this machine that its operator has not seen."""
    if request.previous is not None or not (request.command or getattr(kind, "runs_code", False)):
        return
    agreed_by_nobody = request.consented.by_code and not request.consented.runs_code
    if not request.consented.by_operator and not agreed_by_nobody:
        raise refusal_of("running a command" if request.command else "importing a module into the daemon")
    if request.consented.runs_code:
        return
    if request.command:
        raise ConsentRequired(
            "connecting this runs a command on this machine, which needs your consent",
            hint="check the command, then repeat with --yes (API: `consent: true`)",
            command=list(request.command),
        )
    raise ConsentRequired(
        f"connecting {request.location[:200]!r} imports and runs its code inside the daemon",
        hint="check that code, then repeat with --yes (API: `consent: true`)",
        location=request.location,
    )
