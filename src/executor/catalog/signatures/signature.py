"""A tool's signature in TypeScript or Python: what an agent reads before it writes a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from executor.catalog.signatures import python, typescript
from executor.catalog.signatures.arguments import Part
from executor.catalog.signatures.python import PythonTypes
from executor.catalog.signatures.typescript import Types
from executor.dataclass import dataclass
from executor.model.language import Language
from executor.model.tool import Schema, Tool
from executor.schemas.references import names_in

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
    module = python if language == "python" else typescript
    call = module.call(tool, types, budget // 2, part)
    most = MAX_TYPES if budget >= FULL // 2 else COMPACT_TYPES
    written = list(choose_shared(types, budget - len(call.text), most, names_in(tool.output_schema)))
    left = tuple(dict.fromkeys(types.name(definition) for definition in types.waiting))
    return Signature("\n".join([call.text, *written]), left, call.arguments, call.result)


def reader(definitions: Mapping[str, Schema], language: Language, *, notes: bool) -> Types:
    return PythonTypes(definitions, notes=notes) if language == "python" else Types(definitions, notes=notes)


def choose_shared(types: Types, budget: int, most: int, answer: set[str]) -> Iterable[str]:
    """The types that were named, in that order; those that need much of the room after the others, if they fit then.

    Of these the ones that `answer` names, or what it names does, come first.
    """
    large: list[str] = []
    left: list[str] = []
    room, count = budget // 3, 0
    while (types.waiting or large) and count < most:
        is_late = not types.waiting
        large.sort(key=lambda one: one not in answer)
        definition = large.pop(0) if is_late else types.waiting.pop(0)
        before, known = len(types.waiting), types.used_names
        line = types.declare(definition)
        if len(line) <= (budget if is_late else min(room, budget)):
            budget -= len(line)
            count += 1
            answer |= set(types.waiting[before:]) if definition in answer else set()
            yield line
            continue
        del types.waiting[before:]
        types.used_names = known
        (left if is_late else large).append(definition)
    types.waiting[:0] = [*large, *left]


def named_types(
    tool: Tool, definitions: Mapping[str, Schema], names: Iterable[str], *, language: Language
) -> dict[str, str]:
    """Types by the names that the signature gives them, as far as there are such."""
    wanted = list(names)
    types = reader(definitions, language, notes=True)
    module = python if language == "python" else typescript
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
