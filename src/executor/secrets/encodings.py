"""The ways in which a secret can be written so that a reader gets it back without effort."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote, quote_plus

from executor.dataclass import dataclass

SHORTEST = 4  # anything shorter is no secret, and would turn up everywhere
SHORTEST_BARE = 8  # letters and digits that are enough to recognise a value by, without the rest of it
_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_LOWER = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", _LETTERS[:26])
_OTHERS = bytes(set(range(256)) - set(_LETTERS) - set(_LETTERS.upper()))
_BREAKS = (b"\\n", b"\\r", b"\\t")


@dataclass(frozen=True, slots=True)
class Writings:
    """`exact` is every writing as text, the longest first, so that none is cut by a shorter one inside it.

    `bare` are these as `bare` gives them, and more that only it can find. `short` are those of `exact` that it can't.
    """

    exact: tuple[str, ...]
    short: tuple[str, ...]
    bare: tuple[bytes, ...]


@lru_cache(maxsize=256)
def writings_of(values: tuple[str, ...]) -> Writings:
    values = tuple(value for value in values if len(value) >= SHORTEST)
    exact = {form for value in values for form in forms(value)}
    known = {form for value in values if is_telling(value) for form in forms(value) if len(bare(form)) >= SHORTEST_BARE}
    bare_forms = {bare(form) for form in known}
    bare_forms |= {needle for value in values if is_telling(value) for needle in more_needles(value)}
    known = {form for form in known if form[0] not in "nrt"}  # behind a backslash, that letter would be a break
    order: Callable[[str], tuple[int, str]] = lambda form: (-len(form), form)  # noqa: E731 - used twice, in one line
    return Writings(tuple(sorted(exact, key=order)), tuple(sorted(exact - known, key=order)), fewest(bare_forms))


def is_telling(value: str) -> bool:
    """Whether its letters and digits alone are nearly all of it: if not, part of a value would stand for the whole."""
    return len(bare(value)) >= max(SHORTEST_BARE, len(value) * 3 // 4)


def bare(text: str) -> bytes:
    """Letters and digits, in lower case: the same however a text is spaced, broken, punctuated or capitalized."""
    data = text.encode("utf-8", "surrogatepass")
    if b"\\" in data:
        for mark in _BREAKS:
            data = data.replace(mark, b"")
    return data.translate(_LOWER, _OTHERS)


def fewest(bare_forms: set[bytes]) -> tuple[bytes, ...]:
    """Without those that contain another: where they are, the other is."""
    kept: list[bytes] = []
    for needle in sorted((one for one in bare_forms if len(one) >= SHORTEST_BARE), key=lambda one: (len(one), one)):
        if not any(one in needle for one in kept):
            kept.append(needle)
    return tuple(kept)


def forms(value: str) -> set[str]:
    plain = {value, value.strip()}
    data = value.encode("utf-8", "surrogatepass")
    escaped = {form for one in plain for form in json_forms(one)} | {html.escape(value)}
    urls = {quote(data, safe=""), quote(data), quote_plus(data), "".join(f"%{byte:02X}" for byte in data)}
    urls |= {percent_lowered(url) for url in urls}
    encoded = base64_forms(data) | {data.hex(), data.hex().upper()}
    slashed = {form.replace("/", "\\/") for form in (*plain, *escaped, *encoded) if "/" in form}
    return {form for form in (*plain, *escaped, *urls, *encoded, *slashed) if len(form) >= SHORTEST}


def more_needles(value: str) -> set[bytes]:
    """Escapes of every letter, base32, base64 of base64, and UTF-16 in the usual encodings."""
    data = value.encode("utf-8", "surrogatepass")
    wide = [value.encode(name, "surrogatepass") for name in ("utf-16-le", "utf-16-be")]
    found = {
        "".join(f"x{byte:02x}" for byte in data),
        "".join(f"0x{byte:02x}" for byte in data),
        "".join(f"u{ord(letter):04x}" for letter in value),
        "".join(str(ord(letter)) for letter in value),
        "".join(f"{byte:03o}" for byte in data),
        "u0000".join(value),
        *base32_forms(data),
        *(one.hex() for one in wide),
        *(form for one in wide for form in base64_forms(one)),
        *(twice for once in base64_forms(data) for twice in base64_forms(once.encode())),
    }
    return {bare(form) for form in found}


def json_forms(value: str) -> set[str]:
    """As text inside JSON, and as that inside JSON once more."""
    once = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return once | {json.dumps(one)[1:-1] for one in once}


def percent_lowered(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)


def base64_forms(data: bytes) -> set[str]:
    """What of the base64 of a longer text is fixed by `data` alone, wherever in it `data` begins."""
    found = {fixed_part(base64.b64encode(b"\0" * shift + data), shift, len(data), 6) for shift in range(3)}
    found = {middle for middle in found if len(middle) >= SHORTEST + 1}
    return found | {middle.replace("+", "-").replace("/", "_") for middle in found}


def base32_forms(data: bytes) -> set[str]:
    return {fixed_part(base64.b32encode(b"\0" * shift + data), shift, len(data), 5) for shift in range(5)}


def fixed_part(encoded: bytes, shift: int, length: int, bits: int) -> str:
    """Without the letters at both ends that hold bits of what is around."""
    return encoded.decode().rstrip("=")[-(-shift * 8 // bits) : (shift + length) * 8 // bits]
