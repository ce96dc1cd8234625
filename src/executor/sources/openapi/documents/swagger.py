"""Swagger 2.0, brought to the shape of OpenAPI 3 operation by operation, so that one reader reads both."""

from __future__ import annotations

from typing import Any

from executor.schemas.keywords import key_text
from executor.sources.openapi.documents.document import Document, UnresolvedRef

Node = dict[str, Any]

# What of a parameter is its own, and not its schema.
_OWN = frozenset({"name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema"})
_STYLES = {"ssv": "spaceDelimited", "pipes": "pipeDelimited", "tsv": "tabDelimited"}
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def servers(root: Node) -> list[Node]:
    base = root.get("basePath")
    path = base.strip() if isinstance(base, str) else ""
    path = path if path.startswith("/") or not path else f"/{path}"
    host = root.get("host")
    if not isinstance(host, str) or not host.strip():
        return [{"url": path}] if path else []
    host = host.strip().rstrip("/")
    if "://" in host:
        return [{"url": host + path}]
    named = root.get("schemes")
    schemes = [one for one in (named if isinstance(named, list) else []) if one in ("https", "http")] or ["https"]
    return [{"url": f"{scheme}://{host}{path}"} for scheme in sorted(set(schemes), reverse=True)]


def operation(document: Document, item: Node, raw: Node) -> Node:
    """The operation with its parameters, body and responses in the words of OpenAPI 3."""
    found: dict[tuple[str, str], Node] = {}
    for group in (item.get("parameters"), raw.get("parameters")):
        for one in group if isinstance(group, list) else []:
            parameter = document.follow(one)
            if isinstance(parameter, dict):
                found[(key_text(parameter.get("in")), key_text(parameter.get("name")))] = parameter
            else:
                found[("?", str(len(found)))] = {}
    plain = [parameter_of(one) for (place, _), one in found.items() if place not in ("body", "formData")]
    body = body_of(document, raw, list(found.values()))
    changed = {**raw, "parameters": plain, "responses": responses(document, raw)}
    changed.pop("requestBody", None)
    return {**changed, "requestBody": body} if body is not None else changed


def media_types(document: Document, raw: Node, field: str) -> list[str]:
    own = raw.get(field)
    named = own if isinstance(own, list) else document.root.get(field)
    return [key_text(one) for one in named if one] if isinstance(named, list) else []


def parameter_of(raw: Node) -> Node:
    schema = raw["schema"] if isinstance(raw.get("schema"), dict) else schema_of(raw)
    parameter: Node = {key: raw[key] for key in ("name", "in", "required", "description") if key in raw}
    parameter["schema"] = schema
    format = raw.get("collectionFormat")
    if format == "multi":
        parameter["explode"] = True
    else:
        parameter["explode"] = False
        if format in _STYLES:
            parameter["style"] = _STYLES[format]
    return parameter


def schema_of(raw: Node) -> Node:
    return {key: part for key, part in raw.items() if key not in _OWN and not key_text(key).startswith("x-")}


def body_of(document: Document, raw: Node, parameters: list[Node]) -> Node | None:
    consumes = media_types(document, raw, "consumes")
    whole = next((one for one in parameters if one.get("in") == "body"), None)
    if whole is not None:
        types = consumes or ["application/json"]
        if all(one in (FORM, MULTIPART) for one in types):  # a body has no fields to put there
            types = ["application/json"]
        schema = whole.get("schema")
        schema = schema if isinstance(schema, dict) else schema_of(whole)
        content = {one: {"schema": schema} for one in types if one not in (FORM, MULTIPART)}
        return {"content": content, "required": whole.get("required") is True, "description": whole.get("description")}
    fields = [one for one in parameters if one.get("in") == "formData" and isinstance(one.get("name"), str)]
    return form_of(fields, consumes) if fields else None


def form_of(fields: list[Node], consumes: list[str]) -> Node:
    has_file = any(one.get("type") == "file" for one in fields)
    is_multipart = has_file or (MULTIPART in consumes and FORM not in consumes)
    properties, encoding = {}, {}
    for one in fields:
        schema = {**schema_of(one), "description": one["description"]} if "description" in one else schema_of(one)
        properties[one["name"]] = schema
        if schema.get("type") == "array" and one.get("collectionFormat") != "multi":
            style = _STYLES.get(str(one.get("collectionFormat")), "form")
            encoding[one["name"]] = {"style": style, "explode": False}
    required = [one["name"] for one in fields if one.get("required") is True]
    media = {
        "schema": {"type": "object", "properties": properties, "required": required},
        "encoding": encoding,
    }
    return {"content": {MULTIPART if is_multipart else FORM: media}, "required": bool(required)}


def responses(document: Document, raw: Node) -> Node:
    found = raw.get("responses")
    produces = media_types(document, raw, "produces")
    return {key: response(document, one, produces) for key, one in (found.items() if isinstance(found, dict) else ())}


def response(document: Document, raw: Any, produces: list[str]) -> Any:
    try:
        one = document.follow(raw)
    except UnresolvedRef:
        return raw
    if not isinstance(one, dict):
        return one
    schema = one.get("schema")
    if not isinstance(schema, dict):  # nothing is promised, but it says what to ask for
        return {**one, "produces": produces} if produces else one
    produces = produces or ["application/json"]
    if schema.get("type") == "file":
        other = [media_type for media_type in produces if "json" not in media_type]
        return {**one, "content": {media_type: {} for media_type in other or ["application/octet-stream"]}}
    return {**one, "content": {media_type: {"schema": schema} for media_type in produces}}


def security_schemes(root: Node) -> Node:
    found = root.get("securityDefinitions")
    return {
        key_text(name): security_scheme(one)
        for name, one in (found.items() if isinstance(found, dict) else ())
        if isinstance(one, dict)
    }


_FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}


def security_scheme(raw: Node) -> Node:
    if raw.get("type") == "basic":
        return {**raw, "type": "http", "scheme": "basic"}
    if raw.get("type") == "oauth2":
        flow = key_text(raw.get("flow"))
        return {**raw, "flows": {_FLOWS.get(flow, flow): raw}}
    return raw
