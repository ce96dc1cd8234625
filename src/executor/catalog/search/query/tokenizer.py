"""Text taken apart into words, and words brought to their stems, the same for tools and for queries."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain


def split_spaced(text: str) -> list[str]:
    """For lists of words that are written as text."""
    return text.split()


# Words that tell nothing of what a tool does or what someone wants.
STOP = frozenset(
    split_spaced("""
    a an the of in on to for with and or by from at is are was were be been being am it its this that these those as
    i me my mine myself you your yours we our ours us they them their theirs he him his she her hers into onto upon
    want wants wanted need needs please how do does did done can could would should will shall may might must have has
    had having which what who whom whose when where why some any all every each both such so if then than too very just
    also only again further there here about between through during before after above below over under within without
    across per via etc let lets like one ones not no nor via using use used uses given specified particular certain
    specific able allow allows allowed based various different provide provides provided providing
    something anything someone somebody anyone s t re ve ll d m im ive dont doesnt isnt hey hi hello thanks thank
    """)
)
MAX_WORD = 40
# Words that capitals, or digits, don't split.
_WHOLE = r"IPv[46]|ipv[46]|OAuth2?|oauth2|GraphQL|GitHub|GitLab|YouTube|PayPal|MySQL|PostgreSQL|NoSQL|[kK]8[sS]|S3|EC2"
_WORD = re.compile(rf"{_WHOLE}|[A-Z]{{2,}}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")
_SPACED = bytes(code if chr(code).isalnum() else ord(" ") for code in range(256))
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def plain(text: str) -> str:
    """One form for letters that look or mean the same: full width, ligatures, accents, marks of direction."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c) and unicodedata.category(c) != "Cf")


def split(text: str) -> list[str]:
    """Lower-case words in their order: `listForRepo`, `list-for-repo` and `list_for_repo` are the same three."""
    text = plain(text)
    if text.isascii():
        return list(chain.from_iterable(map(words_in, chunks(text))))
    found: list[str] = []
    for raw in _WORD.findall(_APOSTROPHE.sub("", text)):
        if raw.isascii() or not _WIDE.search(raw):
            found.append(lower(raw))
        else:
            found.extend(pairs(raw))
    return found


def chunks(text: str) -> list[bytes]:
    """The runs of letters and digits in an ASCII text. No word goes beyond one, and few of them are new, so what is
    found out about one is remembered."""
    return (_APOSTROPHE.sub("", text) if "'" in text else text).encode().translate(_SPACED).split()


@lru_cache(200_000)
def words_in(chunk: bytes) -> tuple[str, ...]:
    if chunk.islower() and chunk.isalpha():
        return (chunk[:MAX_WORD].decode(),)  # most are one word, written as it is kept
    return tuple(map(lower, _WORD.findall(chunk.decode())))


@lru_cache(200_000)
def stems_in(chunk: bytes) -> tuple[str, ...]:
    return tuple(stem(word) for word in words_in(chunk) if word not in STOP)


@lru_cache(200_000)
def lower(raw: str) -> str:
    """Acronyms have their plural in a small letter: `PRs`."""
    if len(raw) > 2 and raw[-1] == "s" and raw[:-1].isupper():
        raw = raw[:-1]
    return raw.casefold()[:MAX_WORD]


def pairs(text: str) -> list[str]:
    """Scripts without spaces: every two characters are a word."""
    return [text[at : at + 2] for at in range(max(1, len(text) - 1))][:200]


def stems(text: str) -> list[str]:
    if text.isascii():
        return list(chain.from_iterable(map(stems_in, chunks(text))))
    return [stem(word) for word in split(text) if word not in STOP]


@lru_cache(200_000)
def stem(word: str) -> str:
    """Porter's way: plurals, verb endings and the commonest endings of nouns made of verbs."""
    if len(word) <= 2 or not word.isascii() or not word.isalpha():
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and len(word) > 2 and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    if word.endswith(_LONG_ENDINGS):
        ending, shorter = next(one for one in _LONG if word.endswith(one[0]))
        head = word[: -len(ending)]
        word = head + shorter if _measure(head) > 0 else word
    return _final(_short(word))


def _plural(word: str) -> str:
    if not word.endswith("s"):
        return word
    if word.endswith("sses") or (word.endswith("ies") and len(word) > 4):
        return word[:-2]
    if word.endswith(("xes", "shes", "ches", "zzes")) and len(word) > 4:
        return word[:-2]
    if not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    if not word.endswith(("ed", "ing")):
        return word
    for ending in ("ed", "ing"):
        head = word[: -len(ending)]
        if len(head) > 2 and word.endswith(ending) and _has_vowel(head):
            if head.endswith(("at", "bl", "iz")):
                return head + "e"
            if len(head) > 3 and head[-1] == head[-2] and head[-1] not in "lszaeiou":
                return head[:-1]
            return head + "e" if _measure(head) == 1 and _is_short(head) else head
    return word


_LONG = tuple(
    sorted(
        {
            "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able",
            "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
            "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
            "biliti": "ble", "isation": "ize", "iser": "ize", "icate": "ic", "alize": "al", "iciti": "ic", "ical": "ic",
            "ful": "", "ness": "",
        }.items(),
        key=lambda item: -len(item[0]),
    )
)  # fmt: skip
_LONG_ENDINGS = tuple(ending for ending, _ in _LONG)
_SHORT = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "ise", "er", "al", "ic",
)  # fmt: skip
# By the code of each letter.
_SOUNDS = "".join("v" if chr(code) in "aeiou" else "y" if chr(code) == "y" else "c" for code in range(128))
_VOWEL_Y = re.compile(r"(?<=[cy])y")


def _short(word: str) -> str:
    if not word.endswith(_SHORT):
        return word
    ending = next(ending for ending in _SHORT if word.endswith(ending))
    head = word[: -len(ending)]
    return head if _measure(head) > 1 and (ending != "ion" or head.endswith(("s", "t"))) else word


def _final(word: str) -> str:
    if word.endswith("e"):
        head = word[:-1]
        measure = _measure(head)
        if measure > 1 or (measure == 1 and not _is_short(head)):
            word = head
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _vowels(word: str) -> str:
    """`v` for each vowel, and for a `y` behind anything else; `c` for other letters."""
    sounds = word.translate(_SOUNDS)
    return _VOWEL_Y.sub("v", sounds).replace("y", "c") if "y" in sounds else sounds


def _measure(word: str) -> int:
    """How many times a vowel is followed by a consonant."""
    return _vowels(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _vowels(word)


def _is_short(word: str) -> bool:
    return _vowels(word)[-3:] == "cvc" and word[-1] not in "wxy"
