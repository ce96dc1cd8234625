"""Which tools of a source a request would be a call of, judged by its method and address alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from urllib.parse import parse_qsl, unquote, urlsplit

from executor.dataclass import dataclass
from executor.errors import EgressRefused
from executor.model.known_keys import KnownBinding
from executor.model.source import own_path
from executor.model.tool import ALL, Effect
from executor.network.addresses import parse

_VARIABLE = re.compile(r"\{[^{}/]+\}")

Segments = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """`segments` are those of the path: how each one begins and ends. `is_open` when the last takes all the rest."""

    path: str
    own_path: str
    effect: Effect
    method: str
    origin: str
    segments: tuple[tuple[str, str, bool], ...]
    is_open: bool
    fixed: frozenset[tuple[str, str]]

    def fits(self, given: Segments) -> bool:
        if len(given) != len(self.segments) and not (self.is_open and len(given) > len(self.segments)):
            return False
        return all(
            one.startswith(begin) and one.endswith(end) if varies else one == begin
            for (begin, end, varies), one in zip(self.segments, given, strict=False)
        )


@dataclass(frozen=True, slots=True)
class Operations:
    """Those of one source. `fields` are tool paths by the GraphQL field that they are of (`query.search`)."""

    requests: dict[str, list[Operation]] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)

    def at(self, method: str, url: str) -> Sequence[Operation]:
        """Every tool that the request may be a call of: in doubt one more, never one less."""
        target, parts = parse(url), urlsplit(url)
        query = frozenset(parse_qsl(parts.query, keep_blank_values=True))
        spellings = spellings_of(parts.path)
        methods = ("GET", "HEAD") if method == "HEAD" else (method,)
        return [
            one
            for name in methods
            for one in self.requests.get(name, ())
            if one.origin == target.origin and one.fixed <= query and any(map(one.fits, spellings))
        ]


def read_operations(bindings: Iterable[tuple[str, Effect, KnownBinding]]) -> Operations:
    found = Operations()
    for path, effect, binding in bindings:
        if path.endswith(ALL):
            continue
        if "field" in binding:
            found.fields[str(binding["operation"])] = path
        elif "method" in binding and binding.get("server"):
            one = read_operation(path, effect, binding)
            if one is not None:
                found.requests.setdefault(one.method, []).append(one)
    return found


def read_operation(path: str, effect: Effect, binding: KnownBinding) -> Operation | None:
    try:
        server = parse(binding["server"])
    except EgressRefused:
        return None
    template, _, query = str(binding["path"]).partition("#")[0].partition("?")
    fixed = frozenset(pair for pair in parse_qsl(query, keep_blank_values=True) if "{" not in pair[1])
    parts = [part for part in f"{urlsplit(server.url).path}/{template}".split("/") if part]
    is_open = bool(parts) and re.search(r"\{\+|[*+]\}", parts[-1]) is not None
    own = own_path("", binding)
    return Operation(
        path, own, effect, binding["method"], server.origin, tuple(map(read_segment, parts)), is_open, fixed
    )


def read_segment(template: str) -> tuple[str, str, bool]:
    fixed = [plain(part) for part in _VARIABLE.split(template)]
    return fixed[0], fixed[-1], len(fixed) > 1


def spellings_of(path: str) -> set[Segments]:
    """A path as services may take it: an encoded slash splits or does not, and what follows `;` counts or does not."""
    whole, apart = plain(path).split("/"), [plain(part) for part in path.split("/")]
    found = (whole, apart, [part.partition(";")[0] for part in whole], [part.partition(";")[0] for part in apart])
    return {resolve_segments(one) for one in found}


def plain(text: str) -> str:
    for _ in range(3):
        text = unquote(text)
    return text.replace("\\", "/").casefold()


def resolve_segments(segments: Iterable[str]) -> Segments:
    """Without dots and empty segments."""
    found: list[str] = []
    for one in segments:
        if one == "..":
            del found[-1:]
        elif one not in ("", "."):
            found.append(one)
    return tuple(found)
