"""Where the document says that an operation is to be sent."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from .documents import Document


def problem(document: Document, item: dict[str, Any], operation: dict[str, Any], server: str) -> str:
    """Empty if the tool is sent to a server that the document names; also if it names none with a whole address."""
    named = swagger(document.root) if document.is_swagger else listed(document, item, operation)
    known = {plain(one) for one in named}
    if not known or plain(server) in known:
        return ""
    return f"it is sent to {server}, the document says {sorted(known)[:3]}"


def listed(document: Document, item: dict[str, Any], operation: dict[str, Any]) -> list[str]:
    servers = operation.get("servers") or item.get("servers") or document.root.get("servers")
    found = [one for one in servers if isinstance(one, dict)] if isinstance(servers, list) else []
    urls = [filled(str(one.get("url") or "").strip(), one.get("variables")) for one in found]
    # A relative one can't be judged here: it depends on where the document came from.
    return urls if all("://" in one for one in urls) else []


def filled(template: str, variables: Any) -> str:
    def value(match: re.Match[str]) -> str:
        variable = variables.get(match[1]) if isinstance(variables, dict) else None
        if not isinstance(variable, dict):
            return match[0]
        return str(variable.get("default") or next(iter(variable.get("enum") or []), match[0]))

    return re.sub(r"\{([^{}]+)\}", value, template)


def swagger(root: dict[str, Any]) -> list[str]:
    host, base = str(root.get("host") or "").strip().rstrip("/"), str(root.get("basePath") or "").strip()
    if not host:
        return []
    base = base if base.startswith("/") or not base else f"/{base}"
    schemes = [one for one in root.get("schemes") or [] if one in ("http", "https")] or ["https"]
    return [host + base] if "://" in host else [f"{scheme}://{host}{base}" for scheme in schemes]


def plain(url: str) -> tuple[str, str, int | None, str]:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower())
    return parts.scheme.lower(), (parts.hostname or "").lower(), port, parts.path.rstrip("/")
