"""Whole maps and lists that stand elsewhere, as in `paths: {$ref: paths/_index.yml}`.

The specification allows a `$ref` in fewer places than bundlers do, and documents are written for bundlers. Such a
reference is replaced by what it leads to before anything else is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from executor.schemas.keywords import LISTS, MAPS
from executor.sources.openapi.documents.document import Document, UnresolvedRef

_NAMES = frozenset(
    {
        "schemas", "responses", "parameters", "requestBodies", "headers", "securitySchemes", "pathItems", "callbacks",
        "content", "encoding", "variables", "links", "securityDefinitions", "paths", "webhooks", *MAPS,
    }
)  # fmt: skip
_VALUES = frozenset({"example", "examples", "default", "const"})
CONTAINERS = (
    _NAMES | LISTS | {"info", "components", "servers", "tags", "security", "required", "enum", "scopes", "flows"}
)
_KEYS = frozenset(name.encode() for name in CONTAINERS)
_ENDS = tuple(_KEYS)
_KEY = re.compile(rb"[\w.$-]+\Z")
_REFERENCE = re.compile(rb"\$ref[\"']?[ \t]*:")
BEFORE = 200  # bytes, which are mostly the indentation of a line


def may_have(data: bytes) -> bool:
    """Cheap to see in the text; some of those that have none look as if they had."""
    for found in _REFERENCE.finditer(data):
        before = data[max(0, found.start() - BEFORE) : found.start()].rstrip(b" \t\r\n\"'{")
        if before.endswith(b":") and is_container(before.rstrip(b": \t\"'")):
            return True
    return False


def is_container(text: bytes) -> bool:
    """Whether its last word is. Few have such an end, which is much faster to see."""
    return text.endswith(_ENDS) and (key := _KEY.search(text)) is not None and key[0] in _KEYS


def fill(document: Document, roots: Iterable[Any]) -> None:
    """In place. One that leads nowhere stays as it is, and its reader says what is wrong with it."""
    seen: set[int] = set()
    stack: list[tuple[Any, bool]] = [(root, False) for root in roots]
    while stack:
        node, is_map = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, list):
            stack.extend((part, False) for part in node if isinstance(part, dict | list))
            continue
        for key, part in node.items():
            if not isinstance(part, dict | list) or (not is_map and key in _VALUES):
                continue
            if not is_map and key in CONTAINERS and isinstance(part, dict) and isinstance(part.get("$ref"), str):
                node[key] = part = fill_references(document, part)
            stack.append((part, not is_map and key in _NAMES))


def fill_references(document: Document, node: dict[str, Any]) -> Any:
    """What is beside the reference is added to what it leads to, and wins."""
    try:
        target = document.follow(node)
    except UnresolvedRef:
        return node
    beside = {key: part for key, part in node.items() if key != "$ref"}
    return {**target, **beside} if beside and isinstance(target, dict) else target
