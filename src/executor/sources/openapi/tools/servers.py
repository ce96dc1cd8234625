"""Where an operation is sent: the base URL that was given, else what the document's servers say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from executor.errors import DocumentInvalid, EgressRefused
from executor.network.addresses import display_url, parse

GIVE_BASE_URL = "pass it as `baseUrl` when you add the source, for example https://api.example.com"
NO_OPTIONS: Mapping[str, Any] = {}
MAX_SERVERS = 50


def base_url(servers: Any, *, given: str, location: str, options: Mapping[str, Any] = NO_OPTIONS) -> str:
    """Raises DocumentInvalid or EgressRefused. Without query, fragment or a slash at the end.

    `options` may choose: `server` by its number, description, name or URL, `variables` by their names.
    """
    url = given or from_servers(servers, location, options)
    target = parse(url)
    parts = urlsplit(target.url)
    if ".." in parts.path.split("/"):
        raise DocumentInvalid(f"the base URL {display_url(url)} contains `..`", hint=GIVE_BASE_URL)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def fixed_query(servers: Any, *, given: str, location: str, options: Mapping[str, Any] = NO_OPTIONS) -> str:
    """What the document's server has behind a `?`: it goes with every request, like the query of a path."""
    return "" if given or not servers else urlsplit(from_servers(servers, location, options)).query


def from_servers(servers: Any, location: str, options: Mapping[str, Any]) -> str:
    is_url = location.startswith(("http://", "https://"))
    entries = [one for one in servers if isinstance(one, dict)] if isinstance(servers, list) else []
    entries = [one for one in entries if isinstance(one.get("url"), str) and one["url"].strip()]
    if not entries:
        if is_url:
            return urljoin(location, "/")
        raise DocumentInvalid("the document does not say where its service is (no `servers`)", hint=GIVE_BASE_URL)
    chosen = choose(entries, options.get("server"))
    url = fill(chosen["url"].strip(), chosen.get("variables"), options.get("variables"))
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        return url
    if re.match(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d+)?(/|\Z)", url):
        return f"https://{url}"
    if is_url:
        return urljoin(location, url)
    if re.match(r"//[A-Za-z0-9]", url):
        return f"https:{url}"
    raise DocumentInvalid(f"the document's server {url[:200]!r} is relative to an unknown address", hint=GIVE_BASE_URL)


def choose(entries: list[dict[str, Any]], wanted: Any) -> dict[str, Any]:
    if wanted is None or wanted == "":
        return entries[0]
    if isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(entries):
        return entries[wanted]
    if isinstance(wanted, str) and wanted.isdecimal() and len(wanted) < 4 and int(wanted) < len(entries):
        return entries[int(wanted)]
    for one in entries:
        if wanted in (one["url"], one.get("description"), one.get("name")):
            return one
    known = ", ".join(one["url"][:80] for one in entries[:10])
    raise DocumentInvalid(f"the document has no server {str(wanted)[:80]!r}", hint=f"choose one of: {known}")


def fill(template: str, variables: Any, given: Any = None) -> str:
    """Raises DocumentInvalid for a variable without a value, or with one that its `enum` does not allow."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        variable = variables.get(name) if isinstance(variables, dict) else None
        variable = variable if isinstance(variable, dict) else {}
        chosen = given.get(name) if isinstance(given, dict) else None
        allowed = variable.get("enum")
        if chosen is not None and isinstance(allowed, list) and allowed and str(chosen) not in map(str, allowed):
            known = ", ".join(str(one)[:40] for one in allowed[:10])
            raise DocumentInvalid(
                f"the server variable {name[:80]!r} can't be {str(chosen)[:80]!r}", hint=f"choose one of: {known}"
            )
        if chosen is None:
            chosen = variable.get("default")
        if chosen is None and isinstance(allowed, list) and allowed:
            chosen = allowed[0]
        if chosen is None or not str(chosen).strip():
            raise DocumentInvalid(
                f"the server variable {name[:80]!r} has no default",
                hint=f"pass `variables.{name[:80]}` when you add the source, or a whole `baseUrl`",
            )
        return str(chosen)

    return re.sub(r"\{([^{}]+)\}", value, template)


def list_servers(servers: Any) -> list[dict[str, Any]]:
    """What there is to choose from, for anyone who connects the source."""
    found = []
    for one in servers if isinstance(servers, list) else []:
        if isinstance(one, dict) and isinstance(one.get("url"), str):
            variables = one.get("variables")
            named = variables.items() if isinstance(variables, dict) else ()
            choices = {str(name): part.get("enum") or [] for name, part in named if isinstance(part, dict)}
            choices = {
                name: [str(each) for each in part] if isinstance(part, list) else [] for name, part in choices.items()
            }
            found.append({"url": one["url"][:500], "variables": choices})
    return found[:MAX_SERVERS]


def origin_of(url: str) -> str:
    """Empty for what is not an address."""
    try:
        return parse(url).origin
    except EgressRefused:
        return ""
