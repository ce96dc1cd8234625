"""Postman collections (2.0 and 2.1), in the words of OpenAPI 3.1.

A collection holds requests as someone once sent them: names of parameters and examples of their values, hardly any
types. So parameters of a query are optional, fields of a body too, and answers promise nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Any
from urllib.parse import parse_qsl

from executor.dataclass import dataclass
from executor.schemas.keywords import key_text
from executor.sources.openapi.translations import postman_auth as auths
from executor.sources.openapi.translations.group_names import shortest_names

Node = dict[str, Any]
MARKER = b"/json/collection/v2"
METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"})
SCALAR = {"type": ["string", "number", "boolean"]}
# Set by the client that sends the request, or by a connection.
OWN_HEADERS = frozenset(
    {
        "accept", "accept-encoding", "authorization", "cache-control", "connection", "content-length", "content-type",
        "cookie", "host", "postman-token", "user-agent",
    }
)  # fmt: skip
LANGUAGES = {"xml": "application/xml", "html": "text/html", "javascript": "application/javascript"}
MAX_EXAMPLE = 200
MAX_DEPTH = 40
_VARIABLE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_BARE_VARIABLE = re.compile(r"(?<![\"\w])\{\{\s*[^{}]+?\s*\}\}(?![\"\w])")
_SEGMENT = re.compile(r"(?<=/):([A-Za-z_][\w-]*)")
_BASE = re.compile(r"(?:[A-Za-z][\w+.-]*://)?[^/?#]*")
_LOCAL = re.compile(r"(localhost|127\.|\[::1\])")


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved request, with the folders around it and the authorization that holds there."""

    name: str
    folders: tuple[str, ...]
    request: Node
    auth: Any

    @property
    def method(self) -> str:
        return key_text(self.request.get("method", "GET")).strip().lower() or "get"


def is_collection(root: Node) -> bool:
    info = collection_of(root).get("info")
    return isinstance(info, dict) and MARKER.decode() in key_text(info.get("schema", ""))


def collection_of(root: Node) -> Node:
    """Postman's own API wraps what it exports."""
    inner = root.get("collection")
    return inner if isinstance(inner, dict) else root


def translate(root: Node) -> Node:
    root = collection_of(root)
    known = variables_of(root)
    saved = list(requests(root.get("item"), (), root.get("auth")))
    places = [split_address(one.request.get("url"), known) for one in saved]
    base = next((base for base, _ in Counter(base for base, _ in places).most_common(1)), "")
    tags = shortest_names(one.folders for one in saved)
    paths: Node = {}
    schemes: Node = {}
    for one, (own, path) in zip(saved, places, strict=True):
        operation = {**describe(one, path, schemes), "tags": [tags[one.folders]] if one.folders else []}
        if own != base:
            operation["servers"] = [server(own)]
        item = paths.setdefault(unique_path(paths, path, one), {})
        (item if one.method in METHODS else item.setdefault("additionalOperations", {}))[one.method] = operation
    info = root["info"]
    return {
        "openapi": "3.1.0",
        "info": {"title": info.get("name", ""), "description": text_of(info.get("description")), "version": ""},
        "servers": [server(base)] if base else [],
        "paths": paths,
        "components": {"securitySchemes": schemes},
    }


def variables_of(root: Node) -> dict[str, str]:
    return {
        key_text(one.get("key", one.get("id"))): key_text(one["value"])
        for one in entries(root.get("variable"))
        if one.get("value") not in (None, "")
    }


def entries(value: Any) -> Iterator[Node]:
    """The objects of a list; of a map, as 2.0 has them, `{key, value}` each."""
    if isinstance(value, dict):
        value = [{"key": key, "value": part} for key, part in value.items()]
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def requests(items: Any, folders: tuple[str, ...], auth: Any) -> Iterator[Saved]:
    for one in entries(items) if len(folders) < MAX_DEPTH else ():
        name, own = key_text(one.get("name", "")), one.get("auth", auth)
        if "item" in one:
            yield from requests(one["item"], (*folders, name), own)
            continue
        request = one.get("request")
        request = {"url": request} if isinstance(request, str) else request
        if isinstance(request, dict):
            yield Saved(name, folders, request, request.get("auth", own))


def split_address(url: Any, known: Mapping[str, str]) -> tuple[str, str]:
    """Where the service is, and the path as a template; variables with a value are put in."""
    raw = raw_address(url).partition("#")[0].partition("?")[0]
    for _ in range(3):  # a value may name other variables
        raw = _VARIABLE.sub(lambda match: known.get(match[1], match[0]), raw)
    base = _BASE.match(raw)[0] if raw and not raw.startswith("/") else ""  # type: ignore[index]
    path = _SEGMENT.sub(r"{\1}", "/" + raw[len(base) :].lstrip("/"))
    return base, _VARIABLE.sub(lambda match: "{" + argument_name(match[1]) + "}", path)


def raw_address(url: Any) -> str:
    if not isinstance(url, dict):
        return key_text(url).strip() if url is not None else ""
    if isinstance(url.get("raw"), str) and url["raw"].strip():
        return key_text(url["raw"]).strip()
    scheme = f"{url['protocol']}://" if isinstance(url.get("protocol"), str) else ""
    host, path = (
        separator.join(map(key_text, part)) if isinstance(part, list) else key_text(part or "")
        for part, separator in ((url.get("host"), "."), (url.get("path"), "/"))
    )
    return f"{scheme}{host}/{path.lstrip('/')}"


def argument_name(variable: str) -> str:
    return re.sub(r"\W+", "_", variable).strip("_") or "value"


def server(base: str) -> Node:
    """A variable without a value becomes one of the server, so its value is required when the source is added."""
    names = _VARIABLE.findall(base)
    url = _VARIABLE.sub(lambda match: "{" + argument_name(match[1]) + "}", base)
    if "://" not in url and not (names and base.startswith("{{")):
        url = f"http://{url}" if _LOCAL.match(url) else f"https://{url}"
    return {"url": url, "variables": {argument_name(name): {} for name in names}}


def unique_path(paths: Node, path: str, saved: Saved) -> str:
    """Several saved requests of one address: later ones have a fragment, which is never sent."""
    label = path + "#" + re.sub(r"\W+", "-", "-".join([*saved.folders, saved.name])).strip("-")
    candidates = chain([path, label], (f"{label}-{number}" for number in count(2)))
    return next(one for one in candidates if not has_method(paths.get(one, {}), saved.method))


def has_method(item: Node, method: str) -> bool:
    return method in item or method in item.get("additionalOperations", {})


def describe(saved: Saved, path: str, schemes: Node) -> Node:
    request = saved.request
    headers = list(entries(request.get("header")))
    security = auths.security(saved.auth, headers, schemes)
    operation = {
        "operationId": saved.name,
        "summary": saved.name,
        "description": text_of(request.get("description")),
        "parameters": [*path_parameters(path, request.get("url")), *query(request.get("url")), *fields(headers)],
        "responses": {},
    }
    if security is not None:
        operation["security"] = security
    body = None if saved.method in ("get", "head") else body_of(request.get("body"), headers)
    return operation if body is None else {**operation, "requestBody": body}


def text_of(value: Any) -> str:
    return key_text(value.get("content", "")) if isinstance(value, dict) else key_text(value or "")


def path_parameters(path: str, url: Any) -> Iterator[Node]:
    described = {
        key_text(one.get("key", one.get("id"))): one
        for one in entries(url.get("variable") if isinstance(url, dict) else None)
    }
    for name in dict.fromkeys(re.findall(r"\{([^{}]+)\}", path)):
        yield parameter(name, "path", described.get(name, {}), required=True)


def query(url: Any) -> Iterator[Node]:
    found = list(entries(url.get("query") if isinstance(url, dict) else None))
    if not found:
        text = raw_address(url).partition("#")[0].partition("?")[2]
        found = [{"key": name, "value": value} for name, value in parse_qsl(text, keep_blank_values=True)]
    named = {key_text(one["key"]): one for one in reversed(found) if one.get("key") not in (None, "")}
    yield from (parameter(name, "query", one) for name, one in reversed(named.items()) if not _VARIABLE.search(name))


def fields(headers: list[Node]) -> Iterator[Node]:
    """A header that was sent with a fixed value is one that the service wants, such as a version."""
    for one in headers:
        name = key_text(one.get("key", ""))
        if name and name.lower() not in OWN_HEADERS and not _VARIABLE.search(name):
            is_fixed = bool(one.get("value")) and not _VARIABLE.search(key_text(one["value"]))
            yield parameter(name, "header", one, required=is_fixed and one.get("disabled") is not True)


def parameter(name: str, place: str, saved: Node, *, required: bool = False) -> Node:
    return {"name": name, "in": place, "required": required, "description": with_example(saved), "schema": SCALAR}


def with_example(saved: Node) -> str:
    value, described = key_text(saved.get("value") or ""), text_of(saved.get("description"))
    return described if not value or _VARIABLE.search(value) else f"{described} {example(value)}".strip()


def example(value: Any) -> str:
    return f"Example: {key_text(value)[:MAX_EXAMPLE]}"


def body_of(raw: Any, headers: list[Node]) -> Node | None:
    if not isinstance(raw, dict) or raw.get("disabled") is True:
        return None
    mode = raw.get("mode")
    if mode == "raw":
        return raw_body(raw, headers)
    if mode in ("urlencoded", "formdata"):
        media = "multipart/form-data" if mode == "formdata" else "application/x-www-form-urlencoded"
        return content(media, form(raw.get(mode)))
    if mode == "graphql":
        properties = {"query": {"type": "string"}, "variables": {"type": "object"}}
        return content("application/json", {"type": "object", "properties": properties, "required": ["query"]})
    return content("application/octet-stream", {"type": "string", "format": "binary"}) if mode == "file" else None


def content(media_type: str, schema: Node) -> Node:
    return {"content": {media_type: {"schema": schema}}, "required": True}


def raw_body(raw: Node, headers: list[Node]) -> Node | None:
    text = key_text(raw.get("raw") or "")
    if not text.strip():
        return None
    types = (key_text(one.get("value")) for one in headers if key_text(one.get("key")).lower() == "content-type")
    declared = next(types, "").partition(";")[0]
    options = raw.get("options")
    options = options.get("raw") if isinstance(options, dict) else None
    language = key_text(options.get("language", "")) if isinstance(options, dict) else ""
    try:
        value = json.loads(_BARE_VARIABLE.sub("null", text))
    except ValueError:
        is_json = language == "json" or "json" in declared
        media = "application/json" if is_json else declared or LANGUAGES.get(language, "text/plain")
        return content(media, {} if is_json else {"type": "string"})
    return content(declared if "json" in declared else "application/json", shape_of(value))


def shape_of(value: Any) -> Node:
    """A schema of values like this one. A variable can have any value."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: shape_of(part) for key, part in value.items()}}
    if isinstance(value, list):
        return {"type": "array", **({"items": shape_of(value[0])} if value else {})}
    if value is None or (isinstance(value, str) and _VARIABLE.search(value)):
        return {}
    if isinstance(value, bool):
        return {"type": "boolean"}
    return {"type": "string" if isinstance(value, str) else "number", "description": example(value)}


def form(parts: Any) -> Node:
    properties: Node = {}
    for one in entries(parts):
        if name := key_text(one.get("key", "")):
            is_file = one.get("type") == "file"
            value = {"type": "string", "format": "binary"} if is_file else SCALAR
            properties[name] = {**value, "description": with_example(one)}
    return {"type": "object", "properties": properties}
