"""What people say when they want a tool of some kind, from `phrases.toml`: indexed with every tool of that kind.

A synonym stands for one word. What someone wants is often told without any word of the tool's own, `he sent the shoes
back`, and only what a tool is about and what it does with that, together, tell that these words mean it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import orjson

from executor.catalog.search.index.entry import Entry
from executor.catalog.search.query import actions
from executor.catalog.search.query.thesaurus import WORDS
from executor.catalog.search.query.tokenizer import split, stem
from executor.dataclass import dataclass
from executor.model.tool import ALL

_PARTS = re.compile(r"[/.]")


@dataclass(frozen=True, slots=True)
class Saying:
    """Answers a tool with all of `things` that does any of `does`; 0 is whatever it does."""

    things: tuple[str, ...]
    does: int
    words: Sequence[str]


@cache
def sayings() -> Mapping[str, tuple[Saying, ...]]:
    """By the first of their things."""
    found: dict[str, list[Saying]] = {}
    for words, meant in orjson.loads(WORDS.read_bytes())["sayings"]:
        for things, does in meant:
            found.setdefault(things[0], []).append(Saying(tuple(things), does, words))
    return {thing: tuple(several) for thing, several in found.items()}


def said_of(entry: Entry, does: int) -> set[str]:
    """What may be said to mean this tool, in stems."""
    _, _, within = entry.path.removesuffix(ALL).partition(".")
    name = within.rpartition(".")[2] if entry.route else within
    parts = [part for part in _PARTS.split(entry.route.partition(" ")[2]) if part and not part.startswith("{")]
    end = things(parts[-1]) if parts else things(name)
    whole = things(name).union(*map(things, parts)) if parts else end
    if entry.route and len(parts) > 1 and "." in entry.route.rpartition("/")[2]:
        end |= things(parts[-2])
    if does & actions.ANY_POST == actions.ANY_POST:
        does &= ~actions.BITS["attach"]
    found: set[str] = set()
    for thing in whole:
        for saying in sayings().get(thing, ()):
            fits = whole.issuperset(saying.things) and not end.isdisjoint(saying.things)
            if fits and (not saying.does or does & saying.does):
                found.update(saying.words)
    return found


@lru_cache(20_000)
def things(text: str) -> frozenset[str]:
    parts = split(text)
    return frozenset(map(stem, [*parts, "".join(parts)] if len(parts) > 1 else parts))
