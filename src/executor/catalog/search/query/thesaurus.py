"""The words people use for what tools call otherwise, from `thesaurus.toml` and `everyday.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from executor.catalog.search.query.tokenizer import STOP, split, stem
from executor.dataclass import dataclass

SAME = 0.8
MEANS = 0.75
LATER = 0.92  # each further meaning of a word counts a little less
PART = 0.45
FILE = Path(__file__).with_name("thesaurus.toml")
EVERYDAY = Path(__file__).with_name("everyday.toml")


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """`meanings` of words and phrases (stems joined by `_`) with how well each fits; `phrases` that tools may use,
    and their `beginnings`, the first word of each."""

    meanings: Mapping[str, Mapping[str, float]]
    doing: Mapping[str, Mapping[str, float]]
    phrases: frozenset[str]
    beginnings: frozenset[str]
    longest: int


def key(text: str) -> str:
    return "_".join(stem(word) for word in split(text))


def noun_key(text: str) -> str:
    return "_".join(stem(word) for word in split(text) if word not in STOP)


@cache
def thesaurus() -> Thesaurus:
    data = tomllib.loads(FILE.read_text("utf-8"))
    meanings: dict[str, dict[str, float]] = {}
    for group in data["same"]:
        terms = {word: noun_key(word) for word in group}
        for word in group:
            _add(meanings, key(word), {term: SAME for other, term in terms.items() if other != word})
    for word, others in data["means"].items():
        _add(meanings, key(word), {noun_key(other): MEANS * LATER**at for at, other in enumerate(others)})
    for part in tomllib.loads(EVERYDAY.read_text("utf-8")).values():
        for words, terms in part.items():
            others = {noun_key(term): MEANS * LATER**at for at, term in enumerate(terms.split(", "))}
            for word in words.split("|"):
                _add(meanings, key(word), others)
    doing: dict[str, dict[str, float]] = {}
    for word, others in data["doing"].items():
        _add(doing, key(word), {noun_key(other): MEANS * LATER**at for at, other in enumerate(others)})
    phrases = {other for found in meanings.values() for other in found if "_" in other}
    phrases |= {noun_key(word.replace("_", " ")) for word in meanings if "_" in word}
    beginnings = frozenset(phrase.partition("_")[0] for phrase in phrases)
    return Thesaurus(meanings, doing, frozenset(phrases), beginnings, max(word.count("_") + 1 for word in meanings))


def _add(meanings: dict[str, dict[str, float]], word: str, others: Mapping[str, float]) -> None:
    for other, share in others.items():
        if other and other != word and meanings.get(word, {}).get(other, 0.0) < share:
            meanings.setdefault(word, {})[other] = share
