"""References between schemas: `#/$defs/Name`, where the names are those of a source's definitions."""

from __future__ import annotations

from typing import Any

PREFIX = "#/$defs/"


def names_in(*values: Any) -> set[str]:
    """Names of the definitions that schemas point at directly."""
    found: set[str] = set()
    stack = list(values)
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith(PREFIX):
                found.add(ref[len(PREFIX) :])
            stack.extend(part for part in node.values() if isinstance(part, dict | list))
        elif isinstance(node, list):
            stack.extend(part for part in node if isinstance(part, dict | list))
    return found
