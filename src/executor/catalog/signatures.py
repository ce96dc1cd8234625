"""A tool's signature in TypeScript or Python: what an agent reads before it writes a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from executor.catalog import python_signatures, typescript_signatures
from executor.catalog.calls import Part
from executor.catalog.language import Language
from executor.catalog.python_types import PythonTypes
from executor.catalog.typescript import Types
from executor.model.tool import Schema, Tool

FULL = 6_000
COMPACT = 900
MAX_TYPES = 24
COMPACT_TYPES = 8
MAX_WALK = 500


@dataclass(frozen=True, slots=True)
class Signature:
    """`types` names the shared types that had no room; `arguments` counts those that had none."""

    text: str
    types: tuple[str, ...] = ()
    arguments: int = 0
    result: bool = False


def signature(
    tool: Tool, definitions: Mapping[str, Schema], *, budget: int = FULL, language: Language = "typescript"
) -> str:
    """At most about `budget` characters; what is left out is said."""
    made = write(tool, definitions, budget=budget, language=language)
    if not made.types:
        return made.text
    mark = "#" if language == "python" else "//"
    return f"{made.text}\n{mark} more types: {', '.join(made.types[:12])}{' …' if len(made.types) > 12 else ''}"


def write(
    tool: Tool,
    definitions: Mapping[str, Schema],
    *,
    budget: int = FULL,
    language: Language = "typescript",
    part: Part = "",
) -> Signature:
    types = reader(definitions, language, notes=budget >= FULL // 2)
    module = python_signatures if language == "python" else typescript_signatures
    call = module.call(tool, types, budget // 2, part)
    most = MAX_TYPES if budget >= FULL // 2 else COMPACT_TYPES
    written = list(shared(types, budget - len(call.text), most))
    left = tuple(dict.fromkeys(types.name(definition) for definition in types.waiting))
    return Signature("\n".join([call.text, *written]), left, call.arguments, call.result)


def reader(definitions: Mapping[str, Schema], language: Language, *, notes: bool) -> Types:
    return PythonTypes(definitions, notes=notes) if language == "python" else Types(definitions, notes=notes)


def shared(types: Types, budget: int, most: int) -> Iterable[str]:
    """The types that were named, in that order, as long as there is room."""
    count = 0
    while types.waiting and count < most:
        definition = types.waiting[0]
        before = len(types.waiting)
        line = types.declare(definition)
        if len(line) > budget:
            del types.waiting[before:]
            return
        types.waiting.remove(definition)
        budget -= len(line)
        count += 1
        yield line


def named_types(
    tool: Tool, definitions: Mapping[str, Schema], names: Iterable[str], *, language: Language
) -> dict[str, str]:
    """Types by the names that the signature gives them, as far as there are such."""
    wanted = list(names)
    types = reader(definitions, language, notes=True)
    module = python_signatures if language == "python" else typescript_signatures
    module.call(tool, types, 10**9)
    found: dict[str, str] = {}
    for _ in range(MAX_WALK):
        if not types.waiting or len(found) == len(wanted):
            break
        definition = types.waiting.pop(0)
        name, line = types.name(definition), types.declare(definition)
        if name in wanted:
            found[name] = line
    return {name: found[name] for name in wanted if name in found}
