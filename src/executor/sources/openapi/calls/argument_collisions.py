"""Names that arguments bring with them, where an object is written as one parameter or field for each of its keys.

Such a name can't be one that the document declares, nor one that services may take for it: otherwise a value could
get past the argument that policies look at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl

from executor.model.known_keys import ParameterBinding
from executor.sources.openapi.calls.parameter_styles import refusal_of
from executor.sources.openapi.storage_format import OpenApiBinding

# What splits or ends a name for a service that decodes once more than it should.
_SPLITTING = re.compile(r"[&;=#?%+\x00-\x1f\x7f-\x9f\u200b-\u200f\ufeff]")
_BRACKETS = re.compile(r"[\[\].]+")

_COMPOUND = (dict, list)
Tokens = tuple[str, ...]


def check_parameters(binding: OpenApiBinding, given: dict[str, Any]) -> None:
    """Raises ToolError for a query, cookie or matrix name that is taken."""
    if not any(isinstance(value, _COMPOUND) for value in given.values()):
        return
    objects = [one for one in binding["parameters"] if isinstance(given.get(one["argument"]), _COMPOUND)]
    for parameter in objects:
        value, at = given[parameter["argument"]], f"/{parameter['argument']}"
        made = list(made_names(parameter, value, at))
        if made:
            check_names(made, taken_by(binding, parameter, given), at)


def taken_by(binding: OpenApiBinding, parameter: ParameterBinding, given: dict[str, Any]) -> list[str]:
    """Every other name in the same place: declared, fixed by the document, or made by another object."""
    found: list[str] = []
    for one in binding["parameters"]:
        if one is not parameter and place_of(one) == place_of(parameter):
            found.append(one["name"])
            value = given.get(one["argument"])
            if isinstance(value, dict | list):
                found += made_names(one, value, f"/{one['argument']}")
    found += [one["name"] for one in binding.get("credentials", ()) if one["in"] == place_of(parameter)]
    if place_of(parameter) == "query":
        query = binding["path"].partition("#")[0].partition("?")[2]
        found += [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    return found


def place_of(parameter: ParameterBinding) -> str:
    return "query" if parameter["in"] == "querystring" else parameter["in"]


def made_names(parameter: ParameterBinding, value: Any, at: str) -> Iterator[str]:
    """The names under which the keys of a value are sent; none where the value is written as one."""
    style, content = parameter["style"], parameter.get("content")
    if parameter["in"] == "querystring":
        if isinstance(value, dict) and (content or "form") == "form":
            yield from keys_of(value, at)
    elif content or parameter["in"] == "header" or (parameter["in"] == "path" and style != "matrix"):
        return
    elif style == "deepObject":
        yield from deep_names(parameter["name"], value, at)
    elif isinstance(value, dict) and (parameter["explode"] or style == "cookie"):
        yield from keys_of(value, at)


def deep_names(prefix: str, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key in keys_of(value, at):
            if "[" in key or "]" in key:
                raise refusal_of(f"the name {key[:80]!r} can't contain brackets", at)
            yield from deep_names(f"{prefix}[{key}]", value[key], f"{at}/{key}")
    elif isinstance(value, list):
        for part in value:
            yield from deep_names(f"{prefix}[]", part, at) if isinstance(part, dict | list) else ()
    else:
        yield prefix


def keys_of(value: dict[str, Any], at: str) -> Iterator[str]:
    """Raises ToolError for two keys of one object that are the same to a service."""
    present = [key for key, part in value.items() if part is not None]
    for key in present:
        if _SPLITTING.search(key) or not key.strip():
            raise refusal_of(
                f"the name {key[:80]!r} can't be sent: it contains characters that could end or split it", at
            )
    seen = Taken([])
    for key in present:
        if seen.has(key):
            raise refusal_of(f"the name {key[:80]!r} is passed twice, in two spellings", f"{at}/{key}")
        seen.add(key)
    yield from present


def check_fields(binding: OpenApiBinding, value: Any) -> None:
    """The same for the fields of a form. Where the document allows more fields than it names, these are made too."""
    body = binding["body"]
    if body is None or body.get("form") not in ("form", "multipart") or not isinstance(value, dict):
        return
    credentials = {one["name"] for one in binding.get("credentials", ()) if one["in"] == "form"}
    declared = set(body["flat"]) | set(body["encoding"]) | credentials
    extra = [key for key in value if key not in declared] if body["open"] else []
    if extra:
        list(keys_of({key: value[key] for key in extra}, "/body"))
        check_names(extra, [*declared], "/body")
    for name, part in value.items():
        encoding = body["encoding"].get(name, {})
        if body["form"] == "form" and isinstance(part, dict | list) and ("style" in encoding or "explode" in encoding):
            style = encoding.get("style", "form")
            explode = encoding.get("explode", style in ("form", "deepObject"))
            field: ParameterBinding = {
                "name": name,
                "in": "form",
                "argument": name,
                "style": style,
                "explode": explode,
            }
            others = [*(declared | set(value)) - {name}]
            check_names(list(made_names(field, part, f"/body/{name}")), others, f"/body/{name}")


def check_names(made: Sequence[str], taken: Iterable[str], at: str) -> None:
    others = Taken(taken)
    for name in made:
        if others.has(name):
            raise refusal_of(
                f"the name {name[:80]!r} in this object is taken: another argument, or the document itself, sends it",
                at,
            )


class Taken:
    """Names in the forms in which a service may take one for another: `a`, `A`, `a[]`, `a[b]`, `a.b` and `a_b`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._whole: set[Tokens] = set()
        self._begun: set[Tokens] = set()
        self._joined: set[str] = set()
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        tokens = tokens_of(name)
        self._whole.add(tokens)
        self._begun.update(tokens[:length] for length in range(1, len(tokens) + 1))
        self._joined.add("_".join(tokens))

    def has(self, name: str) -> bool:
        tokens = tokens_of(name)
        begins_with_one = any(tokens[:length] in self._whole for length in range(1, len(tokens) + 1))
        return begins_with_one or tokens in self._begun or "_".join(tokens) in self._joined


def tokens_of(name: str) -> Tokens:
    plain = unicodedata.normalize("NFKC", name).casefold().strip().replace(" ", "_")
    return tuple(part for part in _BRACKETS.split(plain) if part) or ("",)
