"""Where MCP is served: for everyone, for anonymous agents, and for each toolkit."""

from __future__ import annotations

import re
from typing import Final

MCP_PATHS: Final = ("/mcp", "/mcp/anonymous")
TOOLKITS: Final = "/mcp/toolkits/"
_TOOLKIT = re.compile(r"/mcp/toolkits/([^/]+)")


def is_mcp(path: str) -> bool:
    return path in MCP_PATHS or _TOOLKIT.fullmatch(path) is not None


def toolkit_in(path: str) -> str:
    """The slug in the address; empty if it is not that of a toolkit."""
    found = _TOOLKIT.fullmatch(path)
    return found[1] if found else ""


def without_slash(path: str) -> str:
    """As some clients write the addresses of MCP: with a slash at the end."""
    return path[:-1] if path.endswith("/") and is_mcp(path[:-1]) else path
