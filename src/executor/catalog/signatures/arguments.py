"""The head of a signature: which arguments are shown, and how many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from executor.dataclass import dataclass
from executor.model.tool import Schema, Tool
from executor.schemas.references import PREFIX
from executor.schemas.shapes.arguments import required_of

# Which part of a signature is wanted; all of it if empty.
Part = Literal["", "arguments", "result"]
MAX_SUMMARY = 160
REQUIRED_ROOM = 3
MAX_PARTS = 50
COMPOSED = ("allOf", "anyOf", "oneOf", "$ref", "patternProperties")


@dataclass(frozen=True, slots=True)
class Call:
    """`arguments` counts those left out; `result` says that the result was."""

    text: str
    arguments: int = 0
    result: bool = False


def shown_arguments(tool: Tool, definitions: Mapping[str, Schema]) -> tuple[dict[str, Any], set[str]]:
    """Arguments worth showing, the required ones first, and which those are."""
    schema = tool.input_schema
    required = set(required_of(schema)) | required_fields(tool, definitions)
    known = schema.get("properties")
    properties: dict[str, Any] = known if isinstance(known, dict) else {}
    hidden = unshown(tool) - required
    names = [name for name in properties if name not in hidden]
    return {name: properties[name] for name in sorted(names, key=lambda name: name not in required)}, required


def required_fields(tool: Tool, definitions: Mapping[str, Schema]) -> set[str]:
    """Fields that a body must have. One that may be left out as a whole is hardly ever meant to be."""
    body = tool.known_keys.get("body")
    flat = set(body.get("flat", ())) if body else set()
    if not body or not flat or body.get("required"):
        return set()
    waiting = [body.get("schema") or tool.input_schema.get("properties", {}).get(tool.body_argument)]
    found: set[str] = set()
    for _ in range(MAX_PARTS):
        if not waiting:
            break
        part = waiting.pop()
        if isinstance(part, dict):
            found |= set(required_of(part))
            ref, parts = part.get("$ref"), part.get("allOf")
            waiting += [definitions.get(ref.removeprefix(PREFIX))] if isinstance(ref, str) else []
            waiting += parts if isinstance(parts, list) else []
    return found & flat


def unshown(tool: Tool) -> set[str]:
    """Accepted, but rarely worth the words: a key that is filled in anyway, `body` where its fields stand beside."""
    body, whole = tool.known_keys.get("body"), tool.body_argument
    names = {tool.known_keys.get("idempotencyArgument", "")}
    return names | {whole} if body and body.get("flat") and whole not in body["flat"] else names


def fitting(fields: list[tuple[str, str]], required: int, budget: int) -> tuple[list[tuple[str, str]], int]:
    """Optional arguments as long as there is room, required ones almost always; and how many had none."""
    size = 0
    for index, (written, note) in enumerate(fields):
        size += len(written) + len(note) + 6
        if index and size > (budget if index >= required else budget * REQUIRED_ROOM):
            return fields[:index], len(fields) - index
    return fields, 0


def is_composed(tool: Tool) -> bool:
    return any(word in tool.input_schema for word in COMPOSED)
