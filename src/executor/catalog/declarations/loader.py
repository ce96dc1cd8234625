"""Declarations of the tools that a piece of code names: read from the database, only as far as they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy.engine import Connection

from executor.catalog.declarations.python import python_declarations
from executor.catalog.declarations.typescript import typescript_declarations
from executor.dataclass import dataclass
from executor.model.digest import digest
from executor.model.language import Language
from executor.model.tool import Schema, Tool
from executor.schemas.references import names_in
from executor.storage.catalog import tool_versions
from executor.storage.catalog import tools as tool_rows
from executor.storage.catalog.definitions import MAX_DEFINITIONS

# Declarations of tools for type checkers. They accept every call that the catalog would accept.
__all__ = ["Declared", "Language", "declarations", "python_declarations", "typescript_declarations"]


@dataclass(frozen=True, slots=True)
class Declared:
    """`digest` identifies the text, for caches of what a checker made of it."""

    text: str
    digest: str


def declarations(
    language: Language,
    tools: Sequence[Tool],
    definitions: Mapping[str, Mapping[str, Schema]],
    *,
    anything: Iterable[str] = (),
) -> str:
    write = python_declarations if language == "python" else typescript_declarations
    return write(tools, definitions, anything=anything)


MAX_TOOLS = 2_000
ARGUMENT_STEPS = 30
RESULT_STEPS = 4


def declare(
    c: Connection, workspace_id: str, language: Language, names: Iterable[str], others: Sequence[Tool]
) -> Declared:
    """A name is a path or the beginning of one; if it matches too many tools, any call of it is accepted."""
    tools = {tool.path: tool for tool in others}
    anything = []
    for name in sorted(set(names)):
        found = read_named(c, workspace_id, name, MAX_TOOLS - len(tools))
        if found is None:
            anything.append(name)
        else:
            tools |= {tool.path: tool for tool in found if tool.path not in tools}
    known = definitions(c, workspace_id, list(tools.values()))
    text = declarations(language, list(tools.values()), known, anything=anything)
    return Declared(text, digest(text))


def read_named(c: Connection, workspace_id: str, name: str, room: int) -> list[Tool] | None:
    """The tool of this path and those below it; None if there is no room for them."""
    if not name.isascii():
        return []
    below = tool_rows.page(c, workspace_id, prefix=f"{name}." if name else "", limit=max(room, 0) + 1)
    if len(below) > room:
        return None
    found = (tool_rows.get(c, workspace_id, path) for path in (name, *(head.path for head in below)))
    return [tool for tool in found if tool is not None]


def definitions(c: Connection, workspace_id: str, tools: Sequence[Tool]) -> dict[str, dict[str, Schema]]:
    """By source: all that arguments reach, and of results what is near."""
    found: dict[str, dict[str, Schema]] = {}
    for source_id in dict.fromkeys(tool.source_id for tool in tools):
        own = [tool for tool in tools if tool.source_id == source_id]
        given, got = links(c, workspace_id, own)
        known = walk(c, workspace_id, given, {}, ARGUMENT_STEPS)
        found[source_id] = walk(c, workspace_id, got, known, RESULT_STEPS)
    return found


def links(c: Connection, workspace_id: str, tools: Sequence[Tool]) -> tuple[dict[str, str], dict[str, str]]:
    """Digests of the definitions that arguments and that results point at."""
    given: dict[str, str] = {}
    got: dict[str, str] = {}
    named = {tool.schema_digest: named_by(tool) for tool in tools}
    known = tool_versions.links_of(c, workspace_id, [one for one, names in named.items() if any(names)])
    for digest_of_one, links in known.items():
        first, second = named[digest_of_one]
        given |= {name: links[name] for name in first if name in links}
        got |= {name: links[name] for name in second if name in links}
    return given, got


def named_by(tool: Tool) -> tuple[set[str], set[str]]:
    """The definitions that arguments and that results name."""
    body = tool.known_keys.get("body")
    return names_in(tool.input_schema, body.get("schema") if body else None), names_in(tool.output_schema)


def walk(
    c: Connection, workspace_id: str, wanted: Mapping[str, str], known: dict[str, Schema], steps: int
) -> dict[str, Schema]:
    found = dict(known)
    digests = {one for name, one in wanted.items() if name not in found}
    while digests and steps and len(found) < MAX_DEFINITIONS:
        following: dict[str, str] = {}
        for definition in tool_versions.definitions(c, workspace_id, digests):
            found[definition.name] = definition.schema
            following |= definition.links
        digests = {one for name, one in following.items() if name not in found}
        steps -= 1
    return found
