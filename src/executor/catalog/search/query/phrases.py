"""What people say when they want a tool of some kind, from `phrases.toml`: indexed with every tool of that kind.

A synonym stands for one word. What someone wants is often told without any word of the tool's own, `he sent the shoes
back`, and only what a tool is about and what it does with that, together, tell that these words mean it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from executor.catalog.search.index.entry import Entry
from executor.catalog.search.query import actions
from executor.catalog.search.query.tokenizer import STOP, split, stem
from executor.dataclass import dataclass
from executor.model.tool import ALL

FILE = Path(__file__).with_name("phrases.toml")
KINDS = {
    **actions.BITS,
    "reads": actions.READS,
    "makes": actions.BITS["create"] | actions.BITS["send"] | actions.BITS["attach"],
    "changes": actions.CHANGES | actions.BITS["attach"],
    "drops": actions.BITS["delete"] | actions.BITS["stop"],
}
_PARTS = re.compile(r"[/.]")


@dataclass(frozen=True, slots=True)
class Saying:
    """Answers a tool with all of `things` that does any of `does`; 0 is whatever it does."""

    things: tuple[str, ...]
    does: int
    words: tuple[str, ...]


@cache
def sayings() -> Mapping[str, tuple[Saying, ...]]:
    """By the first of their things."""
    found: dict[str, list[Saying]] = {}
    for part in tomllib.loads(FILE.read_text("utf-8")).values():
        for key, text in part.items():
            words = tuple(dict.fromkeys(stem(word) for word in split(text) if word not in STOP))
            for saying in find_phrases(key, words):
                found.setdefault(saying.things[0], []).append(saying)
    return {thing: tuple(several) for thing, several in found.items()}


def find_phrases(key: str, words: tuple[str, ...]) -> list[Saying]:
    """Names that are written as one word, as in `/configmaps`, are the same thing as two."""
    found, does = [], 0
    for one in key.split("|"):
        kind, colon, rest = one.rpartition(":")
        does = KINDS[kind.strip()] if colon else does
        parts = split(rest)
        found.append(Saying(tuple(stem(part) for part in parts), does, words))
        if len(parts) > 1:
            found.append(Saying((stem("".join(parts)),), does, words))
    return found


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
