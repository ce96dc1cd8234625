"""Names and texts of operations, for people who read the document and for programs that make clients from it."""

from __future__ import annotations

import re
from typing import Any

ACTS = frozenset({"search", "verify", "export", "whoami"})  # reads that are named by what they do
PARTS = frozenset({"terminals", "links", "origins"})  # what a POST adds to, rather than does
SENTENCE = re.compile(r"(?<=[a-z0-9`)])\.(?:\s|$)")


def operation_id(method: str, path: str, *, is_list: bool) -> str:
    """By the address, so that it stays when code moves: `executions_create`, `executions_calls_list`.

    Clients that are generated name their functions by it.
    """
    parts = path.removeprefix("/v1/").strip("/").split("/")
    words = [part.replace("-", "_") for part in parts if not part.startswith("{")]
    verb = _verb(method, words, is_one=parts[-1].startswith("{"), is_list=is_list)
    return "_".join([*words, verb] if verb else words)


def _verb(method: str, words: list[str], *, is_one: bool, is_list: bool) -> str:
    if method == "post":
        return "create" if len(words) == 1 or words[-1] in PARTS else ""
    if method == "get":
        if words[-1] in ACTS:
            return ""
        return "list" if is_list and not is_one else "get"
    if method == "delete" and not is_one:
        return "clear"
    return {"put": "set", "patch": "update", "delete": "delete"}[method]


def summary(description: str) -> str:
    """Its first sentence."""
    text = " ".join(description.split())
    return SENTENCE.split(text, maxsplit=1)[0].rstrip(".")


def answers_list(operation: dict[str, Any], schemas: dict[str, Any]) -> bool:
    """Whether what comes back has `items`."""
    for status, response in operation["responses"].items():
        shape = response.get("content", {}).get("application/json", {}).get("schema", {})
        name = shape.get("$ref", "").rpartition("/")[2]
        if status.startswith("2") and "items" in schemas.get(name, {}).get("properties", {}):
            return True
    return False
