"""Ids of sessions: nothing is kept of one, so its id itself says what has to be known of the client."""

from __future__ import annotations

import secrets
from typing import Final

_PAGES: Final = "-url"


def new_session(capabilities: object) -> str:
    return secrets.token_hex(16) + (_PAGES if shows_pages(capabilities) else "")


def is_session_with_pages(session_id: str) -> bool:
    return session_id.endswith(_PAGES)


def shows_pages(capabilities: object) -> bool:
    """Whether a client says that it can show its user an address: elicitation in URL mode."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(elicitation, dict) and isinstance(elicitation.get("url"), dict)
