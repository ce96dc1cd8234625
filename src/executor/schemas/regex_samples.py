"""Text that a regular expression may accept, made up from the expression. It is never run here: who asks, checks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import re._constants as words  # type: ignore[import-not-found]  # no public module takes expressions apart
    import re._parser as parser  # type: ignore[import-not-found]

MAX_PATTERN = 2_000
MAX_TEXT = 2_000
PLAIN = "a1A0-_ ./:@#=,bZ"
# For patterns that look ahead, as those of passwords do.
STOCK = ("Aa1!Aa1!", "Aa1!Aa1!Aa1!Aa1!", "a", "A", "1", "a1", "a-1", "abcdefgh", "12345678")
CATEGORIES = {
    words.CATEGORY_DIGIT: "1",
    words.CATEGORY_NOT_DIGIT: "a",
    words.CATEGORY_SPACE: " ",
    words.CATEGORY_NOT_SPACE: "a",
    words.CATEGORY_WORD: "a",
    words.CATEGORY_NOT_WORD: "-",
}


def samples(pattern: str, least: int = 0) -> Iterator[str]:
    """Short ones first; some try to be at least `least` characters long."""
    if len(pattern) > MAX_PATTERN:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = parser.parse(pythonic(pattern))
        for branch in range(3):
            for more in (0, 1, least):
                made = Writer(branch, more).text(parsed)[:MAX_TEXT]
                yield made
                yield made + made[-1:] * (least - len(made))
    except (re.error, OverflowError, RecursionError, KeyError, ValueError, StopIteration):
        pass
    yield from STOCK


def pythonic(pattern: str) -> str:
    """In Python's words: other dialects have properties, `\\z` and named groups of their own."""
    pattern = re.sub(r"\\[pP]\{[^}]*\}|\\p[A-Z]", "a", pattern.replace(r"\z", r"\Z").replace(r"\/", "/"))
    return re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", pattern)


class Writer:
    """`branch` is the alternative taken; `more` is how often beyond need something is repeated."""

    def __init__(self, branch: int, more: int) -> None:
        self._branch = branch
        self._more = more
        self._left = MAX_TEXT

    def text(self, parsed: Any) -> str:
        return "".join(self._piece(word, value) for word, value in parsed)

    def _piece(self, word: Any, value: Any) -> str:
        self._left -= 1
        if self._left < 0:
            raise OverflowError
        if word is words.LITERAL:
            return chr(value)
        if word is words.NOT_LITERAL:
            return next(one for one in PLAIN if ord(one) != value)
        if word is words.ANY:
            return "a"
        if word is words.IN:
            return one_of(value)
        if word in (words.MAX_REPEAT, words.MIN_REPEAT, getattr(words, "POSSESSIVE_REPEAT", None)):
            low, high, inner = value
            return self.text(inner) * min(max(low, min(low + self._more, high)), MAX_TEXT) if high else ""
        if word is words.SUBPATTERN:
            return self.text(value[-1])
        if word is words.BRANCH:
            return self.text(value[1][self._branch % len(value[1])])
        return ""


def one_of(items: Any) -> str:
    if items and items[0][0] is words.NEGATE:
        return next(one for one in PLAIN if not any(holds(item, one) for item in items[1:]))
    made = [member(word, value) for word, value in items]
    return next((one for one in made if one.isalnum()), made[0])


def member(word: Any, value: Any) -> str:
    if word is words.LITERAL:
        return chr(value)
    return chr(value[0]) if word is words.RANGE else CATEGORIES[value]


def holds(item: Any, character: str) -> bool:
    word, value = item
    if word is words.LITERAL:
        return chr(value) == character
    if word is words.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    is_word, is_space = character.isalnum() or character == "_", character.isspace()
    return {
        words.CATEGORY_DIGIT: character.isdigit(),
        words.CATEGORY_NOT_DIGIT: not character.isdigit(),
        words.CATEGORY_SPACE: is_space,
        words.CATEGORY_NOT_SPACE: not is_space,
        words.CATEGORY_WORD: is_word,
        words.CATEGORY_NOT_WORD: not is_word,
    }[value]
