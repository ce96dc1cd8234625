"""What a document says about an operation, as one text."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

MAX_DESCRIPTION = 2_000
_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_ASCII_WORD = re.compile(r"[A-Z]+[a-z0-9]*|[a-z0-9]+")


def description(raw: dict[str, Any], where: str) -> str:
    """Summary, then description. What a document says is text for readers, so it is kept printable and bounded.

    A summary that says nothing more is left out; any other ends as a sentence does, since lists show both in one line.
    """
    summary, about, name = (
        raw[key].strip() if isinstance(raw.get(key), str) else "" for key in ("summary", "description", "operationId")
    )
    if summary and about:
        summary = "" if is_repeated(summary, about, name) else end_sentence(summary)
    text = "\n\n".join(filter(None, (summary, about))) or where
    return _UNPRINTABLE.sub(" ", text[:MAX_DESCRIPTION])


def is_repeated(summary: str, about: str, name: str) -> bool:
    """Whether the description begins alike, or the summary is only the name in words, as frameworks write it."""
    said = words(summary)
    return begins(about[:MAX_DESCRIPTION], said) or said == words(name)[: len(said)]


def begins(text: str, said: list[str]) -> bool:
    """Whether its first words are these. A part of it with more words than that is enough to see."""
    near = words(text[: 20 + 10 * len(said)])
    return said == (near if len(near) > len(said) else words(text))[: len(said)]


def words(text: str) -> list[str]:
    """A capital behind a small letter or a digit begins another word."""
    if text.isascii():
        return list(map(str.lower, _ASCII_WORD.findall(text)))
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[^\W_A-Z])(?=[A-Z])", " ", text).casefold())


def end_sentence(sentence: str) -> str:
    return sentence if unicodedata.category(sentence[-1]).startswith("P") else f"{sentence}."
