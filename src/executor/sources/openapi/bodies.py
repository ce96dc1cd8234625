"""Request bodies: which media type is sent, and which of its fields stand beside the parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from executor.sources.openapi.document import Document, UnresolvedRef, key_text
from executor.sources.openapi.parameters import Unusable
from executor.sources.openapi.visits import remembered

MAX_DEPTH = 12
MAX_CHOICES = 100


@dataclass(frozen=True, slots=True)
class Fields:
    """The properties of an object body. `open` says that names beyond them are welcome."""

    properties: dict[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    open: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    media_type: str
    schema: Any
    required: bool
    fields: Fields | None


def body_of(document: Document, operation: dict[str, Any], method: str) -> Body | None:
    raw = operation.get("requestBody")
    if raw is None:
        return None
    try:
        body = document.follow(raw)
    except UnresolvedRef as error:
        raise Unusable(f"the request body can't be read: {error}") from error
    content = body.get("content") if isinstance(body, dict) else None
    if not isinstance(content, dict) or not content:
        return None
    required = body.get("required") is True
    media_type = json_media_type([key_text(key) for key in content])
    if media_type is None:
        if method in ("get", "head", "delete") and not required:
            return None
        raise Unusable(f"its request body is {', '.join(map(key_text, content))}; only JSON bodies can be sent yet")
    media = content.get(media_type)
    schema = media.get("schema", {}) if isinstance(media, dict) else {}
    sent_as = "application/json" if "*" in media_type else media_type
    return Body(sent_as, schema, required, fields_of(document, schema))


def json_media_type(media_types: list[str]) -> str | None:
    for media_type in media_types:
        if is_json(media_type):
            return media_type
    return next((media_type for media_type in media_types if media_type in ("*/*", "application/*")), None)


def is_json(media_type: str) -> bool:
    essence = media_type.partition(";")[0].strip().lower()
    return essence in ("application/json", "text/json") or (essence.endswith("+json") and "/" in essence)


@remembered
def fields_of(document: Document, schema: Any, depth: int = 0) -> Fields | None:
    """None when the body need not be an object."""
    try:
        schema = document.follow(schema)
    except UnresolvedRef:
        return None
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    types = schema.get("type")
    if types is not None and "object" not in (types if isinstance(types, list) else [types]):
        return None
    found = own_fields(schema)
    for part in parts(schema, "allOf"):
        inner = fields_of(document, part, depth + 1)
        if inner is not None:
            document.visits.spend(len(inner.properties) + (len(found.properties) if found else 0))
            found = merge(found, inner)
        elif types is None and found is None:
            return None
    for keyword in ("oneOf", "anyOf"):
        if parts(schema, keyword):
            choices = [fields_of(document, part, depth + 1) for part in parts(schema, keyword)]
            if any(choice is None for choice in choices) and found is None:
                return None
            document.visits.spend(sum(len(choice.properties) for choice in choices if choice is not None))
            found = merge(found, either([choice for choice in choices if choice is not None]))
    if found is None and types is not None:
        return Fields(open=schema.get("additionalProperties") is not False)
    return found


def own_fields(schema: dict[str, Any]) -> Fields | None:
    properties, more = schema.get("properties"), schema.get("additionalProperties")
    is_open = more is True or isinstance(more, dict)
    if not isinstance(properties, dict) or not properties:
        return Fields(open=True) if is_open else None
    sent = {key_text(name): part for name, part in properties.items() if not read_only(part)}
    required = schema.get("required")
    names = frozenset(key_text(name) for name in required) if isinstance(required, list) else frozenset()
    return Fields(sent, names & frozenset(sent), is_open)


def read_only(schema: Any) -> bool:
    """Only what stands at the property itself, as in the definitions: both must agree on what is required."""
    return isinstance(schema, dict) and schema.get("readOnly") is True


def parts(schema: dict[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def merge(first: Fields | None, second: Fields) -> Fields:
    if first is None:
        return second
    properties = {**first.properties, **second.properties}
    return Fields(properties, first.required | second.required, first.open or second.open)


def either(choices: list[Fields]) -> Fields:
    """Any one of them will do, so only what all demand is required."""
    found: dict[str, list[Any]] = {}
    for choice in choices:
        for name, schema in choice.properties.items():
            add_choices(found.setdefault(name, []), schema)
    properties = {name: each[0] if len(each) == 1 else Choice(each) for name, each in found.items()}
    required = frozenset.intersection(*(choice.required for choice in choices)) if choices else frozenset[str]()
    return Fields(properties, required, any(choice.open for choice in choices))


class Choice(dict[str, Any]):
    """`anyOf` of schemas that stand in the document, never of another Choice: nested, they would multiply."""

    def __init__(self, choices: list[Any]) -> None:
        super().__init__({"anyOf": choices} if len(choices) <= MAX_CHOICES else {})


def add_choices(found: list[Any], schema: Any) -> None:
    """Beyond the limit nothing is compared any more: any value will do."""
    for one in schema["anyOf"] if isinstance(schema, Choice) and schema else [schema]:
        if len(found) <= MAX_CHOICES and one not in found:
            found.append(one)
