"""Parameters of an operation: which argument each one is, and how its value is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from executor.model.tool import Schema
from executor.sources.openapi.document import Document, UnresolvedRef, key_text

PLACES = ("path", "query", "header", "cookie")
STYLES = {
    "path": ("simple",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
}
# Set by the client or by a connection, never by arguments. The OpenAPI standard ignores the first three as well.
OWN_HEADERS = frozenset(
    {
        "accept", "content-type", "authorization", "host", "content-length", "cookie", "connection", "expect", "te",
        "transfer-encoding", "upgrade", "trailer", "keep-alive", "proxy-authorization", "proxy-connection", "via",
        "user-agent", "accept-encoding", "content-encoding", "forwarded", "x-forwarded-for", "x-forwarded-host",
        "x-forwarded-proto", "x-real-ip", "x-http-method-override", "x-http-method", "x-method-override", "origin",
        "referer", "set-cookie", "date", "http2-settings",
    }
)  # fmt: skip
_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


class Unusable(Exception):
    """Why an operation can't become a tool."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`argument` is its name in calls: its own, unless another place uses that too."""

    name: str
    place: str
    argument: str
    style: str
    explode: bool
    required: bool
    json: bool
    schema: Any
    description: str = ""

    def binding(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "in": self.place,
            "argument": self.argument,
            "style": self.style,
            "explode": self.explode,
            "json": self.json,
        }


def collect(document: Document, path: str, *lists: Any) -> list[Parameter]:
    """Parameters of the path item and the operation; the operation's replace the path item's."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for raw in (item for group in lists if isinstance(group, list) for item in group):
        try:
            parameter = document.follow(raw)
        except UnresolvedRef as error:
            raise Unusable(f"a parameter can't be read: {error}") from error
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str | int | float):
            raise Unusable("a parameter has no name")
        found[(str(parameter.get("in")), key_text(parameter["name"]))] = parameter
    for name in _TEMPLATE.findall(path):
        found.setdefault(("path", name), {"required": True, "schema": {"type": "string"}})
    kept = [(place, name, raw) for (place, name), raw in found.items() if keep(place, name, raw, path)]
    return name_arguments([build(place, name, raw) for place, name, raw in kept])


def keep(place: str, name: str, raw: dict[str, Any], path: str) -> bool:
    if place not in PLACES:
        raise Unusable(f"the parameter {name!r} is in {place!r}, which does not exist in OpenAPI 3")
    if place == "cookie":
        if raw.get("required") is True:
            raise Unusable(f"it requires the cookie {name!r}; cookie parameters can't be sent yet")
        return False
    if place == "header":
        return name.lower() not in OWN_HEADERS and _TOKEN.match(name) is not None
    return place != "path" or f"{{{name}}}" in path


def build(place: str, name: str, raw: dict[str, Any]) -> Parameter:
    content = raw.get("content")
    media = next(iter(content.values()), None) if isinstance(content, dict) else None
    schema = media.get("schema") if isinstance(media, dict) else raw.get("schema")
    style = raw.get("style") if isinstance(raw.get("style"), str) else STYLES[place][0]
    if style not in STYLES[place] and media is None:
        raise Unusable(f"the parameter {name!r} uses the style {style!r}, which can't be written yet")
    return Parameter(
        name=name,
        place=place,
        argument=name,
        style=str(style),
        explode=raw["explode"] if isinstance(raw.get("explode"), bool) else style == "form",
        required=place == "path" or raw.get("required") is True,
        json=media is not None,
        schema={} if schema is None else schema,
        description=raw["description"] if isinstance(raw.get("description"), str) else "",
    )


def name_arguments(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Path parameters keep their names first; `body` is left to the request body."""
    named: list[Parameter] = []
    taken = {"body"}
    for parameter in sorted(parameters, key=lambda parameter: PLACES.index(parameter.place)):
        argument = parameter.name if parameter.name not in taken else f"{parameter.name}_{parameter.place}"
        while argument in taken:
            argument += "_"
        taken.add(argument)
        named.append(parameter if argument == parameter.name else replace(parameter, argument=argument))
    return named


def described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description and "description" not in schema else schema
