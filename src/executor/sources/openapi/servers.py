"""Where an operation is sent: the base URL that was given, else what the document's servers say."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from executor.errors import DocumentInvalid
from executor.sources.addresses import is_link_local, is_private_host, literal, parse, refusal, shown

GIVE_BASE_URL = "give it when adding the source: --base-url https://api.example.com"


def base_url(servers: Any, *, given: str, location: str) -> str:
    """Raises DocumentInvalid or EgressRefused. Without query, fragment or a slash at the end."""
    url = given or from_servers(servers, location)
    target = parse(url)
    parts = urlsplit(target.url)
    if ".." in parts.path.split("/"):
        raise DocumentInvalid(f"the base URL {shown(url)} contains `..`", hint=GIVE_BASE_URL)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def from_servers(servers: Any, location: str) -> str:
    is_url = location.startswith(("http://", "https://"))
    first = servers[0] if isinstance(servers, list) and servers else None
    template = first.get("url") if isinstance(first, dict) else None
    if not isinstance(template, str) or not template.strip():
        if is_url:
            return urljoin(location, "/")
        raise DocumentInvalid("the document does not say where its service is (no `servers`)", hint=GIVE_BASE_URL)
    assert isinstance(first, dict)  # noqa: S101 - it gave the template
    url = fill(template.strip(), first.get("variables"))
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url):
        return url
    if not is_url:
        raise DocumentInvalid(
            f"the document's server {url[:200]!r} is relative to an unknown address", hint=GIVE_BASE_URL
        )
    return urljoin(location, url)


def fill(template: str, variables: Any) -> str:
    def value(match: re.Match[str]) -> str:
        variable = variables.get(match[1]) if isinstance(variables, dict) else None
        default = variable.get("default") if isinstance(variable, dict) else None
        if default is None:
            raise DocumentInvalid(f"the server variable {match[1][:80]!r} has no default", hint=GIVE_BASE_URL)
        return str(default)

    return re.sub(r"\{([^{}]+)\}", value, template)


def granted(location: str, given: str, server: str, *, is_upload: bool) -> list[str]:
    """Origins on private networks that an operator's request opens.

    Those it names itself; and the server its document names when that document is the operator's own file or comes
    from a private host as well. A public document can't point into the private network, and none at link-local
    addresses, where cloud metadata services are.
    """
    named = [parse(url) for url in (location, given) if url.startswith(("http://", "https://"))]
    origins = [target.origin for target in named]
    target = parse(server)
    address = literal(target.host)
    trusted = is_upload or any(is_private_host(one.host) for one in named)
    if trusted and not (address is not None and is_link_local(address)):
        origins.append(target.origin)
    return list(dict.fromkeys(origins))


def check_reachable(server: str, origins: list[str]) -> None:
    target = parse(server)
    if target.origin not in origins and is_private_host(target.host):
        raise refusal(target.host)
