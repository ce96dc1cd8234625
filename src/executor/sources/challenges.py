"""What a service that answers 401 says it takes: the challenges of `WWW-Authenticate`, read alike for every kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from executor.errors import SourceUnreachable
from executor.network.addresses import display_url, parse
from executor.sources.kind import Auth

UNSAID = Auth("bearer", "http-bearer", "the service did not say which credential it accepts")
NEEDS_CREDENTIAL = "auth"  # `reason` of an error
REFUSED = (401, 403)
MAX_HEADER = 4_000
MAX_TEXT = 500
PARAMETERS = ("realm", "resource_metadata", "scope", "error", "error_description")
# Those that need more than a text that is sent as it is: each request signed, or several turns.
INVOLVED = frozenset(
    {
        "digest", "negotiate", "ntlm", "kerberos", "hawk", "hoba", "mutual", "vapid", "dpop", "gnap", "signature",
        "oauth", "privatetoken", "concealed",
    }
)  # fmt: skip
_SIMPLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}\Z")
_PIECE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+')
_START = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(\s*=)?")
_PARAMETER = re.compile(r'([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.){0,2000})"|([^\s,"]{1,500}))')


def credential_error(url: str, status: int, headers: Iterable[str], *, method: str = "GET") -> SourceUnreachable:
    """Why nothing can be read there yet. `auth`, among the details, is what it takes, `refused_by` where that goes."""
    found = asked_for(headers)
    needs = found[0].description.removeprefix("the server requires ") if found else "a credential"
    metadata = found[0].details.get("resource_metadata", "") if found else ""
    login = f"; its login is described at {display_url(metadata)}" if metadata else ""
    said = f"answered {status}: it requires" if status in REFUSED else "requires"
    return SourceUnreachable(
        f"{display_url(url)} {said} {needs}{login}",
        hint="add a credential that it accepts",
        reason=NEEDS_CREDENTIAL,
        sent=False,
        upstream_status=status,
        auth=list(views(found or [UNSAID])),
        refused_by=parse(url).origin,
        request={"method": method, "url": display_url(url), "status": status},
    )


def asked_for(headers: Iterable[str]) -> list[Auth]:
    """In the order of the service, those that can be given before those that can't."""
    found = [auth_of(scheme, parameters) for scheme, parameters in challenges(headers)]
    return sorted(found, key=lambda one: one.type == "unknown")


def header_values(headers: Mapping[str, str]) -> list[str]:
    """Of `WWW-Authenticate`, which may be sent several times."""
    many = getattr(headers, "getall", None)
    return list(many("WWW-Authenticate", ())) if many else [headers.get("WWW-Authenticate", "")]


def challenges(headers: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Scheme and parameters. Challenges are separated by commas, and so are the parameters of one."""
    scheme = ""
    parameters: dict[str, str] = {}
    for header in headers:
        for piece in _PIECE.findall(header[:MAX_HEADER]):
            start = _START.match(piece)
            if start is None:
                continue
            rest = piece
            if start[2] is None:
                if scheme:
                    yield scheme, parameters
                scheme, parameters, rest = start[1], {}, piece[start.end() :]
            parameters.update((name.lower(), quoted or plain) for name, quoted, plain in _PARAMETER.findall(rest))
        if scheme:
            yield scheme, parameters
        scheme, parameters = "", {}


def auth_of(scheme: str, parameters: Mapping[str, str]) -> Auth:
    details: dict[str, Any] = {name: printable(parameters[name]) for name in PARAMETERS if parameters.get(name)}
    known = scheme.lower()
    if "resource_metadata" in details:
        return Auth("oauth", "oauth2", "the server requires an OAuth login", details)
    if known == "basic":
        return Auth("basic", "http-basic", "the server requires a user name and password", details)
    if known == "bearer":
        return Auth("bearer", "http-bearer", "the server requires a bearer token", details)
    if known in INVOLVED or known.startswith(("scram-", "aws4-")) or not _SIMPLE.match(scheme):
        name = printable(scheme)[:60]
        return Auth(name, "unknown", f"the server requires {name} authentication, which is not supported", details)
    return Auth(
        known, "http-token", f"the server requires a token of the form `{scheme} …`", {**details, "scheme": scheme}
    )


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:MAX_TEXT]


def views(found: Iterable[Auth]) -> tuple[dict[str, Any], ...]:
    """As a source's config has them."""
    return tuple(
        {"name": one.name, "type": one.type, "description": one.description, "details": one.details} for one in found
    )
