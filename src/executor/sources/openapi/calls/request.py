"""From arranged arguments to the request that is sent. A value can never leave the place that is meant for it."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from executor.model.known_keys import BodyBinding, ParameterBinding
from executor.network.client import Outgoing
from executor.network.files import Upload
from executor.sources.openapi.calls.argument_collisions import check_fields, check_parameters
from executor.sources.openapi.calls.body_encoding import payload
from executor.sources.openapi.calls.parameter_styles import (
    cookies,
    encode,
    goes_up,
    header_value,
    path_value,
    query_pairs,
    refusal_of,
    whole,
)
from executor.sources.openapi.storage_format import OpenApiBinding
from executor.sources.openapi.tools.parameters import TEMPLATE, is_free_header

ACCEPT = "application/json, text/plain;q=0.5, */*;q=0.1"
# Left alone in the fixed parts of a path; braces, spaces and the like are encoded.
_FIXED = "/%:@!$&'()*+,;=~-._"


def build(base_url: str, binding: OpenApiBinding, arranged: dict[str, Any], idempotency_key: str) -> Outgoing:
    given = with_key(binding, arranged, idempotency_key)
    check_names(binding, given)
    values: dict[str, str] = {}
    query: list[str] = []
    named: set[str] = set()
    jar: list[str] = []
    headers = {"Accept": binding.get("accept", ACCEPT)}
    for parameter in binding["parameters"]:
        value = given.get(parameter["argument"])
        if value is None:
            continue
        place = parameter["in"]
        if place == "path":
            values[parameter["name"]] = path_value(parameter, value)
        elif place == "query":
            query.extend(query_pairs(parameter, value))
            named.add(encode(parameter["name"]))
        elif place == "querystring":
            query.append(whole_query(parameter, value))
        elif place == "cookie":
            jar.extend(cookies(parameter, value))
        elif is_free_header(parameter["name"], text := header_value(parameter, value)):
            headers[parameter["name"]] = text
    if jar:
        headers["Cookie"] = "; ".join(jar)
    url = base_url + fill_path(binding["path"], values, query, named)
    body: bytes | Upload | None = None
    form = binding["body"]
    if form is not None and "body" in given and not is_left_out(form, given["body"]):
        body, media_type = payload(form, given["body"])
        if body or form.get("form") != "form":  # a form without fields is no content, so it has no type
            headers["Content-Type"] = media_type
        else:
            body = None
    return Outgoing(binding["method"], url, headers, body)


def is_left_out(body: BodyBinding, value: Any) -> bool:
    """An optional form without a single field to send is no body at all."""
    is_form = body.get("form") in ("form", "multipart") and isinstance(value, dict)
    return is_form and not body["required"] and all(part is None for part in value.values())


def check_names(binding: OpenApiBinding, given: dict[str, Any]) -> None:
    """Raises ToolError if a key of an object would be sent under the name of something else."""
    check_parameters(binding, given)
    if binding["body"] is not None and "body" in given:
        check_fields(binding, given["body"])


def whole_query(parameter: ParameterBinding, value: Any) -> str:
    written = whole(parameter.get("content") or "form", value)
    return written if parameter.get("content") == "form" else quote(written, safe="")


def with_key(binding: OpenApiBinding, arranged: dict[str, Any], key: str) -> dict[str, Any]:
    argument = binding["idempotencyArgument"]
    return {**arranged, argument: key} if argument and key and arranged.get(argument) is None else arranged


def fill_path(template: str, values: dict[str, str], query: list[str], named: Collection[str] = ()) -> str:
    """What the path itself fixes in the query stays, unless a parameter of that very name (`named`) replaces it."""
    parts, fixed_query = split_template(template)
    path = "".join(part if index % 2 == 0 else place_values(part, values) for index, part in enumerate(parts))
    if goes_up(path) or ("." in path and "." in path.split("/")):
        raise refusal_of("the arguments would create a `.` or `..` segment in the path", "")
    if "{" in fixed_query:
        fixed_query = TEMPLATE.sub(lambda match: place_values(match[1], values), fixed_query)
        fixed_query = fixed_query.replace("{", "%7B").replace("}", "%7D")
    if fixed_query and named:
        fixed_query = "&".join(one for one in fixed_query.split("&") if one.partition("=")[0] not in named)
    pairs = [fixed_query, *query] if fixed_query else query
    return f"{path}?{'&'.join(pairs)}" if pairs else path


@lru_cache(2_000)
def split_template(template: str) -> tuple[tuple[str, ...], str]:
    """Fixed text and names by turns, then the template's own query (`/do?action=x`). A fragment is never sent."""
    path, _, query = template.partition("#")[0].partition("?")
    path = path if path.startswith("/") else f"/{path}"
    parts = re.split(TEMPLATE, path)
    parts[::2] = [quote(part, safe=_FIXED) for part in parts[::2]]
    return tuple(parts), quote(query, safe="=&%+,:;/?@!$'()*~-._{}")


def place_values(name: str, values: dict[str, str]) -> str:
    if name not in values:
        raise refusal_of(f"the path parameter {name!r} is missing", f"/{name}")
    return values[name]
