"""Google Discovery documents, in the words of OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from executor.schemas.keywords import key_text
from executor.sources.openapi.translations.group_names import shortest_names

Node = dict[str, Any]
MARKER = b"discovery#restDescription"
# Of the parameters that all methods share: how an answer is written, and credentials that a connection gives.
TRANSPORT = frozenset(
    {
        "$.xgafv", "access_token", "alt", "bearer_token", "callback", "key", "oauth_token", "pp", "prettyPrint",
        "uploadType", "upload_protocol", "userIp",
    }
)  # fmt: skip
FORMATS = {"google-datetime": "date-time", "google-duration": None, "google-fieldmask": None}
COPIED = ("description", "enum", "pattern", "readOnly", "deprecated", "title")
AUTHORIZATION = {
    "authorizationUrl": "https://accounts.google.com/o/oauth2/v2/auth",
    "tokenUrl": "https://oauth2.googleapis.com/token",
}
GOOGLE = (".googleapis.com", ".google.com")
BINARY = {"schema": {"type": "string", "format": "binary"}}


def is_discovery(root: Node) -> bool:
    return root.get("kind") == "discovery#restDescription"


def translate(root: Node) -> Node:
    shared = [parameter(name, one) for name, one in nodes(root.get("parameters")) if name not in TRANSPORT]
    found = list(methods(root, ()))
    tags = shortest_names(groups for _, groups in found)
    paths: Node = {}
    for method, groups in found:
        for path, operation in operations(root, method, tags[groups]):
            item = paths.setdefault(path, {"parameters": shared} if shared else {})
            item.setdefault(key_text(method.get("httpMethod")).lower(), operation)
    return {
        "openapi": "3.1.0",
        "info": {key: root[key] for key in ("title", "version", "description") if key in root},
        "servers": [{"url": base_url(root)}],
        "paths": paths,
        "components": {
            "schemas": {name: schema(one) for name, one in nodes(root.get("schemas"))},
            "securitySchemes": security_schemes(root),
        },
    }


def base_url(root: Node) -> str:
    if isinstance(root.get("rootUrl"), str):
        return key_text(root["rootUrl"]) + key_text(root.get("servicePath", ""))
    return key_text(root.get("baseUrl", ""))


def nodes(value: Any) -> Iterator[tuple[str, Node]]:
    """The objects of a map, by name."""
    for name, one in value.items() if isinstance(value, dict) else ():
        if isinstance(one, dict):
            yield key_text(name), one


def methods(resource: Node, groups: tuple[str, ...]) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Every method, with the names of the resources around it."""
    for _, method in nodes(resource.get("methods")):
        yield method, groups
    for name, inner in nodes(resource.get("resources")):
        yield from methods(inner, (*groups, name))


def operations(root: Node, method: Node, tag: str) -> Iterator[tuple[str, Node]]:
    """By path. Many methods share `v1/{+name}` and differ in what `name` may be, so their id makes the key unique."""
    id = key_text(method.get("id", ""))
    name = id.rpartition(".")[2]
    path = "/" + key_text(method.get("path", "")).lstrip("/")
    plain = {
        "operationId": name,
        "tags": [tag] if tag else [],
        "description": method.get("description"),
        "deprecated": method.get("deprecated") is True,
        "parameters": parameters(method),
        "security": security(method),
        "responses": {"200": {"description": "", "content": answer(method)}},
    }
    yield f"{path}#{id}" if "{+" in path else path, {**plain, **request_body(method)}
    if upload := upload_path(method):
        media = {"content": {media_type(method): BINARY}, "required": True}
        yield (
            f"{upload}?uploadType=media",
            {
                **plain,
                "operationId": f"{name} upload",
                "requestBody": media,
                "servers": [{"url": key_text(root.get("rootUrl", ""))}],
            },
        )


def request_body(method: Node) -> Node:
    request = method.get("request")
    if not isinstance(request, dict):
        return {}
    return {"requestBody": {"content": {"application/json": {"schema": schema(request)}}}}


def answer(method: Node) -> Node:
    response = method.get("response")
    content: Node = {"application/json": {"schema": schema(response)}} if isinstance(response, dict) else {}
    return {**content, "*/*": BINARY} if method.get("supportsMediaDownload") is True else content


def upload_path(method: Node) -> str:
    """Of an upload in one request, without metadata."""
    node: Any = method
    for key in ("mediaUpload", "protocols", "simple", "path"):
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, str) and node.startswith("/") else ""


def media_type(method: Node) -> str:
    accepted = method["mediaUpload"].get("accept")
    first = accepted[0] if isinstance(accepted, list) and accepted and isinstance(accepted[0], str) else ""
    return first if "/" in first and "*" not in first else "application/octet-stream"


def parameters(method: Node) -> list[Node]:
    found = [parameter(name, one) for name, one in nodes(method.get("parameters"))]
    if method.get("supportsMediaDownload") is True:
        described = "`media` downloads the file, `json` its metadata."
        found.append({"name": "alt", "in": "query", "description": described, "schema": {"enum": ["json", "media"]}})
    return found


def parameter(name: str, raw: Node) -> Node:
    inner = schema({key: part for key, part in raw.items() if key not in ("description", "required")})
    return {
        "name": name,
        "in": raw.get("location", "query"),
        "required": raw.get("required") is True,
        "description": raw.get("description"),
        "schema": {"type": "array", "items": inner} if raw.get("repeated") is True else inner,
    }


def schema(raw: Node) -> Node:
    if isinstance(raw.get("$ref"), str):
        target = raw["$ref"].replace("~", "~0").replace("/", "~1")
        described = {"description": raw["description"]} if "description" in raw else {}
        return {"$ref": f"#/components/schemas/{target}", **described}
    found: Node = {key: raw[key] for key in COPIED if key in raw}
    if raw.get("type") not in (None, "any"):
        found["type"] = raw["type"]
    if (format := FORMATS.get(key_text(raw.get("format")), raw.get("format"))) is not None:
        found["format"] = format
    for key in ("default", "minimum", "maximum"):
        if key in raw:
            found |= constant(key, raw[key], raw.get("type"))
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), dict):
            found[key] = schema(raw[key])
    if isinstance(raw.get("properties"), dict):
        found["properties"] = {name: schema(one) for name, one in nodes(raw["properties"])}
    return found


def constant(key: str, value: Any, type: Any) -> Node:
    """Discovery writes every constant as text. Nothing where that isn't one of the type."""
    if not isinstance(value, str):
        return {key: value}
    if type == "boolean":
        return {key: value == "true"} if value in ("true", "false") else {}
    if type in ("integer", "number"):
        try:
            return {key: int(value) if type == "integer" else float(value)}
        except ValueError:
            return {}
    return {key: value} if key == "default" else {}


def security(method: Node) -> list[Node]:
    """Any one scope is enough. Reading public data often works with an API key alone, though documents don't say so."""
    scopes = method.get("scopes")
    found: list[Node] = [{"oauth2": [scope]} for scope in scopes] if isinstance(scopes, list) else []
    return [*found, {"apiKey": []}] if not found or method.get("httpMethod") == "GET" else found


def security_schemes(root: Node) -> Node:
    found: Node = {"apiKey": {"type": "apiKey", "in": "query", "name": "key"}}
    declared = root.get("auth")
    declared = declared.get("oauth2") if isinstance(declared, dict) else None
    if not isinstance(declared, dict):
        return found
    scopes = {name: key_text(one.get("description", "")) for name, one in nodes(declared.get("scopes"))}
    host = urlsplit(base_url(root)).hostname or ""
    is_google = f".{host}".endswith(GOOGLE)
    flow = {"authorizationCode": {**AUTHORIZATION, "scopes": scopes}}
    return {"oauth2": {"type": "oauth2", "flows": flow} if is_google else {"type": "http", "scheme": "bearer"}, **found}
