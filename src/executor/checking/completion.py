"""Completion for editors: paths of tools, names of arguments and their values, from the catalog itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from executor.catalog.signatures.escape import first_sentence
from executor.checking.diagnostics import Lines
from executor.checking.path_index import Names
from executor.checking.source.cursor import Cursor
from executor.checking.source.lexer import Language
from executor.dataclass import dataclass
from executor.model.tool import Tool
from executor.schemas.references import PREFIX

MAX_ITEMS = 100
MAX_DESCRIBED = 30
MAX_VALUES = 50
MAX_TEXT = 300
MAX_STEPS = 20


@dataclass(frozen=True, slots=True)
class Item:
    """`start` and `end` are what it replaces."""

    label: str
    kind: str
    insert: str
    start: int
    end: int
    detail: str = ""
    documentation: str = ""

    def to_dict(self, lines: Lines) -> dict[str, Any]:
        (line, column), (end_line, end_column) = lines.place(self.start), lines.place(self.end)
        return {
            "label": self.label,
            "kind": self.kind,
            "detail": self.detail,
            "documentation": self.documentation,
            "insertText": self.insert,
            "replace": {"line": line, "column": column, "endLine": end_line, "endColumn": end_column},
        }


class Describing(Protocol):
    async def find(self, workspace_id: str, path: str) -> Tool | None: ...

    async def input_schema(self, workspace_id: str, tool: Tool) -> dict[str, Any]: ...


async def paths(at: Cursor, end: int, names: Names, tools: Describing, workspace_id: str) -> list[Item]:
    if at.keyword:
        return [Item("tools", "variable", "tools", at.start, end, "everything that is connected")]
    found = list(rank_names(names.below(at.prefix), at.typed))[:MAX_ITEMS]
    items = []
    for number, segment in enumerate(found):
        path = f"{at.prefix}.{segment}" if at.prefix else segment
        if not names.is_tool(path):
            items.append(Item(segment, "namespace", segment, at.start, end, path))
            continue
        tool = await tools.find(workspace_id, path) if number < MAX_DESCRIBED else None
        detail = f"{path} ({tool.effect})" if tool else path
        text = first_sentence(tool.description, MAX_TEXT) if tool else ""
        items.append(Item(segment, "function", segment, at.start, end, detail, text))
    return items


def fields(at: Cursor, end: int, schema: dict[str, Any], language: Language) -> list[Item]:
    found = list(objects_at(schema, at.keys))
    required = {name for one in found for name in one.get("required", ()) if isinstance(name, str)}
    properties: dict[str, Any] = {}
    for one in found:
        known = one.get("properties")
        properties = {**(known if isinstance(known, dict) else {}), **properties}
    open_names = [name for name in properties if name not in at.given]
    wanted = sorted(rank_names(open_names, at.typed), key=lambda name: name not in required)
    return [
        Item(
            name,
            "property",
            insertion_of(name, at, language),
            at.start,
            end,
            f"{type_text(schema, properties[name])}{'' if name in required else ' (optional)'}",
            first_sentence(str(describe_part(properties[name])), MAX_TEXT),
        )
        for name in wanted[:MAX_ITEMS]
        if at.kind != "field" or not at.keyword or name.isidentifier()
    ]


def insertion_of(name: str, at: Cursor, language: Language) -> str:
    if at.quoted:
        return name
    if language == "python":
        return f"{name}=" if at.keyword else f"{json.dumps(name)}: "
    return f"{name if name.isidentifier() else json.dumps(name)}: "


def values(at: Cursor, end: int, schema: dict[str, Any], language: Language) -> list[Item]:
    """What is listed, or true and false. Inside of quotes only texts."""
    found: list[Any] = []
    for one in schemas_at(schema, at.keys):
        listed = one.get("enum") if isinstance(one.get("enum"), list) else [one["const"]] if "const" in one else []
        found += listed if listed else [True, False] if one.get("type") == "boolean" else []
    unique = list({json.dumps(value): value for value in found if not isinstance(value, dict | list)}.values())
    texts = {
        write_literal(value, language, quoted=at.quoted): value
        for value in unique
        if not at.quoted or isinstance(value, str)
    }
    wanted = list(rank_names(texts, at.typed))[:MAX_VALUES]
    return [Item(text, "value", text, at.start, end) for text in wanted]


def write_literal(value: Any, language: Language, *, quoted: bool) -> str:
    if quoted and isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)[1:-1]
    if language == "python" and (value is None or isinstance(value, bool)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def rank_names(names: Iterable[str], typed: str) -> Iterator[str]:
    """Those that begin with what is typed, then those that contain it."""
    wanted = typed.lower()
    later = []
    for name in names:
        plain = name.lower().lstrip("\"'")
        if plain.startswith(wanted):
            yield name
        elif wanted in plain:
            later.append(name)
    yield from later


def schemas_at(schema: dict[str, Any], keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Every schema that speaks of the value at these keys; `*` is any entry of a list."""
    if not keys:
        yield from alternatives(schema, schema)
        return
    for one in objects_at(schema, keys[:-1]):
        properties = one.get("properties")
        part = properties.get(keys[-1]) if isinstance(properties, dict) else None
        part = one.get("items") if part is None and keys[-1] == "*" else part
        if isinstance(part, dict):
            yield from alternatives(part, schema)


def objects_at(schema: dict[str, Any], keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The same, one list further in where that is what is there."""
    for one in schemas_at(schema, keys):
        yield one
        if isinstance(one.get("items"), dict) and not (keys and keys[-1] == "*"):
            yield from alternatives(one["items"], schema)


def alternatives(part: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema, what it refers to, and the parts it is put together of; each once, and not without end."""
    stack, seen = list[Any]([part]), set[int]()
    while stack and len(seen) < MAX_STEPS:
        node = stack.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        ref = node.get("$ref")
        if isinstance(ref, str) and ref.startswith(PREFIX):
            stack.append((root.get("$defs") or {}).get(ref[len(PREFIX) :]))
        for word in ("allOf", "anyOf", "oneOf"):
            parts = node.get(word)
            stack.extend(parts if isinstance(parts, list) else ())


def type_text(root: dict[str, Any], part: Any) -> str:
    for one in alternatives(part, root) if isinstance(part, dict) else ():
        if isinstance(one.get("enum"), list):
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in one["enum"][:6])[:MAX_TEXT]
        types = one.get("type")
        if types:
            return " | ".join(map(str, types)) if isinstance(types, list) else str(types)
    return "any"


def describe_part(part: Any) -> Any:
    return part.get("description") or "" if isinstance(part, dict) else ""
