"""Filters over the tools of a source: `tag:issues`, `path:/repos/**`, `method:DELETE`, `admin.**`.

`*` matches any text inside one part of a name or path, `**` any text at all. As in policies, a tool pattern that
ends in `.*` or `.**` covers everything below. A tool pattern may begin with the namespace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast, get_args

import orjson

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.known_keys import KnownBinding
from executor.model.packed import ToolRow
from executor.model.tool import ALL

FilterKind = Literal["tag", "path", "method", "tool"]
ONLY_NAMES: tuple[FilterKind, ...] = ("tool",)
MAX_FILTERS = 100
MAX_LENGTH = 200
MAX_STARS = 5  # more would let a pattern try the same text in very many ways
WORDS: Mapping[FilterKind, str] = {"tag": "tags", "path": "paths", "method": "methods", "tool": "tool names"}
_KIND = re.compile(r"(tag|path|method|tool):(.*)", re.DOTALL)


class Traits(NamedTuple):
    """What filters can ask about a tool. `names` are its name without the namespace, and its whole path."""

    names: tuple[str, ...]
    tags: tuple[str, ...]
    path: str
    method: str


@dataclass(frozen=True, slots=True)
class Filter:
    text: str
    kind: FilterKind
    fits: Callable[[str], Any]

    def matches(self, traits: Traits) -> bool:
        return any(self.fits(value) for value in values_of(self.kind, traits))


def parse_filters(texts: Sequence[str], known: Sequence[FilterKind], source_kind: str) -> tuple[Filter, ...]:
    """`known` are the kinds of filters that apply to this kind of source."""
    if len(texts) > MAX_FILTERS:
        raise InvalidRequest(f"there are {len(texts)} filters", hint=f"use at most {MAX_FILTERS}, with `*` in patterns")
    return tuple(parse_filter(text, known, source_kind) for text in texts)


def parse_filter(text: str, known: Sequence[FilterKind], source_kind: str) -> Filter:
    found = _KIND.fullmatch(text)
    kind = cast("FilterKind", found[1]) if found else "tool"
    pattern = found[2] if found else text
    if not pattern.strip() or len(pattern) > MAX_LENGTH:
        hint = "for example: tag:issues, path:/repos/**, method:DELETE or admin.**"
        raise InvalidRequest(
            f"the filter {text[:MAX_LENGTH]!r} needs a pattern of 1 to {MAX_LENGTH} characters", hint=hint
        )
    if kind not in known:
        kinds = " or ".join(f"by {one}" for one in known)
        raise InvalidRequest(
            f"the filter {text!r} does not apply: tools of {source_kind} sources have no {WORDS[kind]}",
            hint=f"use {kinds}, for example {EXAMPLES[known[-1]]}",
        )
    return Filter(text, kind, compile_pattern(kind, pattern, text))


EXAMPLES: Mapping[FilterKind, str] = {
    "tag": "tag:issues",
    "path": "path:/repos/**",
    "method": "method:GET",
    "tool": "read_*",
}


def compile_pattern(kind: FilterKind, pattern: str, text: str) -> Callable[[str], Any]:
    """Tags and methods are compared whatever their case."""
    plain = pattern.strip()
    if kind == "tool" and plain.endswith(".*"):
        plain += "*"
    parts = re.split(r"(\*+)", plain)
    if len(parts) // 2 > MAX_STARS:
        raise InvalidRequest(f"the filter {text!r} has more than {MAX_STARS} `*`", hint="use several filters")
    inside = {"tool": "[^.]*", "path": "[^/]*"}.get(kind, ".*")
    stars = {"*": inside if plain != "*" else ".*"}
    body = "".join(stars.get(part, ".*") if part.startswith("*") else re.escape(part) for part in parts)
    return re.compile(body, 0 if kind in ("tool", "path") else re.IGNORECASE).fullmatch


def values_of(kind: FilterKind, traits: Traits) -> tuple[str, ...]:
    if kind == "tag":
        return traits.tags
    if kind == "tool":
        return traits.names
    return tuple(filter(None, [traits.path if kind == "path" else traits.method]))


def traits_of(row: ToolRow, namespace: str, kinds: set[FilterKind]) -> Traits:
    """Only what these kinds of filters ask about: reading the rest would cost time for thousands of tools."""
    binding: KnownBinding = orjson.loads(row.binding) if kinds & {"path", "method"} else {}
    tags = tuple(map(str, orjson.loads(row.tags))) if "tag" in kinds else ()
    return Traits(names_of(row.path, namespace), tags, str(binding.get("path", "")), method_of(binding))


def names_of(path: str, namespace: str) -> tuple[str, ...]:
    """What walks all pages of a list goes with it, under its name too."""
    paths = (path, path.removesuffix(ALL)) if path.endswith(ALL) else (path,)
    return tuple(name for one in paths for name in (one.removeprefix(f"{namespace}."), one))


def method_of(binding: KnownBinding) -> str:
    """GraphQL: `query` or `mutation`, also of the tools for documents of one's own."""
    if "method" in binding:
        return str(binding["method"])
    type = binding.get("type")
    if type == "raw":
        return "mutation" if binding.get("mutations") else "query"
    return "query" if type == "describe" else str(type or "")


assert set(WORDS) == set(get_args(FilterKind))  # noqa: S101 - each kind has its words
