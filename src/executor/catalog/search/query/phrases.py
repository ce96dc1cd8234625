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


def said_of(entry: Entry, does: int) -> frozenset[str]:
    """What may be said to mean this tool, in stems."""
    _, _, within = entry.path.removesuffix(ALL).partition(".")
    named = things(within.rpartition(".")[2] if entry.route else within)
    inside, end = things_of_path(entry.route.partition(" ")[2])
    if end is None:
        end = named
    if does & actions.ANY_POST == actions.ANY_POST:
        does &= ~actions.BITS["attach"]
    return find_words(named | inside, end, does)


@lru_cache(20_000)
def find_words(whole: frozenset[str], end: frozenset[str], does: int) -> frozenset[str]:
    """`whole`: all that a tool is about; `end`: what it acts on."""
    found: set[str] = set()
    for thing in whole:
        for saying in sayings().get(thing, ()):
            fits = whole.issuperset(saying.things) and not end.isdisjoint(saying.things)
            if fits and (not saying.does or does & saying.does):
                found.update(saying.words)
    return frozenset(found)


@lru_cache(20_000)
def things_of_path(path: str) -> tuple[frozenset[str], frozenset[str] | None]:
    """In all of its parts, and in the last; None if it has no parts."""
    parts = [part for part in _PARTS.split(path) if part and not part.startswith("{")]
    if not parts:
        return frozenset(), None
    end = things(parts[-1])
    if len(parts) > 1 and "." in path.rpartition("/")[2]:
        end |= things(parts[-2])
    return frozenset().union(*map(things, parts)), end


@cache
def known_things() -> frozenset[str]:
    return frozenset(thing for several in sayings().values() for saying in several for thing in saying.things)


@lru_cache(20_000)
def things(text: str) -> frozenset[str]:
    """Those that a saying names: tools have many others, and what is not kept apart is found only once."""
    parts = split(text)
    return known_things().intersection(map(stem, [*parts, "".join(parts)] if len(parts) > 1 else parts))
