"""Content digests over canonical JSON, so that equal values always have equal digests."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson


def canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def digest_text(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def plain_numbers(value: Any) -> Any:
    """The same value with each number in one writing: 5.0 and 5e0 are 5, and -0.0 is 0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)  # more than a digest can take; only documents hold such
    if isinstance(value, dict):
        return {name: plain_numbers(one) for name, one in value.items()}
    return [plain_numbers(one) for one in value] if isinstance(value, list | tuple) else value
