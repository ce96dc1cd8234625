"""Text that a regular expression accepts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import re._constants as words
    import re._parser as parser

# For patterns that look ahead, as those of passwords do.
STOCK = (
    "Aa1!Aa1!",
    "Aa1!Aa1!Aa1!Aa1!",
    "Aa1aaaaa",
    "abcdefgh",
    "12345678",
    "ABCDEFGH",
    "a",
    "A",
    "1",
    "1a",
    "a1",
    "a-1",
)
TRIES = ("a", "A", "1", "-", "/", "_", ".", " ", "b", "Z", "0", "#", ":", "@", "=", ",")


def matching(pattern: str, least: int, most: int | None, fits: Callable[[str], bool] = bool) -> str | None:
    """None if no text could be made up for it. `fits` may refuse a text for other reasons."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = pythonic(pattern)
            found = re.compile(pattern)
            for made in tries(parser.parse(pattern), least):
                if len(made) < least and found.search(made):
                    made += "a" * (least - len(made))
                if len(made) >= least and (most is None or len(made) <= most) and found.search(made) and fits(made):
                    return made
    except (re.error, OverflowError, RecursionError, KeyError, ValueError, StopIteration):
        pass
    return None


def pythonic(pattern: str) -> str:
    """In Python's words: other dialects also have properties, `\\z`, possessive repeats and escapes of their own."""
    pattern = re.sub(r"\\p\{[^}]*\}|\\p[A-Z]", "a", pattern.replace(r"\z", r"\Z").replace(r"\/", "/"))
    return re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", pattern)


def tries(parsed: Any, least: int) -> Iterator[str]:
    """The shortest text first; then longer ones, since `least` is often reached in one place of several."""
    for extra in range(3):
        yield written(parsed, extra, least)
    yield from STOCK
    for extra in range(2, min(least, 200) + 1):
        yield written(parsed, -extra, 0)


def written(parsed: Any, extra: int, least: int) -> str:
    return "".join(piece(word, value, extra, least) for word, value in parsed)


def piece(word: Any, value: Any, extra: int, least: int) -> str:
    if word is words.LITERAL:
        return chr(value)
    if word is words.NOT_LITERAL:
        return next(one for one in TRIES if ord(one) != value)
    if word is words.ANY:
        return "a"
    if word is words.IN:
        return one_of(value)
    if word in (words.MAX_REPEAT, words.MIN_REPEAT, getattr(words, "POSSESSIVE_REPEAT", None)):
        low, high, inner = value
        wanted = low - extra if extra < 0 else low + extra if extra < 2 else max(low, least)
        return written(inner, 0 if low or wanted else extra, 0) * min(wanted, high, 5_000)
    if word is words.SUBPATTERN:
        return written(value[3], extra, least)
    if word is words.BRANCH:
        return written(value[1][0], extra, least)
    if word is words.CATEGORY:
        return category(value)
    return ""


def one_of(items: Any) -> str:
    if items and items[0][0] is words.NEGATE:
        return next(one for one in TRIES if not any(holds(item, one) for item in items[1:]))
    made = [member(*item) for item in items]
    return next((one for one in made if one.isalnum()), made[0])


def member(word: Any, value: Any) -> str:
    if word is words.LITERAL:
        return chr(value)
    return chr(value[0]) if word is words.RANGE else category(value)


def holds(item: Any, character: str) -> bool:
    word, value = item
    if word is words.LITERAL:
        return chr(value) == character
    if word is words.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return re.match(NAMES[value], character) is not None


NAMES = {
    words.CATEGORY_DIGIT: r"\d",
    words.CATEGORY_NOT_DIGIT: r"\D",
    words.CATEGORY_SPACE: r"\s",
    words.CATEGORY_NOT_SPACE: r"\S",
    words.CATEGORY_WORD: r"\w",
    words.CATEGORY_NOT_WORD: r"\W",
}


def category(value: Any) -> str:
    return next(one for one in ("a", "1", " ", "-") if re.match(NAMES[value], one))
