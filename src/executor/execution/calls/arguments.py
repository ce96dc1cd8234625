"""The arguments of a call: read from the JSON that the code gave, and refused where sending would change them."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from executor.errors import ToolError

_LONG = re.compile(r"\d{19}")


def parse_arguments(text: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ToolError(
            "invalid_arguments", f"the arguments can't be sent as JSON: {error}", hint="check for lone surrogates"
        ) from error
    if not isinstance(value, dict):
        raise ToolError(
            "invalid_arguments",
            f"a tool takes one object of arguments, not {type(value).__name__}",
            hint="call it like tools.x.y({name: value})",
        )
    if _LONG.search(text) and (number := find_rounded(json.loads(text))) is not None:
        raise ToolError(
            "invalid_arguments",
            f"the number {str(number)[:60]} can't be sent exactly: JSON numbers here have 64 bits",
            hint="send it as a string if the tool accepts one",
        )
    return value


def find_rounded(value: Any) -> int | None:
    """An integer that reading would change: what is sent would not be what the code gave."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return next((found for part in parts if (found := find_rounded(part)) is not None), None)
    is_long = isinstance(value, int) and not -(2**63) <= value < 2**64
    return value if is_long else None
