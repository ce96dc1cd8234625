"""From the lists that people write (`thesaurus.toml`, `everyday.toml`, `phrases.toml`) to `words.json`.

Searches read only that: to bring all these words to their stems takes as long as to index a thousand tools. So
`scripts/search-words` does it after a list, or how words are split and stemmed, has changed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from executor.catalog.search.query import actions
from executor.catalog.search.query.tokenizer import STOP, split, stem

HERE = Path(__file__).parent
SAME = 0.8
MEANS = 0.75
LATER = 0.92  # each further meaning of a word counts a little less
KINDS = {
    **actions.BITS,
    "reads": actions.READS,
    "makes": actions.BITS["create"] | actions.BITS["send"] | actions.BITS["attach"],
    "changes": actions.CHANGES | actions.BITS["attach"],
    "drops": actions.BITS["delete"] | actions.BITS["stop"],
}
Meanings = dict[str, dict[str, float]]


def read_lists() -> dict[str, Any]:
    return {**read_thesaurus(), "sayings": read_sayings()}


def read_list(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / name).read_text("utf-8"))


def key(text: str) -> str:
    return "_".join(stem(word) for word in split(text))


def noun_key(text: str) -> str:
    return "_".join(stem(word) for word in split(text) if word not in STOP)


def read_thesaurus() -> dict[str, Any]:
    data = read_list("thesaurus.toml")
    meanings: Meanings = {}
    for group in data["same"]:
        for word in group:
            _add(meanings, key(word), {noun_key(other): SAME for other in group if other != word})
    for word, others in data["means"].items():
        _add(meanings, key(word), {noun_key(other): MEANS * LATER**at for at, other in enumerate(others)})
    for part in read_list("everyday.toml").values():
        for words, terms in part.items():
            others = {noun_key(term): MEANS * LATER**at for at, term in enumerate(terms.split(", "))}
            for word in words.split("|"):
                _add(meanings, key(word), others)
    doing: Meanings = {}
    for word, others in data["doing"].items():
        _add(doing, key(word), {noun_key(other): MEANS * LATER**at for at, other in enumerate(others)})
    phrases = {other for found in meanings.values() for other in found if "_" in other}
    phrases |= {noun_key(word.replace("_", " ")) for word in meanings if "_" in word}
    return {
        "meanings": meanings,
        "doing": doing,
        "phrases": sorted(phrases),
        "longest": max(word.count("_") + 1 for word in meanings),
    }


def _add(meanings: Meanings, word: str, others: Mapping[str, float]) -> None:
    for other, share in others.items():
        if other and other != word and meanings.get(word, {}).get(other, 0.0) < share:
            meanings.setdefault(word, {})[other] = share


def read_sayings() -> list[Any]:
    """Each as its words and, for what they may mean, things with the actions that are done to them."""
    return [
        [list(dict.fromkeys(stem(word) for word in split(text) if word not in STOP)), find_phrases(kinds)]
        for part in read_list("phrases.toml").values()
        for kinds, text in part.items()
    ]


def find_phrases(kinds: str) -> list[tuple[list[str], int]]:
    """Names that are written as one word, as in `/configmaps`, are the same thing as two."""
    found, does = [], 0
    for one in kinds.split("|"):
        kind, colon, rest = one.rpartition(":")
        does = KINDS[kind.strip()] if colon else does
        parts = split(rest)
        found.append(([stem(part) for part in parts], does))
        if len(parts) > 1:
            found.append(([stem("".join(parts))], does))
    return found
