"""What a server that refuses to talk says it needs."""

from __future__ import annotations

import re
from typing import Any

from executor.errors import SourceUnreachable
from executor.sources.addresses import shown
from executor.sources.kind import Auth
from executor.sources.mcp.endpoint import printable

_PARAMETER = re.compile(r'([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.){0,2000})"|([^\s,"]{1,500}))')
TOLD = ("realm", "resource_metadata", "scope", "error", "error_description")


def read_challenge(header: str) -> Auth:
    """Of `WWW-Authenticate`. Without one, all that is known is that a credential is missing."""
    scheme, _, rest = header.strip()[:4_000].partition(" ")
    found = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(rest)}
    details: dict[str, Any] = {name: printable(found[name], 500) for name in TOLD if found.get(name)}
    if "resource_metadata" in details:
        return Auth("oauth", "oauth2", "the server asks for a login by OAuth", details)
    if scheme.lower() == "basic":
        return Auth("basic", "http-basic", "the server asks for a user name and password", details)
    if scheme.lower() == "bearer":
        return Auth("bearer", "http-bearer", "the server asks for a bearer token", details)
    return Auth("credential", "unknown", "the server asks for a credential", details)


def challenge(status: int, header: str, where: str) -> SourceUnreachable | None:
    """None for a 403 that asks for nothing: then the answer itself is what there is to tell."""
    if status == 403 and not header:
        return None
    auth = read_challenge(header)
    needs = auth.description.removeprefix("the server asks for ")
    metadata = auth.details.get("resource_metadata", "")
    login = f"; its login is described at {shown(metadata)}" if metadata else ""
    return SourceUnreachable(
        f"{where} answered {status}: it needs {needs}{login}",
        hint="give the source a credential, for instance with --header Authorization",
        reason="auth",
        sent=False,
        upstream_status=status,
        auth=[{"name": auth.name, "type": auth.type, "description": auth.description, "details": auth.details}],
    )
