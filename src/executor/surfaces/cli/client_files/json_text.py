"""Edits one member of a JSON text that people keep: comments, order, indentation and trailing commas stay.

Comments and trailing commas are read, because VS Code, Zed and OpenCode allow them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from executor.surfaces.cli.client_files.text import Malformed, Unsupported, newline_of

_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null')
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]*/\*[^\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")
_DEEPEST = 200


@dataclass(slots=True)
class Member:
    """`comma` is the position of the comma after it."""

    key: str
    start: int
    key_end: int
    node: Node
    comma: int | None = None


@dataclass(slots=True)
class Node:
    start: int
    end: int
    value: Any
    members: list[Member] | None = None
    items: list[Node] = field(default_factory=list)

    def find(self, key: str) -> Member | None:
        found = [one for one in self.members or [] if one.key == key]
        if len(found) > 1:
            raise Unsupported(f"it has two members named {key!r}")
        return found[0] if found else None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> str:
        """The next character that is not a gap."""
        self.at = _GAP.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def fail(self, what: str) -> Malformed:
        return Malformed(what, self.text, self.at)

    def node(self, depth: int = 0) -> Node:
        if depth > _DEEPEST:
            raise self.fail("it is nested too deeply")
        char = self.skip()
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self.array(depth)
        if not char:
            raise self.fail("it ends early")
        start, value = self.at, self.scalar()
        return Node(start, self.at, value)

    def scalar(self) -> Any:
        found = _SCALAR.match(self.text, self.at)
        try:
            value = json.loads(found[0] if found else "")
        except ValueError:
            raise self.fail("this is not a JSON value") from None
        self.at += len(found[0]) if found else 0
        return value

    def object(self, depth: int) -> Node:
        start, members = self.at, list[Member]()
        self.at += 1
        while (char := self.skip()) != "}":
            if char != '"' or (members and members[-1].comma is None):
                raise self.fail("a member or `}` is expected")
            key_start = self.at
            key = self.scalar()
            key_end = self.at
            if self.skip() != ":":
                raise self.fail("`:` is expected")
            self.at += 1
            members.append(Member(key, key_start, key_end, self.node(depth + 1)))
            if self.skip() == ",":
                members[-1].comma = self.at
                self.at += 1
        self.at += 1
        return Node(start, self.at, {one.key: one.node.value for one in members}, members)

    def array(self, depth: int) -> Node:
        start, items, separated = self.at, list[Node](), True
        self.at += 1
        while self.skip() != "]":
            if not separated:
                raise self.fail("`,` or `]` is expected")
            items.append(self.node(depth + 1))
            separated = self.skip() == ","
            self.at += separated
        self.at += 1
        return Node(start, self.at, [one.value for one in items], None, items)


def parse(text: str) -> Node | None:
    """None if there is nothing in it but gaps."""
    reader = _Reader(text)
    if not reader.skip():
        return None
    root = reader.node()
    if reader.skip():
        raise reader.fail("nothing is expected after the end")
    if root.members is None:
        raise Unsupported("it does not contain an object")
    return root


def read(text: str) -> dict[str, Any]:
    root = parse(text)
    return dict(root.value) if root else {}


def put(text: str, path: Sequence[str], value: Any) -> str:
    """With `value` at `path`; objects on the way are created."""
    root = parse(text)
    if root is None:
        newline = newline_of(text)
        kept = text.rstrip()
        return (kept + newline if kept else "") + _render(_nest(path, value), "  ", "", newline) + newline
    node = root
    for depth, key in enumerate(path):
        if node.members is None:
            raise Unsupported(f"{path[depth - 1]!r} is not an object")
        member = node.find(key)
        if member is None:
            return _insert(text, root, node, key, _nest(path[depth + 1 :], value))
        node = member.node
    if node.value == value and type(node.value) is type(value):
        return text
    indent = _line_indent(text, node.start)
    drawn = _draw(text, value, _unit(text, root), indent)
    return text[: node.start] + drawn + text[node.end :]


def remove(text: str, path: Sequence[str]) -> str:
    """Without the member at `path`. An object that it leaves without anything in it becomes `{}`."""
    node = parse(text)
    member = None
    for key in path:
        parent, member = node, (node.find(key) if node else None)
        if member is None:
            return text
        node = member.node
    if member is None or parent is None or parent.members is None:
        return text
    end = member.node.end if member.comma is None else member.comma + 1
    start = member.start
    line = text.rfind("\n", 0, start)
    if line > parent.start and not text[line + 1 : start].strip():
        start = line - 1 if text[line - 1] == "\r" else line
    else:
        start -= len(text[:start]) - len(text[:start].rstrip(" \t"))
    at = parent.members.index(member)
    before = parent.members[at - 1] if at else None
    if before and before.comma is not None and member.comma is None:
        left = text[: before.comma] + text[before.comma + 1 : start] + text[end:]
    else:
        left = text[:start] + text[end:]
    closed = parent.end - len(text) + len(left)
    if not left[parent.start + 1 : closed - 1].strip():
        left = left[: parent.start] + "{}" + left[closed:]
    return left


def mask(text: str, path: Sequence[str], shown: frozenset[str]) -> str:
    """For showing: texts and comments are left out, since either may be a secret, except `shown` members at `path`."""
    pieces: list[str] = []
    at = 0
    for start, end, replacement in _masks(parse(text), list(path), shown):
        pieces += [_mask_comments(text[at:start]), replacement or text[start:end]]
        at = end
    return "".join(pieces) + _mask_comments(text[at:])


def _masks(node: Node | None, path: list[str] | None, shown: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """What is not a gap, with what takes its place. `path` leads from here to where something is shown."""
    if node and isinstance(node.value, str):
        yield node.start, node.end, '"…"'
    for member in (node and node.members) or []:
        yield member.start, member.key_end, ""
        if path == [] and member.key in shown:
            yield member.node.start, member.node.end, ""
        else:
            yield from _masks(member.node, path[1:] if path and path[0] == member.key else None, shown)
    for item in node.items if node else []:
        yield from _masks(item, None, shown)


def _mask_comments(gap: str) -> str:
    return re.sub(
        r"//[^\r\n]*|/\*.*?\*/", lambda found: "// …" if found[0][1] == "/" else "/* … */", gap, flags=re.DOTALL
    )


def _insert(text: str, root: Node, node: Node, key: str, value: Any) -> str:
    newline, unit = newline_of(text), _unit(text, root)
    inside = text[node.start : node.end]
    members = node.members or []
    if not members:
        return _fill(text, node, key, value, unit)
    last = members[-1]
    place = last.node.end if last.comma is None else last.comma + 1
    comma = "," if last.comma is not None else ""
    if "\n" not in inside:
        space = " " if re.search(r"[,:{]\s", inside) else ""
        added = f"{space}{json.dumps(key)}:{space}{_line(value, space)}{comma}"
        return text[:place] + ("" if comma else ",") + added + text[place:]
    indent = _member_indent(text, node, unit)
    after = _REST_OF_LINE.match(text, place).end()  # type: ignore[union-attr]
    added = f"{newline}{indent}{json.dumps(key)}: {_render(value, unit, indent, newline)}{comma}"
    return text[:place] + ("" if comma else ",") + text[place:after] + added + text[after:]


def _fill(text: str, node: Node, key: str, value: Any, unit: str) -> str:
    """The first member of an object, after what is written in it."""
    newline, outer = newline_of(text), _line_indent(text, node.start)
    inside = text[node.start + 1 : node.end - 1].rstrip()
    if "\n" not in text.strip() and text[: node.start].strip():
        return text[: node.start] + f"{{{inside}{json.dumps(key)}: {_line(value, ' ')}}}" + text[node.end :]
    indent = outer + unit
    member = f"{json.dumps(key)}: {_render(value, unit, indent, newline)}"
    filled = f"{{{inside}{newline}{indent}{member}{newline}{outer}}}"
    return text[: node.start] + filled + text[node.end :]


def _nest(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _draw(text: str, value: Any, unit: str, indent: str) -> str:
    return _render(value, unit, indent, newline_of(text)) if "\n" in text.strip() else _line(value, " ")


def _line(value: Any, space: str) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(f",{space}", f":{space}"))


def _render(value: Any, unit: str, indent: str, newline: str) -> str:
    """Objects over several lines, everything else on one."""
    if not isinstance(value, dict) or not value:
        return _line(value, " ")
    inner = indent + unit
    members = [f"{inner}{json.dumps(key)}: {_render(one, unit, inner, newline)}" for key, one in value.items()]
    return "{" + newline + f",{newline}".join(members) + f"{newline}{indent}}}"


def _unit(text: str, root: Node) -> str:
    """How the file indents."""
    first = root.members[0].start if root.members else 0
    return (_line_indent(text, first) if _starts_line(text, first) else "") or "  "


def _member_indent(text: str, node: Node, unit: str) -> str:
    first = (node.members or [])[0].start
    return _line_indent(text, first) if _starts_line(text, first) else _line_indent(text, node.start) + unit


def _starts_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
