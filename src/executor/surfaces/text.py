"""Text for people, made from data that strangers wrote: nothing in it can move the cursor, hide or reorder."""

from __future__ import annotations

import unicodedata

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that draw nothing: Hangul fillers, Braille blank, combining grapheme joiner, variation selectors.
_BLANK = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0})


def escape(text: str, *, keep: str = "") -> str:
    """Every control, bidi, zero-width or blank character as `\\u{…}`, except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in keep or _is_plain(char) else f"\\u{{{ord(char):x}}}" for char in text)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, and how many were cut."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters cut)"


def _is_plain(char: str) -> bool:
    if " " <= char <= "~":
        return True
    number = ord(char)
    if number in _BLANK or 0xFE00 <= number <= 0xFE0F or 0xE0100 <= number <= 0xE01EF:
        return False
    category = unicodedata.category(char)
    return category not in _UNSAFE_CATEGORIES and not (category == "Zs" and char != " ")
