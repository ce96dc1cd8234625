"""Text of strangers, so that none of it breaks a line or turns it around."""

from __future__ import annotations

import re
from typing import Any

import orjson

_TURNS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def one_line(value: Any) -> str:
    """JSON leaves characters as they are that some readers take for the end of a line, or that turn it around."""
    return without_turns(orjson.dumps(value, default=str).decode())


def without_turns(text: str) -> str:
    return text if text.isascii() else _TURNS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
