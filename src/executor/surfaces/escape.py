"""Text for people, made from data that strangers wrote: nothing in it can move the cursor, hide, reorder or pose."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from executor.network.lookalikes import deceptive

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that draw nothing: Hangul fillers, Braille blank, combining grapheme joiner, variation selectors.
_BLANK = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0})
# More marks than this on one letter cover its neighbours.
MARKS = 3
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,80}\Z")


def escape(text: str, *, keep: str = "") -> str:
    """Every control, bidi, zero-width or blank character as `\\u{…}`, except those in `keep`; also letters that pose as
    others, and marks that are too many or have no letter to stand on."""
    if text.isascii() and text.isprintable():
        return text
    posing, marks, made = deceptive(text), MARKS, list[str]()
    for at, char in enumerate(text):
        if char < "\x80":
            marks = 0 if char.isalnum() else MARKS
        elif unicodedata.category(char) in ("Mn", "Me"):
            marks += 1
        else:
            marks = 0
        plain = is_plain(char) and at not in posing and marks <= MARKS
        made.append(char if plain or char in keep else f"\\u{{{ord(char):x}}}")
    return "".join(made)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, and how many were cut."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters cut)"


def quote_lines(text: str) -> str:
    """Text of several lines inside a text of ours: each line after the first shows that it belongs to it."""
    return "\n| ".join(text.splitlines()) if len(text.splitlines()) > 1 else text


def error_code(code: object) -> str:
    """A code is one word. What code or a source throws in its place is shown as the data that it is."""
    text = str(code)
    return text if _CODE.match(text) else repr(text[:80])


@lru_cache(4_000)
def is_plain(char: str) -> bool:
    if " " <= char <= "~":
        return True
    number = ord(char)
    if number in _BLANK or 0xFE00 <= number <= 0xFE0F or 0xE0100 <= number <= 0xE01EF:
        return False
    category = unicodedata.category(char)
    return category not in _UNSAFE_CATEGORIES and not (category == "Zs" and char != " ")
