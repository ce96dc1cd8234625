"""The words people use for what tools call otherwise, from `thesaurus.toml` and `everyday.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import orjson

from executor.dataclass import dataclass

PART = 0.45
WORDS = Path(__file__).with_name("words.json")  # see `word_lists`


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """`meanings` of words and phrases (stems joined by `_`) with how well each fits; `phrases` that tools may use,
    and their `beginnings`, the first word of each."""

    meanings: Mapping[str, Mapping[str, float]]
    doing: Mapping[str, Mapping[str, float]]
    phrases: frozenset[str]
    beginnings: frozenset[str]
    longest: int


@cache
def thesaurus() -> Thesaurus:
    words = orjson.loads(WORDS.read_bytes())
    phrases = frozenset(words["phrases"])
    beginnings = frozenset(phrase.partition("_")[0] for phrase in phrases)
    return Thesaurus(words["meanings"], words["doing"], phrases, beginnings, words["longest"])
