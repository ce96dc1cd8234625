"""Addresses that stand in for the real one: `https://subdomain.okta.com`, `https://api.example.com`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_RESERVED = re.compile(r"(\A|\.)(example\.(com|org|net)|example|invalid|test)\Z")
_STANDS_IN = re.compile(
    r"(your|my)[-_]?(own[-_]?)?(sub)?-?(domain|company|instance|site|tenant|account|org|organi[sz]ation|server|host|app|name"
    r"|workspace|environment|shop|store|project|cluster|deployment)([-_]?(name|id|url))?"
    r"|your[-_][\w-]+|(sub|tenant|company|instance|organi[sz]ation|customer|account)[-_]?(domain|name|id)|subdomain"
    r"|<[^>]*>|%3c.*%3e|x{3,}|company|tenant|yourdomain"
)


def is_placeholder(url: str) -> bool:
    """By its host alone. What a real service is called by may look alike, so this is only a reason for a note."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return True
    if "{" in url or _RESERVED.search(host):
        return True
    return any(_STANDS_IN.fullmatch(label) for label in host.split("."))


def note(url: str, variables: list[str] | None = None) -> str:
    """What to do about one; empty for an address that looks real."""
    if not url or not is_placeholder(url):
        return ""
    by_name = "".join(f"`variables.{name}` or " for name in (variables or [])[:3])
    return f"{url} is a placeholder, so calls will fail: pass the real address with {by_name}`baseUrl`"
