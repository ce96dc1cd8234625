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
    and by the first word of each phrase the words that may follow it."""

    meanings: Mapping[str, Mapping[str, float]]
    doing: Mapping[str, Mapping[str, float]]
    phrases: frozenset[str]
    following: Mapping[str, frozenset[str]]
    longest: int


@cache
def thesaurus() -> Thesaurus:
    words = orjson.loads(WORDS.read_bytes())
    phrases = frozenset(words["phrases"])
    following: dict[str, set[str]] = {}
    for first, second, *_ in (phrase.split("_") for phrase in phrases if "_" in phrase):
        following.setdefault(first, set()).add(second)
    known = {first: frozenset(seconds) for first, seconds in following.items()}
    return Thesaurus(words["meanings"], words["doing"], phrases, known, words["longest"])
