"""What names of tools are made of, whatever kind their source is: harmless, unique, and always the same."""

from __future__ import annotations

import hashlib
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from executor.network.lookalikes import looks_like
from executor.sources.kind import RESERVED

MAX_LENGTH = 64
# Names with a meaning of their own on objects of the languages that call tools, and Python's keywords.
TAKEN = frozenset(
    {
        "then", "catch", "finally", "constructor", "prototype", "toString", "toLocaleString", "valueOf", "toJSON",
        "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "arguments", "caller", "callee", "name", "length",
        "apply", "call", "bind",
    }
) | frozenset(keyword.kwlist)  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def short_hash(text: str, length: int = 4) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def to_ascii(text: str) -> tuple[str, bool]:
    """Accents are dropped; the flag says that other letters were lost: lookalikes must not pass for each other."""
    if text.isascii():
        return text, False
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    lost = any(c.isalnum() and not unicodedata.normalize("NFD", c)[0].isascii() for c in text)
    return "".join(c if c.isascii() else " " for c in plain), lost


def words(text: str) -> list[str]:
    return _WORD.findall(text)


@lru_cache(5_000)
def camel(text: str) -> str:
    """`pulls/list-for-repo` → `pullsListForRepo`; an acronym in front is lowered (`URLCheck` → `urlCheck`)."""
    parts = _OTHER.sub(" ", text).split()
    if not parts:
        return ""
    joined = "".join(part[:1].upper() + part[1:] for part in parts)
    head = _WORD.match(joined)
    first = head.group() if head else ""
    return first.lower() + joined[len(first) :]


@lru_cache(5_000)
def identifier(text: str, fallback: str) -> str:
    """A name of `[A-Za-z0-9_]` that starts with a letter and means nothing else to the languages that call it."""
    ascii_text, lost = to_ascii(text)
    name = camel(ascii_text)
    if lost or not name:
        name = f"{name or fallback}_{short_hash(text)}" if text.strip() else fallback
    if name[0].isdigit():
        name = f"{fallback}{name}"
    if len(name) > MAX_LENGTH:
        name = f"{name[: MAX_LENGTH - 9]}_{short_hash(text, 8)}"
    return f"{name}_" if name in TAKEN else name


NONE: Mapping[str, str] = {}


def unique(wanted: Sequence[tuple[str, str]], kept: Mapping[str, str] = NONE) -> list[str]:
    """Names for (name, key) pairs. All that would clash get a suffix from their key: none can take another's name.

    Keys that have a name already keep it, also when a newcomer wants the same.
    """
    held = {kept[key].lower() for _, key in wanted if key in kept}
    counts = Counter(name.lower() for name, key in wanted if key not in kept)
    clashing = {name for name, count in counts.items() if count > 1} | held
    taken = set(counts) | held
    result = []
    for name, key in wanted:
        if key in kept:
            name = kept[key]
        elif name.lower() in clashing:
            name = next(
                candidate
                for length in range(4, 65)
                if (candidate := f"{name}_{short_hash(key, length)}").lower() not in taken
            )
            taken.add(name.lower())
        result.append(name)
    return result


# Words that say nothing about which product it is: anywhere, only in front of it, only behind it.
NOISE = frozenset({"api", "apis", "rest", "restful", "openapi", "swagger", "the", "spec", "specification", "http", "v"})
BEFORE = frozenset({"www", "official", "web", "public"})
AFTER = frozenset(
    {
        "web", "cloud", "platform", "service", "services", "reference", "docs", "documentation", "developer",
        "developers", "public", "beta", "alpha", "preview", "production", "sandbox", "definition", "endpoint",
        "endpoints", "with", "for", "of", "and", "to", "by", "from", "com", "io", "net", "org",
    }
)  # fmt: skip


def poses_as_executor(name: str) -> bool:
    """`executor`, the same with Cyrillic letters, `execut0r`, `The Executor itself`."""
    return "executor" in looks_like(name)


def namespace_from(title: str, host: str) -> str:
    """A namespace someone would choose: the title without filler words, else the telling part of the host."""
    title = "" if poses_as_executor(title) else title
    plain = to_ascii(re.sub(r"['\u2019]s\b", "", title))[0]
    found = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", plain)]
    found = [word for word in found if word not in NOISE and not re.fullmatch(r"v?\d+", word)]
    while found and found[0] in BEFORE:
        found = found[1:]
    found = found[:3]
    while found and found[-1] in AFTER and "_".join(found[:-1]) not in TAKEN:
        found = found[:-1]
    labels = [label for label in host.split(".") if label not in ("www", "api", "localhost")]
    if not found and len(labels) >= 2 and not labels[-1].isdigit():
        found = re.findall(r"[a-z0-9]+", labels[-2].lower())
    name = "_".join(found)[:40].strip("_")
    name = name if re.match(r"[a-z]", name) else f"api_{name}".rstrip("_")
    return f"{name}_api" if name in RESERVED else name
