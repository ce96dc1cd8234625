"""The description of one tool, within a number of tokens. It names what had no room; callers can request that."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from sqlalchemy.engine import Connection

from executor.catalog.signatures.escape import one_line
from executor.catalog.signatures.example_call import call
from executor.catalog.signatures.signature import Signature, named_types, write
from executor.dataclass import dataclass
from executor.errors import NotFound, ToolError
from executor.model.language import Language
from executor.model.source import Source, is_described, own_path
from executor.model.tool import Schema, Tool
from executor.schemas.examples import Accepts, example
from executor.schemas.references import names_in
from executor.schemas.validation import Validator, compile_schema, problems
from executor.sources.kind import Kind
from executor.storage.catalog.definitions import read_reached, schemas_of

# How many tokens a text is inside a JSON answer, without a tokenizer: rather too many than too few.
# What is usually one token: a word of the text or of a name, up to three digits, punctuation, a line's end with indent.
_PIECE = re.compile(r"\\n *|[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,3}|[^\sA-Za-z0-9]{1,3}| {2,}")
_LONG = re.compile(r"[a-z]{9,}|[A-Z]{9,}")
LONG_WORD = 8
# Measured on signatures and descriptions of public documents: 99 of 100 have no more tokens than this says.
MARGIN = 1.12
# Characters a token, to begin with.
CHARACTERS = 3.3


def tokens(text: str) -> int:
    written = json.dumps(text, ensure_ascii=False)
    pieces = _PIECE.findall(written)
    count = len(pieces) + sum(len(word) - LONG_WORD for word in _LONG.findall(written)) / 6
    if not written.isascii():  # each character may be one
        count += sum(len(piece) - 1 for piece in pieces if not piece.isascii())
    return math.ceil(count * MARGIN)


BUDGET = 1_500
LEAST = 150
MOST = 20_000
MAX_NAMES = 30
TRIES = 6
RESULT_STEPS = 9
ALL_STEPS = 100
# Of the whole: names, punctuation and the hint.
ENVELOPE = 130
Part = Literal["", "arguments", "result", "description"]


@dataclass(frozen=True, slots=True)
class Wish:
    """How a tool is to be described. `types` asks for shared types alone, by the names that a signature gave them."""

    language: Language = "typescript"
    budget: int = BUDGET
    part: Part = ""
    types: tuple[str, ...] = ()
    schemas: bool = False


def description(
    tool: Tool, source: str, definitions: Mapping[str, Schema], example: str | None, wish: Wish
) -> dict[str, Any]:
    head = {"path": tool.path, "effect": tool.effect, "source": source, "deprecated": tool.deprecated}
    if wish.types:
        return {**head, **asked_types(tool, definitions, wish)}
    room = max(LEAST, min(wish.budget, MOST)) - ENVELOPE - tokens(tool.path)
    text = cut_to_tokens(tool.description, room if wish.part == "description" else room // 4)
    cut: dict[str, Any] = {"description": True} if text != tool.description else {}
    if wish.part == "description":
        return {**head, "description": text, **describe_cut(cut)}
    room -= tokens(text)
    described: dict[str, Any] = {**head, "description": text}
    if example is not None and tokens(example) > room // 3:
        cut["example"], example = True, None
    room -= tokens(example or "")
    made = fit_signature(tool, definitions, room, wish)
    cut |= left_out(made)
    described |= {"language": wish.language, "signature": made.text}
    return {**described, **({"example": example} if example is not None else {}), **describe_cut(cut)}


def fit_signature(tool: Tool, definitions: Mapping[str, Schema], room: int, wish: Wish) -> Signature:
    """Smaller and smaller until it fits; the required parts stay even if it never does."""
    part = wish.part if wish.part != "description" else ""
    budget = int(room * CHARACTERS)
    for _ in range(TRIES):
        made = write(tool, definitions, budget=budget, language=wish.language, part=part)
        if tokens(made.text) <= room:
            break
        budget = int(budget * min(0.8, 0.95 * room / tokens(made.text)))
    return made


def left_out(made: Signature) -> dict[str, Any]:
    cut: dict[str, Any] = {}
    if made.types:
        cut["types"] = list(made.types[:MAX_NAMES])
        if len(made.types) > MAX_NAMES:
            cut["typesInAll"] = len(made.types)
    if made.arguments:
        cut["arguments"] = made.arguments
    return {**cut, "result": True} if made.result else cut


def describe_cut(cut: dict[str, Any]) -> dict[str, Any]:
    if not cut:
        return {}
    ways = [f'types: ["{cut["types"][0]}"]'] if "types" in cut else []
    ways += [f'part: "{part}"' for part in ("arguments", "result", "description") if part in cut]
    return {"cut": cut, "hint": f"to see the rest, ask with {', '.join([*ways, 'or a larger budget'])}"}


def asked_types(tool: Tool, definitions: Mapping[str, Schema], wish: Wish) -> dict[str, Any]:
    found = named_types(tool, definitions, wish.types, language=wish.language)
    if not found:
        names = ", ".join(one_line(name)[:60] for name in wish.types[:5])
        raise NotFound(f"{tool.path} has no type {names}", hint="use type names from its signature or from `cut`")
    room = max(LEAST, min(wish.budget, MOST)) - ENVELOPE
    described: list[str] = []
    missing = [name for name in wish.types if name not in found]
    for name, text in found.items():
        if tokens(text) <= room or not described:
            described.append(text)
            room -= tokens(text)
        else:
            missing.append(name)
    cut = {"types": missing[:MAX_NAMES]} if missing else {}
    return {"language": wish.language, "types": "\n".join(described), **describe_cut(cut)}


def cut_to_tokens(text: str, room: int) -> str:
    """The beginning, up to the end of a word."""
    if tokens(text) <= room:
        return text
    cut = text[: max(20, int(room * CHARACTERS))]
    while tokens(cut) > room and len(cut) > 20:
        cut = cut[: int(len(cut) * 0.8)]
    return cut.rsplit(" ", 1)[0].rstrip() + "…"


def read(
    c: Connection, workspace_id: str, tool: Tool, source: str, strict: Schema, accepts: Accepts, wish: Wish
) -> dict[str, Any]:
    """`strict` is what arranged arguments must satisfy, `accepts` whether these would be."""
    given = read_reached(c, workspace_id, tool.schema_digest, names_in(tool.input_schema, strict))
    steps = ALL_STEPS if wish.types else RESULT_STEPS
    got = read_reached(c, workspace_id, tool.schema_digest, names_in(tool.output_schema), steps=steps)
    known = {**got, **given}
    arguments = None if wish.types or wish.part else example(tool, strict, given, accepts, fits_pattern)
    shown = None if arguments is None else call(tool.path, arguments, wish.language)
    described = description(tool, source, known, shown, wish)
    if not wish.schemas:
        return described
    return {**described, **schemas_of(c, workspace_id, tool), "exampleArguments": arguments}


def of_builtin(tool: Tool, validator: Validator, source: str, wish: Wish) -> dict[str, Any]:
    """Of a tool that no source has."""

    def accepts(arguments: Any) -> bool:
        return validator.errors(arguments) == []

    arguments = example(tool, tool.input_schema, {}, accepts, fits_pattern)
    shown = None if arguments is None else call(tool.path, arguments, wish.language)
    described = description(tool, source, {}, shown, wish)
    if not wish.schemas:
        return described
    own = {"inputSchema": tool.input_schema, "outputSchema": tool.output_schema}
    return {**described, **own, "exampleArguments": arguments}


@lru_cache(2_000)
def pattern_validator(pattern: str) -> Validator:
    return compile_schema({"pattern": pattern})


def fits_pattern(pattern: str, text: str) -> bool:
    return pattern_validator(pattern).errors(text) == []


def label_source(source: Source, tool: Tool) -> dict[str, Any]:
    """What of a description is the word of people here, and not of the source."""
    own = own_path(tool.path, tool.known_keys)
    name = {"ownPath": own} if own != tool.path else {}
    described = is_described(tool.path, tool.known_keys, source.known_keys)
    return {**name, **({"describedBy": "people of this workspace"} if described else {})}


def acceptance(kind: Kind, tool: Tool, validator: Validator) -> Accepts:
    def accepts(arguments: Any) -> bool:
        try:
            return not problems(validator, kind.arrange(tool, arguments), arguments, tool)
        except ToolError:
            return False

    return accepts
