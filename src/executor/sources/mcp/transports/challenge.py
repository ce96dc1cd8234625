"""What a server that refuses to talk says it needs."""

from __future__ import annotations

from executor.errors import SourceUnreachable
from executor.network.addresses import display_url
from executor.sources import challenges
from executor.sources.kind import Auth

UNSAID = Auth("credential", "unknown", "the server requires a credential")


def challenge(status: int, headers: list[str], where: str) -> SourceUnreachable | None:
    """None for a 403 that asks for nothing: then the answer itself is all there is to report."""
    if status == 403 and not any(headers):
        return None
    found = challenges.asked_for(headers) or [UNSAID]
    needs = found[0].description.removeprefix("the server requires ")
    metadata = found[0].details.get("resource_metadata", "")
    login = f"; its login is described at {display_url(metadata)}" if metadata else ""
    return SourceUnreachable(
        f"{where} answered {status}: it requires {needs}{login}",
        hint="add a credential to the source, for example with --header Authorization",
        reason="auth",
        sent=False,
        upstream_status=status,
        auth=list(challenges.views(found)),
    )
