"""From arranged arguments to the request that is sent. A value can never leave the place that is meant for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import orjson

from executor.errors import ToolError
from executor.sources.egress import Outgoing
from executor.sources.openapi.parameters import OWN_HEADERS

SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "simple": ","}
ACCEPT = "application/json, text/plain;q=0.5, */*;q=0.1"
# Left alone in the fixed parts of a path; braces, spaces and the like are encoded.
_FIXED = "/%:@!$&'()*+,;=~-._"
_UNRESERVED = re.compile(r"[A-Za-z0-9_.~-]*\Z")
_PARTS = re.compile(r"[/\\]|%2F|%5C")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t\x80-\U0010ffff]*\Z")


def build(base_url: str, binding: dict[str, Any], arranged: dict[str, Any], idempotency_key: str) -> Outgoing:
    given = with_key(binding, arranged, idempotency_key)
    values: dict[str, str] = {}
    query: list[str] = []
    headers = {"Accept": ACCEPT}
    for parameter in binding["parameters"]:
        value = given.get(parameter["argument"])
        if value is None:
            continue
        if parameter["in"] == "path":
            values[parameter["name"]] = path_value(parameter, value)
        elif parameter["in"] == "query":
            query.extend(query_pairs(parameter, value))
        elif parameter["name"].lower() not in OWN_HEADERS:
            headers[parameter["name"]] = header_value(parameter, value)
    url = base_url + fill_path(binding["path"], values, query)
    body = None
    if binding["body"] is not None and "body" in given:
        body = orjson.dumps(given["body"])
        headers["Content-Type"] = binding["body"]["mediaType"]
    return Outgoing(binding["method"], url, headers, body)


def with_key(binding: dict[str, Any], arranged: dict[str, Any], key: str) -> dict[str, Any]:
    argument = binding["idempotencyArgument"]
    return {**arranged, argument: key} if argument and key and arranged.get(argument) is None else arranged


def fill_path(template: str, values: dict[str, str], query: list[str]) -> str:
    parts, fixed_query = split_template(template)
    path = "".join(part if index % 2 == 0 else placed(part, values) for index, part in enumerate(parts))
    if "." in path and (climbs(path) or "." in path.split("/")):
        raise refused("the arguments would make a `.` or `..` segment in the path", "")
    pairs = [fixed_query, *query] if fixed_query else query
    return f"{path}?{'&'.join(pairs)}" if pairs else path


@lru_cache(2_000)
def split_template(template: str) -> tuple[tuple[str, ...], str]:
    """Fixed text and names by turns, then the template's own query (`/do?action=x`). A fragment is never sent."""
    path, _, query = template.partition("#")[0].partition("?")
    parts = re.split(r"\{([^{}]+)\}", path)
    parts[::2] = [quote(part, safe=_FIXED) for part in parts[::2]]
    return tuple(parts), quote(query, safe="=&%+,:;/?@!$'()*~-._")


def placed(name: str, values: dict[str, str]) -> str:
    if name not in values:
        raise refused(f"the path parameter {name!r} is missing", f"/{name}")
    return values[name]


def path_value(parameter: dict[str, Any], value: Any) -> str:
    """Percent-encoded throughout, so that `/`, `%`, `;`, `@` and `?` stay inside their segment."""
    if climbs(value):
        raise refused(f"the path parameter {parameter['name']!r} can't have a `..` part", f"/{parameter['argument']}")
    text = joined(parameter, value)
    if not text:
        raise refused(f"the path parameter {parameter['name']!r} is empty", f"/{parameter['argument']}")
    if text == ".":
        raise refused(f"the path parameter {parameter['name']!r} can't be {text!r}", f"/{parameter['argument']}")
    return text


def climbs(value: Any) -> bool:
    """If some reader could take it for a way up: proxies decode what was encoded, and some take `\\` for `/`."""
    if isinstance(value, str):
        return ".." in value and ".." in _PARTS.split(value)
    if isinstance(value, dict):
        return any(climbs(part) for part in (*value, *value.values()))
    return isinstance(value, list) and any(climbs(part) for part in value)


def query_pairs(parameter: dict[str, Any], value: Any) -> Iterator[str]:
    name, explode = encode(parameter["name"]), parameter["explode"]
    if parameter["json"]:
        yield f"{name}={encode(orjson.dumps(value).decode())}"
    elif isinstance(value, dict) and parameter["style"] == "deepObject":
        yield from deep_pairs(parameter["name"], value)
    elif isinstance(value, dict) and explode:
        yield from (f"{encode(key)}={encode(text(part))}" for key, part in value.items() if part is not None)
    elif isinstance(value, list) and (explode or parameter["style"] == "deepObject"):
        yield from (f"{name}={encode(text(part))}" for part in value)
    else:
        yield f"{name}={joined(parameter, value)}"


def deep_pairs(prefix: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from deep_pairs(f"{prefix}[{key}]", part)
    elif isinstance(value, list):
        for part in value:
            yield from deep_pairs(f"{prefix}[]" if isinstance(part, dict | list) else prefix, part)
    elif value is not None:
        yield f"{encode(prefix)}={encode(text(value))}"


def header_value(parameter: dict[str, Any], value: Any) -> str:
    if parameter["json"]:
        return orjson.dumps(value).decode()
    plain = ",".join(pieces(parameter, value))
    if not _HEADER_VALUE.match(plain):
        raise refused(f"the header {parameter['name']!r} can't contain control characters", f"/{parameter['argument']}")
    return plain


def joined(parameter: dict[str, Any], value: Any) -> str:
    if parameter["json"]:
        return encode(orjson.dumps(value).decode())
    return SEPARATORS.get(parameter["style"], ",").join(encode(piece) for piece in pieces(parameter, value))


def pieces(parameter: dict[str, Any], value: Any) -> list[str]:
    if isinstance(value, list):
        return [text(part) for part in value]
    if isinstance(value, dict):
        pairs = [(key, text(part)) for key, part in value.items() if part is not None]
        return (
            [f"{key}={part}" for key, part in pairs]
            if parameter["explode"]
            else [one for pair in pairs for one in pair]
        )
    return [text(value)]


def text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return orjson.dumps(value).decode()


def encode(value: str) -> str:
    if _UNRESERVED.match(value):
        return value
    try:
        return quote(value, safe="")
    except UnicodeEncodeError as error:
        raise refused("an argument holds half a surrogate pair, which is no text", "") from error


def refused(message: str, at: str) -> ToolError:
    problems = [{"at": at, "message": message}]
    return ToolError("invalid_arguments", message, details={"problems": problems}, hint="change this argument")
