"""The words of JSON Schema that hold further schemas, and values as the catalog's storage can hold them."""

from __future__ import annotations

from typing import Any

MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLES = frozenset(
    {
        "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
        "unevaluatedProperties", "unevaluatedItems", "additionalItems",
    }
)  # fmt: skip
TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
MAX_DEPTH = 64
INT64 = 2**63


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: YAML also has sets, dates, tuples, infinities and integers of any size."""
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -INT64 <= value < 2 * INT64 else float(value) if abs(value) < 10**300 else None
    if isinstance(value, float):
        return value if value - value == 0 else None
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {key_text(key): plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part, depth + 1) for part in value]
    return str(value)


def key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)
