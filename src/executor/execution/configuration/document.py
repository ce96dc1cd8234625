"""A configuration as text: the entries it has, each with its place, and what can't be read."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import PurePath
from typing import Any

from executor.dataclass import dataclass
from executor.model.declaration import Noun, Origin
from executor.sources.documents.pinned_import import import_pinned

SECTIONS: dict[str, Noun] = {
    "secrets": "secret",
    "sources": "source",
    "policies": "policy",
    "toolkits": "toolkit",
    "members": "member",
}
VARIABLE = "EXECUTOR_TOOL_SOURCES"
MOST_CHARACTERS = 1_000_000
MOST_ENTRIES = 1_000
_HEADER = re.compile(r"\s*\[\[\s*([A-Za-z]+)\s*\]\]")


@dataclass(frozen=True, slots=True)
class Problem:
    """`place` is where in the configuration: the file or variable, the entry, the key. Values are never repeated."""

    place: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """`lines` are those of its keys in the file, and of the entry itself under the empty name."""

    noun: Noun
    place: str
    fields: dict[str, Any]
    origin: Origin
    lines: dict[str, int] = field(default_factory=dict)

    def at(self, key: str = "") -> str:
        line = self.lines.get(key.partition(".")[0], self.lines.get(""))
        return f"{self.place}{f'.{key}' if key else ''}{f' (line {line})' if line else ''}"


@dataclass(frozen=True, slots=True)
class Document:
    """`is_whole` says that everything could be read: an entry of its `origins` that is missing is really gone."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_whole: bool = True
    origins: frozenset[Origin] = frozenset()

    def __add__(self, other: Document) -> Document:
        return Document(
            self.entries + other.entries,
            self.problems + other.problems,
            self.is_whole and other.is_whole,
            self.origins | other.origins,
        )


class Unreadable(Exception):
    """Of the text as a whole."""


def read_variable(text: str) -> Document:
    """An array of sources, as JSON."""
    try:
        found = parse_json(text)
    except Unreadable as error:
        return refuse_document(VARIABLE, str(error), 'write a JSON array: [{"type": "mcp", "name": "…", "url": "…"}]')
    if not isinstance(found, list):
        return refuse_document(VARIABLE, f"it is {kind_of(found)}, not an array", "put the sources in brackets")
    return section("source", VARIABLE, found, "environment")


def read_file(text: str, name: str) -> Document:
    """By its ending: TOML, YAML or JSON. A list of its own is a list of sources."""
    parse = {".toml": parse_toml, ".yaml": parse_yaml, ".yml": parse_yaml, ".json": parse_json}.get(
        PurePath(name).suffix
    )
    if parse is None:
        return refuse_document(name, "its ending is none of .toml, .yaml, .yml and .json", "rename the file")
    try:
        if len(text) > MOST_CHARACTERS:
            raise Unreadable(f"it has more than {MOST_CHARACTERS} characters")
        found = parse(text)
    except Unreadable as error:
        return refuse_document(name, str(error), "correct it; nothing of it was applied")
    if found is None:
        return Document(origins=frozenset({"file"}))
    if isinstance(found, list):
        return section("source", f"{name}: sources", found, "file")
    if not isinstance(found, dict):
        return refuse_document(name, f"it is {kind_of(found)}, not a table", f"begin with one of {', '.join(SECTIONS)}")
    return sections(text, name, found)


def sections(text: str, name: str, found: dict[str, Any]) -> Document:
    lines = toml_lines(text) if name.endswith(".toml") else {}
    document = Document(origins=frozenset({"file"}))
    for key, value in found.items():
        noun = SECTIONS.get(key)
        if noun is None:
            hint = f"the sections are {', '.join(SECTIONS)}"
            document += Document(problems=(Problem(f"{name}: {str(key)[:100]}", "unknown section", hint),))
        elif not isinstance(value, list):
            problem = Problem(f"{name}: {key}", f"it is {kind_of(value)}, not a list", f"in TOML, write [[{key}]]")
            document += Document(problems=(problem,), is_whole=False)
        else:
            document += section(noun, f"{name}: {key}", value, "file", lines.get(key, []))
    return document


def section(
    noun: Noun, place: str, found: list[Any], origin: Origin, lines: list[dict[str, int]] | None = None
) -> Document:
    if len(found) > MOST_ENTRIES:
        return refuse_document(place, f"it has more than {MOST_ENTRIES} entries", "split it")
    entries, problems = [], []
    for index, fields in enumerate(found):
        at = f"{place}[{index}]"
        if isinstance(fields, dict) and all(isinstance(key, str) for key in fields):
            numbers = lines[index] if lines and len(lines) == len(found) else {}
            entries.append(Entry(noun, at, fields, origin, numbers))
        else:
            problems.append(Problem(at, f"it is {kind_of(fields)}, not a table with named keys"))
    return Document(tuple(entries), tuple(problems), not problems, frozenset({origin}))


def refuse_document(place: str, message: str, hint: str) -> Document:
    return Document(problems=(Problem(place, message, hint),), is_whole=False)


def parse_json(text: str) -> Any:
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Unreadable("a key occurs twice in one object")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise Unreadable(f"it is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None


def parse_toml(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unreadable(f"it is not TOML: {str(error)[:200]}") from None


def parse_yaml(text: str) -> Any:
    yaml_rs = import_pinned("yaml_rs")
    try:
        return yaml_rs.loads(text, parse_datetime=False)
    except (yaml_rs.YAMLDecodeError, ValueError, RecursionError) as error:
        raise Unreadable(f"it is not YAML: {first_line(str(error))}") from None


def first_line(text: str) -> str:
    """What parsers print below it repeats the text, which may hold what belongs in a secret."""
    return text.strip().partition("\n")[0][:200]


def toml_lines(text: str) -> dict[str, list[dict[str, int]]]:
    """For each section the lines of its entries and of their keys, as far as they are written as `[[section]]`."""
    found: dict[str, list[dict[str, int]]] = {}
    current: dict[str, int] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            current = {"": number}
            found.setdefault(header[1], []).append(current)
        elif current is not None and (key := re.match(r"\s*\"?([A-Za-z_]\w*)\"?\s*[.=]", line)):
            current.setdefault(key[1], number)
        elif current is not None and (table := re.match(r"\s*\[\s*[A-Za-z]+\.([A-Za-z_]\w*)", line)):
            current.setdefault(table[1], number)
    return found


def kind_of(value: Any) -> str:
    names = {list: "a list", str: "text", int: "a number", float: "a number", bool: "a boolean", dict: "a table"}
    return names.get(type(value), "nothing" if value is None else "something else")
