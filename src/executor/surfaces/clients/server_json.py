"""`server.json`: this daemon as an entry of an MCP registry, for organizations that keep a registry of their own.

It names no package: what a client runs must be what you installed, not what someone published under the same name.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Final
from urllib.parse import urlsplit

from executor import __version__

SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
DESCRIPTION: Final = "Run code that calls your tools, under your policies and approvals."
TOKEN: Final = {"description": "The token of `executor agents create`", "isRequired": True, "isSecret": True}


def server_json(address: str) -> dict[str, Any]:
    header = {
        "name": "Authorization",
        "description": "The agent that the client acts as",
        "isRequired": True,
        "isSecret": True,
        "value": "Bearer {token}",
        "variables": {"token": TOKEN},
    }
    return {
        "$schema": SCHEMA,
        "name": f"{namespace(address)}/executor",
        "title": "Executor",
        "description": DESCRIPTION,
        "version": __version__,
        "remotes": [{"type": "streamable-http", "url": f"{address}/mcp", "headers": [header]}],
    }


def namespace(address: str) -> str:
    """The host, in the reversed order that registries use; an address of a machine belongs to no domain."""
    host = urlsplit(address).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return ".".join(reversed(host.split(".")))
    return "localhost"
