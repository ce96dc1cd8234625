"""Letters that look like other letters: `pаypal` with one letter that is Cyrillic."""

# ruff: noqa: RUF001, RUF002 - these letters are what it is about
from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Each letter, then the ASCII letter that it looks like. `web/src/text/lookalikes.ts` has the same.
PAIRS = (
    "аaеeоoрpсcуyхxіiјjѕsԁdһhӏlԛqԝwАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSԌGӀIҮYԚQԜW"
    "αaοoρpνvιiυuχxγyΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϲcϳjϹC"
    "օoոnսuհhցgքpզqւlՏSՕOԼLᎪAᏴBᏟCᎠDᎬEᎻHᎫJᏦKᏞLᎷMᏢPᏒRᏚSᎢTᏙVᎳWᏃZɑaɡgɩiʀrꞮIꓐBꓑPꓓDꓔTꓖGꓗKꓙJꓚCꓜZꓝFꓟMꓠNꓡLꓢSꓣRꓦVꓧHꓪWꓫXꓬYꓮAꓰEꓲIꓳO"
)
TWINS = dict(zip(PAIRS[::2], PAIRS[1::2], strict=True))
SCRIPTS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN", "DESERET", "OSAGE", "TIFINAGH")
_WORD = re.compile(r"[\w.\-]+")
_DIGITS = str.maketrans("01345$@!|", "oleassail")


def deceptive(text: str) -> set[int]:
    """Where the text has a letter that a reader would take for another one."""
    if text.isascii():
        return set()
    found: set[int] = set()
    start = 0
    for line in text.splitlines(keepends=True):
        found |= {start + at for at in _in_line(line)}
        start += len(line)
    return found


def looks_like(text: str) -> str:
    """The text as a hasty reader sees it: small ASCII letters, and nothing else."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(TWINS.get(char, char) for char in plain).lower().translate(_DIGITS)
    return "".join(char for char in plain if "a" <= char <= "z")


def _in_line(line: str) -> set[int]:
    """In a word that mixes alphabets, every letter that is not Latin; in a line of another alphabet whose letters all
    look like Latin ones, all of them; and Latin letters in disguise anywhere."""
    foreign = {at for at, char in enumerate(line) if _is_foreign(char)}
    found = {at for at, char in enumerate(line) if _is_disguised(char)}
    if len(foreign) > 1 and all(line[at] in TWINS for at in foreign):
        return found | foreign
    for word in _WORD.finditer(line):
        inside = {at for at in foreign if word.start() <= at < word.end()}
        if inside and any(_is_latin(char) for char in word.group()):
            found |= inside
    return found


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalpha() if char < "\x80" else _script(char) == "LATIN" and char not in TWINS


def _is_foreign(char: str) -> bool:
    return char >= "\x80" and (_script(char) in SCRIPTS or char in TWINS)


def _is_disguised(char: str) -> bool:
    """`ｐ` and `𝐩`: a letter or digit of ASCII in another dress."""
    return char >= "\x80" and char.isalnum() and unicodedata.decomposition(char).startswith(("<font>", "<wide>"))


@lru_cache(4_000)
def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""
