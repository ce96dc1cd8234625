"""What runs on this machine: only what its operator has seen and agreed to."""

from __future__ import annotations

import shlex

from executor.errors import ConsentRequired, EgressRefused, Forbidden
from executor.model.identity.permissions import refusal_of
from executor.network.addresses import display_url, is_private_host, parse
from executor.sources import templates
from executor.sources.kind import Kind
from executor.sources.source_request import SourceRequest

STRANGERS_KINDS = ("openapi", "graphql")  # each call is one request, and nothing stays open between them


# What adding a source would open, in words for the approver.
def runs_here(request: SourceRequest) -> bool:
    """Whether adding it runs code on this machine, as far as the request itself says."""
    request = templates.apply_template(request)
    return bool(request.command) or request.kind == "python" or request.location.startswith("python:")


def opens(request: SourceRequest, *, only_public: bool = False) -> list[str]:
    """The exact command, the module that would be imported, or each origin that the request itself names."""
    if request.command:
        return [f"this machine, which would run: {shlex.join(request.command)}"]
    request = templates.apply_template(request)
    if request.kind == "python" or request.location.startswith("python:"):
        return [f"the daemon itself, which would import and run: {request.location}"]
    named = (request.location, request.spec_url, request.base_url)
    return list(dict.fromkeys(origin(address, only_public=only_public) for address in named if address))


def origin(address: str, *, only_public: bool = False) -> str:
    """A name is not looked up here; whatever addresses it has when the source is added are what it opens."""
    try:
        target = parse(address)
    except EgressRefused:
        return display_url(address)
    if only_public:
        return f"{target.origin} (only if it is a public address)"
    where = "a private network" if is_private_host(target.host) else "also if it is on a private network"
    return f"{target.origin} ({where})"


def is_for_strangers(request: SourceRequest) -> bool:
    """As far as the request itself says: a plain address, without a credential."""
    request = templates.apply_template(request)
    named = [url for url in (request.location, request.spec_url, request.base_url) if url]
    plain = not request.command and request.document is None and not request.headers
    return plain and all(url.startswith(("http://", "https://")) for url in named)


def check_strangers(request: SourceRequest) -> None:
    """What an anonymous workspace may connect. Its kind is checked once it is known."""
    if request.consented.by_stranger and not (
        is_for_strangers(request) and (not request.kind or request.kind in STRANGERS_KINDS)
    ):
        raise refusal_of_strangers()


def refusal_of_strangers() -> Forbidden:
    return Forbidden(
        "an anonymous workspace connects only OpenAPI documents and GraphQL endpoints, by a public address and "
        "without a credential",
        hint="sign in to connect anything else",
    )


def check_consent(kind: Kind, request: SourceRequest) -> None:
    """Nothing is run on this machine that its operator has not seen."""
    if not request.is_new or not (request.command or getattr(kind, "runs_code", False)):
        return
    agreed_by_nobody = request.consented.by_code and not request.consented.runs_code
    if not request.consented.by_operator and not agreed_by_nobody:
        raise refusal_of("running a command" if request.command else "importing a module into the daemon")
    if request.consented.runs_code:
        return
    hint = "a human must approve the call" if request.consented.by_code else "check it, then repeat with `consent`"
    if request.command:
        raise ConsentRequired(
            "connecting this runs a command on this machine, which needs your consent",
            hint=hint,
            command=list(request.command),
        )
    raise ConsentRequired(
        f"connecting {request.location[:200]!r} imports and runs its code inside the daemon",
        hint=hint,
        location=request.location,
    )
