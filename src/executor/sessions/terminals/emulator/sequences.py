"""The output of programs, cut into text, control characters and sequences.

Only sequences that draw are kept. Anything else would act on the terminals of watchers: clipboards, titles, links,
palettes, files, and requests that a terminal answers as if its user had typed. A name that is not listed is dropped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_SEQUENCE = 4096  # of one that has not ended; a longer one is no sequence
DRAWING = frozenset("@ABCDEFGHIJKLMPSTXZ`abdefghlmrsu")
PRIVATE_DRAWING = frozenset("JKhl")
# Of DEC's: cursor keys, origin, wrap, blinking and visible cursor, other screens, mouse, focus, paste.
MODES = frozenset({1, 6, 7, 12, 25, 47, 1000, 1002, 1003, 1004, 1006, 1047, 1048, 1049, 2004})
ANSI_MODES = frozenset({4, 20})
ESCAPES = frozenset("78DEHMc=>")
CHARSETS = frozenset("0B")

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<prefix>[<-?]?)(?P<params>[0-9:;]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|(?P<control>[\x07-\x0f]+)"
    r"|\x1b(?P<set>[()])(?P<charset>[ -~])"
    r"|\x1b(?P<string>[\]PX^_])[^\x07\x18\x1a\x1b]*(?:\x07|\x1b\\|[\x18\x1a]|(?=\x1b[^\\]))"
    r"|\x1b(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<other>\x1b[ -/]+[0-~]"
    r"|\x1b\[[ -?]*(?:[@-~\x00-\x1a\x7f-\x9f]|(?=\x1b))"
    r"|\x1b[^ -~]|[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
)
_STRING = re.compile(r"\x1b[\]PX^_]")


class Token(NamedTuple):
    """`kind` is text, control, csi, escape, charset or query. `source` is how it was written."""

    kind: str
    source: str
    final: str = ""
    prefix: str = ""
    params: str = ""


class Sequences:
    """Keeps what is not whole yet: half a character, half a sequence."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._is_skipping = False  # a string without an end, which was too long to keep

    def read(self, data: bytes) -> Iterator[Token]:
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        position, end = 0, len(text)
        if self._is_skipping:
            position = self._skip(text)
        while position < end:
            found = _TOKEN.match(text, position)
            if found is None:
                if self._keep(text[position:]):
                    return
                position += 1
                continue
            position = found.end()
            token = read_token(found)
            if token is not None:
                yield token

    def _keep(self, rest: str) -> bool:
        """Until more has come. A string that is too long to keep is skipped to its end."""
        if len(rest) <= MAX_SEQUENCE:
            self._rest = rest
            return True
        self._is_skipping = _STRING.match(rest) is not None
        return self._is_skipping

    def _skip(self, text: str) -> int:
        ending = re.search(r"[\x07\x18\x1a]|\x1b", text)
        if ending is None:
            return len(text)
        self._is_skipping = False
        return ending.start() if ending.group() == "\x1b" else ending.end()


def read_token(found: re.Match[str]) -> Token | None:
    """None for what is dropped."""
    kind = found.lastgroup
    source = found.group()
    if kind == "text":
        return Token("text", source)
    if kind == "final":
        return read_csi(source, *found.group("prefix", "params", "between", "final"))
    if kind == "control":
        return Token("control", source)
    if kind == "escape":
        return Token("escape", source, found["escape"]) if found["escape"] in ESCAPES else None
    if kind == "charset":
        return Token("charset", source, found["charset"], found["set"]) if found["charset"] in CHARSETS else None
    return None


def read_csi(source: str, prefix: str, params: str, between: str, final: str) -> Token | None:
    if between:
        drawn = (between, final) in ((" ", "q"), ("!", "p")) and not prefix
        return Token("csi", source, between + final, "", params) if drawn else None
    if final in "hl":
        return read_modes(prefix, params, final)
    if final in "cn" and not prefix:
        return Token("query", source, final, "", params)
    drawn = (not prefix and final in DRAWING) or (prefix == "?" and final in PRIVATE_DRAWING)
    return Token("csi", source, final, prefix, params) if drawn else None


def read_modes(prefix: str, params: str, final: str) -> Token | None:
    """Without the modes that are not known."""
    known = MODES if prefix == "?" else ANSI_MODES if not prefix else frozenset[int]()
    kept = ";".join(one for one in params.split(";") if one.isdecimal() and len(one) < 6 and int(one) in known)
    return Token("csi", f"\x1b[{prefix}{kept}{final}", final, prefix, kept) if kept else None


def numbers(params: str, default: int = 0) -> list[int]:
    """Parameters that are left out are `default`. No screen has more than 9,999 of anything."""
    return [min(int(one[:5]), 9999) if one.isdecimal() else default for one in params.split(";")[:32]]
