"""Text that a server wrote, made fit to be stored and shown."""

from __future__ import annotations

from executor.sources.mcp.transports.endpoint import printable

MAX_DESCRIPTION = 8_000


def clean(text: str, limit: int) -> str:
    text = text if is_text(text) else text.encode("utf-8", "replace").decode()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True


def where(name: str) -> str:
    return printable(name, 200)
