"""What an operation promises to answer, and whether an answer keeps the promise."""

from __future__ import annotations

from typing import Any

from executor.sources.openapi.bodies import is_json
from executor.sources.openapi.document import Document, UnresolvedRef, key_text

MAX_DEPTH = 8
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


def successes(document: Document, operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Responses for success by status text; `default` only if there is no other."""
    responses = operation.get("responses")
    if not isinstance(responses, dict):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for key, raw in responses.items():
        status = key_text(key).upper()
        if status.startswith("2") or status == "DEFAULT":
            try:
                response = document.follow(raw)
            except UnresolvedRef:
                continue
            if isinstance(response, dict):
                found[status.lower() if status == "DEFAULT" else status] = response
    default = found.pop("default", None)
    return found or ({"default": default} if default is not None else {})


def content_schema(response: dict[str, Any]) -> tuple[str, Any]:
    """(`json`, schema), (`text`, None), (`any`, None) or (`empty`, None)."""
    content = response.get("content")
    if not isinstance(content, dict) or not content:
        return "empty", None
    for media_type, media in content.items():
        if is_json(key_text(media_type)):
            return "json", media.get("schema") if isinstance(media, dict) else None
    return ("text" if all(key_text(key).startswith("text/") for key in content) else "any"), None


def promise(document: Document, response: dict[str, Any]) -> dict[str, Any]:
    """Small enough to be kept with the tool: which form the answer has and, for JSON, its outermost shape."""
    form, schema = content_schema(response)
    kept: dict[str, Any] = {"form": form}
    if form == "json" and schema is not None:
        types = types_of(document, schema)
        if types is not None:
            kept["types"] = sorted(types)
            kept["required"] = sorted(required_of(document, schema))
    return kept


def types_of(document: Document, schema: Any, depth: int = 0) -> set[str] | None:
    """The JSON types that a value may have; None when anything may come."""
    try:
        schema = document.follow(schema)
    except UnresolvedRef:
        return None
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    types = declared_types(schema)
    for keyword in ("anyOf", "oneOf"):
        choices = schema.get(keyword)
        if types is None and isinstance(choices, list) and choices:
            each = [types_of(document, choice, depth + 1) for choice in choices]
            types = None if any(one is None for one in each) else set().union(*(one or set() for one in each))
    parts = schema.get("allOf")
    for part in parts if isinstance(parts, list) else []:
        inner = types_of(document, part, depth + 1)
        if inner is not None:
            types = inner if types is None else types & inner
    if types is not None and schema.get("nullable") is True:
        types.add("null")
    return types or None


def declared_types(schema: dict[str, Any]) -> set[str] | None:
    types = schema.get("type")
    if types is None:
        return {"object"} if isinstance(schema.get("properties"), dict) else None
    named = {name for name in (types if isinstance(types, list) else [types]) if isinstance(name, str)}
    return named if named <= {"object", "array", "string", "boolean", "null", "number", "integer"} else None


def required_of(document: Document, schema: Any) -> set[str]:
    try:
        schema = document.follow(schema)
    except UnresolvedRef:
        return set()
    names = schema.get("required") if isinstance(schema, dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    hidden = {
        key_text(name)
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and part.get("writeOnly") is True
    }
    return {key_text(name) for name in names} - hidden if isinstance(names, list) else set()


def promised(promises: dict[str, dict[str, Any]], status: int) -> dict[str, Any] | None:
    exact = promises.get(str(status)) or promises.get(f"{status // 100}XX") or promises.get("default")
    if exact is not None:
        return exact
    return next(iter(promises.values())) if len(promises) == 1 else None


def broken_promise(promise: dict[str, Any], value: Any) -> str:
    """Empty if the value's outermost shape fits. Details inside are not held against a service that did its work."""
    types = promise.get("types")
    if not types:
        return ""
    found = type_of(value)
    fits = found in types or (found == "integer" and "number" in types)
    fits = fits or (found == "number" and "integer" in types and float(value).is_integer())
    if not fits:
        return f"the document promises {' or '.join(types)}, the answer is {found}"
    missing = promise.get("required") or []
    if found == "object" and missing and not any(name in value for name in missing):
        return f"the document promises {', '.join(map(repr, missing[:8]))}, the answer has none of them"
    return ""


def type_of(value: Any) -> str:
    return TYPES.get(type(value)) or ("integer" if isinstance(value, int) else "number")
