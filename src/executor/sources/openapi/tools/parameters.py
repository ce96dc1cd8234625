"""Parameters of an operation: which argument each one is, and how its value is written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from executor.dataclass import dataclass
from executor.model.known_keys import ParameterBinding
from executor.model.tool import Schema
from executor.sources.openapi.calls.media import is_json
from executor.sources.openapi.documents.document import Document, UnresolvedRef, key_text

# Parameters that say nothing about an operation, because its whole path or the whole document has them.
FEWEST = 5
SHARE = 0.8

Place = tuple[str, str]


def shared_parameters(document: Document, operations: Iterable[tuple[Any, Any]]) -> frozenset[Place]:
    """`(place, name)` of what most operations have; each operation is given as the lists of its path and its own."""
    counts: Counter[Hashable] = Counter()
    examples: dict[Hashable, Any] = {}
    total = 0
    for lists in operations:
        total += 1
        own = {key_of(raw): raw for group in lists if isinstance(group, list) for raw in group if isinstance(raw, dict)}
        document.visits.spend(len(own))
        counts.update(own.keys())
        examples |= own
    least = max(FEWEST, total * SHARE)
    return frozenset(place_of(document, examples[key]) for key, count in counts.items() if count >= least)


def key_of(raw: dict[str, Any]) -> Hashable:
    ref = raw.get("$ref")
    return ref if isinstance(ref, str) else (key_text(raw.get("in")), key_text(raw.get("name")))


def place_of(document: Document, raw: Any) -> Place:
    raw = document.object_at(raw)
    return (key_text(raw.get("in")).lower(), key_text(raw.get("name"))) if raw is not None else ("", "")


def places_of(document: Document, parameters: Any) -> frozenset[Place]:
    return frozenset(place_of(document, raw) for raw in parameters) if isinstance(parameters, list) else frozenset()


PLACES = ("path", "query", "querystring", "header", "cookie")
DELIMITED = ("spaceDelimited", "pipeDelimited", "tabDelimited")
# The first of each place is what a parameter has that names none, or one that does not exist there.
STYLES = {
    "path": ("simple", "label", "matrix", *DELIMITED),
    "query": ("form", "deepObject", *DELIMITED),
    "querystring": ("form",),
    "header": ("simple", *DELIMITED),
    "cookie": ("form", "cookie"),
}
# Set by the client or by a connection, never by arguments. The OpenAPI standard ignores the first three as well.
OWN_HEADERS = frozenset(
    {
        "accept", "content-type", "authorization", "host", "content-length", "cookie", "connection", "expect", "te",
        "transfer-encoding", "upgrade", "trailer", "keep-alive", "proxy-authorization", "proxy-connection", "via",
        "user-agent", "accept-encoding", "content-encoding", "forwarded", "x-forwarded-for", "x-forwarded-host",
        "x-forwarded-proto", "x-real-ip", "x-http-method-override", "x-http-method", "x-method-override", "origin",
        "set-cookie", "http2-settings",
    }
)  # fmt: skip
# Change what is called: given only where the document names a value for them that does no more than read.
OVERRIDES = frozenset({"x-http-method-override", "x-http-method", "x-method-override"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
TEMPLATE = re.compile(r"\{([^{}/]+)\}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


class Unusable(Exception):
    """Why an operation can't become a tool."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`argument` is its name in calls: its own, unless another place uses that too. `content` is the form of a value
    that is written as a whole: `json`, `text` or `form`."""

    name: str
    place: str
    argument: str
    style: str
    explode: bool
    required: bool
    content: str
    schema: Any
    description: str = ""
    reserved: bool = False

    def binding(self) -> ParameterBinding:
        bound: ParameterBinding = {
            "name": self.name,
            "in": self.place,
            "argument": self.argument,
            "style": self.style,
            "explode": self.explode,
        }
        if self.content:
            bound["content"] = self.content
        if self.reserved:
            bound["reserved"] = True
        return bound


def collect(document: Document, path: str, *lists: Any) -> list[Parameter]:
    """Parameters of the path item and the operation; the operation's replace the path item's."""
    found: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
    for raw in (item for group in lists if isinstance(group, list) for item in group):
        try:
            parameter = document.follow(raw)
        except UnresolvedRef as error:
            raise Unusable(f"a parameter can't be read: {error}") from error
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str | int | float):
            raise Unusable("a parameter has no name")
        place, name = place_and_name(parameter, path)
        same = name.lower() if place == "header" else name
        found[(place, same)] = (name, parameter)
    for name in TEMPLATE.findall(path):
        if f"={{{name}}}" in path and ("query", name) in found:  # `/search?q={q}`: it has its place already
            found[("path", name)] = found.pop(("query", name))
        found.setdefault(("path", name), (name, {"required": True, "schema": {"type": "string"}}))
    kept = [(place, name, raw) for (place, _), (name, raw) in found.items() if keep(place, name, path, raw)]
    return name_arguments([build_parameter(document, place, name, raw) for place, name, raw in kept])


def build_parameter(document: Document, place: str, name: str, raw: dict[str, Any]) -> Parameter:
    """Made once for a parameter that many operations refer to."""
    known = document.made.get((id(raw), name))
    if known is None:
        known = document.made[(id(raw), name)] = (raw, build(document, place, name, raw))
    made: Parameter = known[1]
    return made


def place_and_name(parameter: dict[str, Any], path: str) -> tuple[str, str]:
    """A path parameter is called as the path writes it: some write `{name}`, `{+name}` or `{name*}` for `name`."""
    place, name = key_text(parameter.get("in")).strip(), key_text(parameter["name"])
    if place.lower() in PLACES:
        place = place.lower()
    if place == "path" and f"{{{name}}}" not in path:
        for written in TEMPLATE.findall(path):
            if bare(written) == bare(name):
                return place, written
    return place, name


def bare(name: str) -> str:
    return name.strip(" {}+*?;&/.").partition(":")[0].lower()


def keep(place: str, name: str, path: str, raw: dict[str, Any]) -> bool:
    if place not in PLACES:
        raise Unusable(f"the parameter {name[:80]!r} is in {place[:40]!r}, which does not exist in OpenAPI")
    if place in ("header", "cookie"):
        is_free = place == "cookie" or name.lower() not in OWN_HEADERS or bool(overriding(name, raw))
        return is_free and _TOKEN.match(name) is not None
    return place != "path" or f"{{{name}}}" in path


def overriding(name: str, raw: dict[str, Any]) -> list[str]:
    """The methods that a header may put in place of the request's own."""
    schema = raw.get("schema")
    if name.lower() not in OVERRIDES or not isinstance(schema, dict):
        return []
    named = schema.get("enum")
    values = named if isinstance(named, list) else [schema.get("const"), schema.get("default")]
    return list(dict.fromkeys(one for one in values if isinstance(one, str) and one in READING))


def is_free_header(name: str, value: str) -> bool:
    return name.lower() not in OWN_HEADERS or (name.lower() in OVERRIDES and value in READING)


def build(document: Document, place: str, name: str, raw: dict[str, Any]) -> Parameter:
    media_type, media = content_of(document, raw)
    schema = media.get("schema", media.get("itemSchema")) if media is not None else raw.get("schema")
    if place == "header" and name.lower() in OVERRIDES:
        schema = {"type": "string", "enum": overriding(name, raw)}
    style = raw.get("style")
    if style not in STYLES[place]:
        style = STYLES[place][0]
    explode = raw.get("explode")
    return Parameter(
        name=name,
        place=place,
        argument=name,
        style=style,
        explode=explode if isinstance(explode, bool) else style in ("form", "cookie", "deepObject"),
        required=place == "path" or raw.get("required") is True,
        content=content_form(media_type) if media is not None else "",
        schema={} if schema is None else schema,
        description=raw["description"] if isinstance(raw.get("description"), str) else "",
        reserved=raw.get("allowReserved") is True or (place == "path" and name.startswith("+")),
    )


def content_of(document: Document, raw: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    content = raw.get("content")
    if not isinstance(content, dict) or not content:
        return "", None
    media_type, media = next(iter(content.items()))
    return key_text(media_type), document.object_at(media) or {}


def content_form(media_type: str) -> str:
    if media_type.startswith("application/x-www-form-urlencoded"):
        return "form"
    return "json" if is_json(media_type) or not media_type.startswith("text/") else "text"


def name_arguments(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Path parameters keep their names first; `body` is left to the request body."""
    named: list[Parameter] = []
    taken = {"body"}
    for parameter in sorted(parameters, key=lambda parameter: PLACES.index(parameter.place)):
        plain = (parameter.name.strip("+*") if parameter.place == "path" else "") or parameter.name
        argument = plain if plain not in taken else f"{plain}_{parameter.place}"
        while argument in taken:
            argument += "_"
        taken.add(argument)
        named.append(parameter if argument == parameter.argument else replace(parameter, argument=argument))
    return named


def add_description(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description and "description" not in schema else schema
