"""Echoes of a secret in what comes back, replaced, in whatever way they are written (see `writings`).

The mark is the same for every secret and every length, so that neither shows. Only whole values are replaced: to
replace parts would let anyone who controls an echo guess a value piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import orjson

from executor.secrets.encodings import Writings, bare, writings_of

MARK = "[redacted]"
MAX_DEPTH = 200
UNESCAPED = 256 * 1024  # text up to this size is also read with the escapes of single letters undone
_HEX = "[0-9A-Fa-f]"
_ESCAPE = (
    rf"\\{{1,8}}u(?:\{{0{{0,6}})?({_HEX}{{2,4}})\}}?|\\{{1,8}}x({_HEX}{{2}})|%(?:25)*({_HEX}{{2}})|=({_HEX}{{2}})"
    rf"|&(?:amp;)*#0{{0,20}}(\d{{1,7}});?|&(?:amp;)*#[xX]0{{0,20}}({_HEX}{{1,6}});?|\\{{1,8}}([0-3][0-7]{{2}})"
)
_ESCAPED = re.compile(_ESCAPE)
# One letter, however it is written; or a break, or an entity by name, which stand for none.
_LETTER = re.compile(rf"{_ESCAPE}|\\[nrtbf]|&[A-Za-z]{{2,8}};|([A-Za-z0-9])")
_NAMED = re.compile("&[A-Za-z]{2,8};")
_GAP = r'(?:\\[nrt]|\\(?![nrt])|[^A-Za-z0-9"\\]++)*+'


def redact(text: str, values: Iterable[str]) -> str:
    """Looking costs the same whatever is in the text; what is found is replaced, the longest writing first."""
    known = writings_of(tuple(values))
    if known.bare and found_in(text, known):
        text = replace_exact(text, known.exact)
        text = replace_spaced(text, found_in(text, known))
    else:
        text = replace_exact(text, known.short)
    return replace_escaped(text, known) if len(text) <= UNESCAPED and _ESCAPED.search(text) else text


def found_in(text: str, known: Writings) -> list[bytes]:
    plain = bare(text)
    return [needle for needle in known.bare if needle in plain]


def replace_exact(text: str, forms: Iterable[str]) -> str:
    found = [form for form in forms if form in text]
    return re.sub("|".join(map(re.escape, found)), MARK, text) if found else text


def replace_spaced(text: str, needles: Iterable[bytes]) -> str:
    """In other letters or with something between them, but within one string of JSON."""
    for needle in needles:
        text = spaced_pattern(needle).sub(MARK, text)
    return text


@lru_cache(maxsize=512)
def spaced_pattern(needle: bytes) -> re.Pattern[str]:
    return re.compile(_GAP.join(needle.decode()), re.IGNORECASE | re.ASCII)


def replace_escaped(text: str, known: Writings) -> str:
    """Some letters may be escaped and others not, in one way or several."""
    plain = bare(unescape(text))
    found = [needle for needle in known.bare if needle in plain]
    return cover(text, found) if found else text


def unescape(text: str) -> str:
    for _ in range(3):
        before, text = text, _ESCAPED.sub(letter_of, text)
        if text == before:
            break
    return _NAMED.sub("", text)


def letter_of(match: re.Match[str]) -> str:
    wide, hexed, percent, equals, decimal, entity, octal = match.groups()[:7]
    if code := wide or hexed or percent or equals or entity:
        return letter(int(code, 16))
    return letter(int(decimal)) if decimal else letter(int(octal, 8)) if octal else ""


def letter(code: int) -> str:
    return chr(code) if code < 0x110000 else ""


def cover(text: str, needles: Sequence[bytes]) -> str:
    """By the letters and digits alone, with their escapes undone, and where each of them was."""
    letters: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _LETTER.finditer(text):
        one = match[8] or letter_of(match)
        if one.isascii() and one.isalnum():
            letters.append(one.lower())
            spans.append(match.span())
    plain, found = "".join(letters).encode(), []
    for needle in needles:
        at = plain.find(needle)
        while at >= 0:
            found.append((spans[at][0], spans[at + len(needle) - 1][1]))
            at = plain.find(needle, at + len(needle))
    pieces, done = [], 0
    for start, end in sorted(found):
        if start >= done:
            pieces += [text[done:start], MARK]
        done = max(done, end)
    return "".join([*pieces, text[done:]])


def redact_json(text: str, values: Iterable[str]) -> str:
    """JSON in, JSON out. Escapes that hide letters (`\\u0041`) are undone first."""
    values = tuple(values)
    if not writings_of(values).exact:
        return text
    if "\\" in text and ("\\u" in text or "\\/" in text):
        text = orjson.dumps(orjson.loads(text)).decode()
    replaced = redact(text, values)
    if replaced == text:
        return text
    try:
        orjson.loads(replaced)
    except orjson.JSONDecodeError:  # a number, or what follows a backslash, was part of it
        return orjson.dumps(redact_value(orjson.loads(text), values)).decode()
    return replaced


def redact_value(value: Any, values: Iterable[str], depth: int = 0) -> Any:
    values = tuple(values)
    if isinstance(value, str):
        return redact(value, values)
    if isinstance(value, dict):
        inner = ((key, one) for key, one in value.items())
        return {redact(str(key), values): redact_value(one, values, depth + 1) for key, one in inner}
    if isinstance(value, list | tuple):
        return [redact_value(one, values, depth + 1) for one in value] if depth < MAX_DEPTH else MARK
    if isinstance(value, int | float) and not isinstance(value, bool) and redact(str(value), values) != str(value):
        return MARK
    return value
