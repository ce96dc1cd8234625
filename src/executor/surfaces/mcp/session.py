"""Ids of sessions: nothing is kept of one, so its id itself says what has to be known of the client."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from typing import Any, Final

from executor.surfaces.mcp.handshake import META

_PAGES: Final = "-url"
_PARSED: Final = "-parsed"
_NAMED: Final = "-name-"
_NAME_LENGTH: Final = 60
# Gemini CLI 0.61 takes text that is JSON for structured content, and refuses that if it is no object.
_PARSING_CLIENTS: Final = frozenset({"gemini-cli-mcp-client"})
_HEX: Final = re.compile(r"([0-9a-f]{2})*")
# Of the request under way. The SDK's own tasks start from the request's and inherit it.
SESSION: ContextVar[str] = ContextVar("session", default="")
CLIENT: ContextVar[str] = ContextVar("client", default="")


def new_session(handshake: dict[str, Any]) -> str:
    """For a client that says this of itself in `initialize`."""
    client = handshake.get("clientInfo")
    name = client.get("name") if isinstance(client, dict) else None
    is_parsing = isinstance(name, str) and name in _PARSING_CLIENTS
    pages = _PAGES if shows_pages(handshake.get("capabilities")) else ""
    named = f"{_NAMED}{name.encode('utf-8', 'replace')[:_NAME_LENGTH].hex()}" if isinstance(name, str) and name else ""
    return f"{secrets.token_hex(16)}{named}{_PARSED if is_parsing else ''}{pages}"


def client_name(session_id: str, params: object) -> str:
    """As the client of a request calls itself: in its handshake, or in the request itself. Fit to be shown."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    about = meta.get(f"{META}clientInfo") if isinstance(meta, dict) else None
    name = about.get("name") if isinstance(about, dict) else None
    if not isinstance(name, str):
        written = session_id.partition(_NAMED)[2].partition("-")[0]
        name = bytes.fromhex(written).decode("utf-8", "ignore") if _HEX.fullmatch(written) else ""
    return "".join(letter for letter in name if letter.isprintable()).strip()[:_NAME_LENGTH]


def is_session_with_pages(session_id: str) -> bool:
    return session_id.endswith(_PAGES)


def parses_text(session_id: str) -> bool:
    """Whether the client reads text as data, so that only an object may look like JSON."""
    return session_id.removesuffix(_PAGES).endswith(_PARSED)


def shows_pages(capabilities: object) -> bool:
    """Whether a client says that it can show its user an address: elicitation in URL mode."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(elicitation, dict) and isinstance(elicitation.get("url"), dict)
