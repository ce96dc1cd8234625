"""Where an operation is sent: the base URL that was given, else what the document's servers say."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from executor.errors import DocumentInvalid
from executor.sources.addresses import parse, shown

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
