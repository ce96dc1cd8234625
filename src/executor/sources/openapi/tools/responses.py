"""What an operation promises to answer, and whether an answer keeps the promise."""

from __future__ import annotations

import re
from typing import Any

from executor.sources.openapi.calls.media import is_events, is_json, is_lines, is_text
from executor.sources.openapi.documents.document import Document, key_text
from executor.sources.openapi.documents.walk_budget import remember
from executor.sources.openapi.storage_format import Promise

MAX_DEPTH = 8
MAX_FIELDS = 12
ANYTHING = ("*/*", "application/*")
SUCCESS = re.compile(r"2([0-9]{2}|XX)\Z")
NO_TYPES: frozenset[str] = frozenset()
ALONE = {name: frozenset({name}) for name in ("object", "array", "string", "boolean", "null", "number", "integer")}
# A value of one type, which may also be null.
OBJECT, ARRAY, STRING = ((ALONE[name], ALONE[name] | {"null"}) for name in ("object", "array", "string"))
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


def successes(document: Document, operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Responses for success by status text; `default` only if there is no other."""
    responses = operation.get("responses")
    if not isinstance(responses, dict):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for key, raw in responses.items():
        status = key_text(key).upper()
        if SUCCESS.match(status) or status == "DEFAULT":
            response = document.object_at(raw)
            if response is not None:
                found[status.lower() if status == "DEFAULT" else status] = response
    default = found.pop("default", None)
    return found or ({"default": default} if default is not None else {})


def has_content(response: dict[str, Any]) -> bool:
    content = response.get("content")
    return isinstance(content, dict) and bool(content)


def content_schema(response: dict[str, Any]) -> tuple[str, Any]:
    """(`json`, schema), (`events` or `lines`, schema of one), or (`text`, `binary`, `any` or `empty`, None).

    (`any`, schema) is JSON in all likelihood: anything else that comes is not held against it.
    """
    if not has_content(response):
        return "empty", None
    named = {key_text(key): media if isinstance(media, dict) else {} for key, media in response["content"].items()}
    for media_type, media in named.items():
        if is_json(media_type):
            return "json", media.get("schema")
    for media_type, media in named.items():
        if media_type in ANYTHING and is_structured(media.get("schema")):
            return "any", media["schema"]  # as Spring's documents say of everything
    for media_type, media in named.items():
        if is_events(media_type) or is_lines(media_type):
            return "events" if is_events(media_type) else "lines", media.get("itemSchema")
    if all(is_text(media_type) for media_type in named):
        return "text", None
    is_binary = not any(is_text(media_type) or "*/" in media_type for media_type in named)
    return ("binary" if is_binary else "any"), None


def is_structured(schema: Any) -> bool:
    """Only JSON holds lists and objects; a text or a file may be said to be a `string`."""
    return isinstance(schema, dict) and ("$ref" in schema or schema.get("type") in ("object", "array"))


def accept_header(responses: dict[str, dict[str, Any]]) -> str:
    """The `Accept` header that asks for what is read best; empty if the usual one does."""
    named: list[str] = []
    for response in responses.values():
        content = response.get("content") or response.get("produces")
        named += [key_text(key) for key in content] if isinstance(content, dict | list) else []
    named = [
        one for one in dict.fromkeys(named) if "/" in one and one.isascii() and one.isprintable() and "," not in one
    ]
    if not named or "application/json" in named or "*/*" in named:
        return ""
    best = [one for one in named if is_json(one)] or named
    return ", ".join([*best[:4], "*/*;q=0.1"])


def promise(document: Document, response: dict[str, Any]) -> Promise:
    known = document.made.get((id(response), "promise"))
    if known is None:
        known = document.made[(id(response), "promise")] = (response, make_promise(document, response))
    made: Promise = known[1]
    return made


def make_promise(document: Document, response: dict[str, Any]) -> Promise:
    """Small enough to be kept with the tool: which form the answer has and, for JSON, its outermost shape."""
    form, schema = content_schema(response)
    kept: Promise = {"form": form}
    types = types_of(document, schema) if form == "json" else None
    if types is not None:
        kept["types"] = sorted(types)
        if "object" in types:
            properties, required, is_closed = object_parts(document, schema)
            document.visits.spend(len(properties))
            kept["fields"] = telling_fields(document, properties, required, is_closed)
            kept["mayBeEmpty"] = not required
    return kept


def telling_fields(
    document: Document, properties: dict[str, Any], required: set[str], is_closed: bool
) -> dict[str, list[str] | None]:
    """Fields by which an object is recognized, with their types: the required ones, else all it may have."""
    names = sorted(required) or (sorted(properties) if is_closed else [])
    found = {}
    for name in names[:MAX_FIELDS]:
        types = types_of(document, properties.get(name), 1)
        found[name] = sorted(types) if types is not None else None
    return found


@remember
def object_parts(document: Document, schema: Any, depth: int = 0) -> tuple[dict[str, Any], set[str], bool]:
    """(properties, required, whether nothing else was announced), of a schema and all it is composed of."""
    schema = document.object_at(schema)
    if schema is None or depth > MAX_DEPTH:
        return {}, set(), False
    raw, names = schema.get("properties"), schema.get("required")
    properties = {key_text(name): part for name, part in raw.items()} if isinstance(raw, dict) else {}
    required = {key_text(name) for name in names} if isinstance(names, list) else set()
    is_closed = not any(word in schema for word in ("oneOf", "anyOf", "patternProperties", "if"))
    is_closed = is_closed and schema.get("additionalProperties") in (None, False)
    parts = schema.get("allOf")
    for part in parts if isinstance(parts, list) else []:
        inner, inner_required, inner_closed = object_parts(document, part, depth + 1)
        document.visits.spend(len(inner))
        properties |= inner
        required |= inner_required
        is_closed = is_closed and inner_closed
    hidden = {name for name, part in properties.items() if document.is_write_only(part)}
    return properties, required - hidden, is_closed


@remember
def types_of(document: Document, schema: Any, depth: int = 0) -> frozenset[str] | None:
    """The JSON types that a value may have; None when anything may come."""
    schema = document.object_at(schema)
    if schema is None or depth > MAX_DEPTH:
        return None
    types = declared_types(schema)
    for keyword in ("anyOf", "oneOf"):
        choices = schema.get(keyword)
        if types is None and isinstance(choices, list) and choices:
            each = [types_of(document, choice, depth + 1) for choice in choices]
            types = None if any(one is None for one in each) else NO_TYPES.union(*(one or NO_TYPES for one in each))
    parts = schema.get("allOf")
    for part in parts if isinstance(parts, list) else []:
        inner = types_of(document, part, depth + 1)
        if inner is not None:
            types = inner if types is None else types & inner
    if types is not None and schema.get("nullable") is True:
        types |= {"null"}
    return types or None


def declared_types(schema: dict[str, Any]) -> frozenset[str] | None:
    """One set for all schemas of a type: what is found is remembered, and a large document has many of them."""
    types = schema.get("type")
    if types is None:
        return ALONE["object"] if isinstance(schema.get("properties"), dict) else None
    if not isinstance(types, list):
        return ALONE.get(types) if isinstance(types, str) else NO_TYPES
    named = frozenset(name for name in types if isinstance(name, str))
    return named if named <= ALONE.keys() else None


def find_promise(promises: dict[str, Promise], status: int) -> Promise | None:
    exact = promises.get(str(status)) or promises.get(f"{status // 100}XX") or promises.get("default")
    if exact is not None:
        return exact
    return next(iter(promises.values())) if len(promises) == 1 else None


def broken_promise(promise: Promise, value: Any) -> str:
    """Empty if the value is recognizably what was promised. Slips inside are not held against a service that did its
    work: many leave out or null what their documents require."""
    types = promise.get("types")
    if not types:
        return ""
    if not fits(value, types):
        return f"the document declares {' or '.join(types)}, but the answer is {type_of(value)}"
    fields = promise.get("fields")
    if not fields or not isinstance(value, dict) or (not value and promise["mayBeEmpty"]):
        return ""
    for name, named_types in fields.items():
        if shows(value, name, named_types):
            return ""
    return (
        f"the document declares {', '.join(map(repr, list(fields)[:8]))}, but the answer has none of them as declared"
    )


def shows(value: dict[str, Any], name: str, types: list[str] | None) -> bool:
    return name in value and (types is None or value[name] is None or fits(value[name], types))


def fits(value: Any, types: list[str]) -> bool:
    found = type_of(value)
    if found in types or (found == "integer" and "number" in types):
        return True
    return found == "number" and "integer" in types and float(value).is_integer()


def type_of(value: Any) -> str:
    return TYPES.get(type(value)) or ("integer" if isinstance(value, int) else "number")
