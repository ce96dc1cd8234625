"""Request bodies: which media type is sent, and which of its fields stand beside the parameters."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from executor.dataclass import dataclass
from executor.model.known_keys import EncodingBinding
from executor.model.tool import Schema
from executor.sources.openapi.calls.media import form_of, is_json, preferred_media_type
from executor.sources.openapi.documents.document import Document, UnresolvedRef, key_text
from executor.sources.openapi.documents.walk_budget import remember
from executor.sources.openapi.tools.composition import declared_properties, is_answered, only_requires
from executor.sources.openapi.tools.parameters import Unusable

MAX_DEPTH = 12
MAX_CHOICES = 100
FILE: Schema = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "base64": {"type": "string"},
                "filename": {"type": "string"},
                "contentType": {"type": "string"},
                "artifact": {"type": "string"},
                "name": {"type": "string"},
                "size": {"type": "integer"},
            },
            "minProperties": 1,
            "additionalProperties": False,
        },
        {"type": "string"},
    ],
    "description": "A file: {base64, filename?, contentType?}, {artifact, filename?} of a stored one, or its text",
}


@dataclass(frozen=True, slots=True)
class Fields:
    """The properties of an object body. `open` says that names beyond them are welcome.

    `meant` are those that are required although they may be read-only.
    """

    properties: dict[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    open: bool = False
    meant: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Body:
    """`form` is how it is written (see `media.form_of`); `encoding` describes fields that are not written as usual."""

    media_type: str
    form: str
    schema: Any
    required: bool
    fields: Fields | None
    encoding: dict[str, EncodingBinding] = field(default_factory=dict)


def body_of(document: Document, operation: dict[str, Any]) -> Body | None:
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
    by_type = {key_text(key): media for key, media in content.items()}
    media_type = preferred_media_type(by_type)
    media = document.object_at(by_type[media_type]) or {}
    return of_media(document, media_type, media, body.get("required") is True)


def of_media(document: Document, media_type: str, media: dict[str, Any], required: bool) -> Body:
    form = form_of(media_type)
    schema = media.get("schema", {})
    if form == "json" and ("*" in media_type or "/" not in media_type):
        media_type = "application/json"
        if is_file(document, schema):
            media_type, form = "application/octet-stream", "binary"
    if form == "json":
        return Body(media_type, form, schema, required, body_fields(document, schema))
    if form == "lines":
        return Body(media_type, form, {"type": "array", "items": media.get("itemSchema", {})}, required, None)
    if form not in ("form", "multipart"):
        return Body(media_type, form, {}, required, None)
    fields = body_fields(document, schema)
    if fields is None and form == "form" and isinstance(schema, dict) and schema.get("type") == "string":
        return Body(media_type, "text", {}, required, None)  # a form that is written out already
    if fields is None:  # a form consists of fields, also where its schema says something else
        fields, schema = Fields(open=True), {"type": "object"}
    return Body(media_type, form, schema, required, fields, encodings(document, form, fields, media.get("encoding")))


def is_empty(body: Body | None) -> bool:
    """An optional body that can't say anything, as some generators give to every GET."""
    if body is None or body.required or body.form not in ("json", "form", "multipart"):
        return False
    if body.fields is not None:
        return not body.fields.properties
    return not body.schema


def encodings(document: Document, form: str, fields: Fields, raw: Any) -> dict[str, EncodingBinding]:
    found = {}
    given = {key_text(name): one for name, one in raw.items()} if isinstance(raw, dict) else {}
    for name in {**fields.properties, **given}:
        declared = given.get(name)
        one = encoding(declared if isinstance(declared, dict) else {})
        if form == "multipart" and is_file(document, array_items(document, fields.properties.get(name)), one):
            one["file"] = True
        if one:
            found[name] = one
    return found


def encoding(raw: dict[str, Any]) -> EncodingBinding:
    one: EncodingBinding = {}
    if raw.get("style") in ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"):
        one["style"] = raw["style"]
    if isinstance(raw.get("explode"), bool):
        one["explode"] = raw["explode"]
    if raw.get("allowReserved") is True:
        one["reserved"] = True
    if isinstance(raw.get("contentType"), str) and raw["contentType"].isascii() and raw["contentType"].isprintable():
        one["contentType"], comma, _ = (part.strip() for part in raw["contentType"].partition(","))
        if comma:
            one["contentTypes"] = raw["contentType"]  # any of them, for a file
    return one


def array_items(document: Document, schema: Any) -> Any:
    """What an array holds, else the schema itself."""
    target = document.end_of(schema)
    if isinstance(target, dict) and target.get("type") == "array" and isinstance(target.get("items"), dict):
        return target["items"]
    return target


def is_file(document: Document, schema: Any, encoding: EncodingBinding | None = None) -> bool:
    schema = document.object_at(schema)
    if schema is None:
        return False
    for part in parts(schema, "allOf") + parts(schema, "anyOf") + parts(schema, "oneOf"):
        if isinstance(part, dict) and part.get("format") == "binary":
            return True
    types = schema.get("type")
    named = types if isinstance(types, list) else [types]
    if "file" in named or ("string" in named and schema.get("format") in ("binary", "file")):
        return True
    if "contentMediaType" in schema and "contentEncoding" not in schema and types in (None, "string"):
        return not is_json(str(schema["contentMediaType"]))
    declared = (encoding or {}).get("contentType", "")
    is_plain = types is None and not any(key in schema for key in ("properties", "$ref", "items", "enum"))
    return bool(declared) and form_of(declared) == "binary" and ("string" in named or is_plain)


def body_fields(document: Document, schema: Any) -> Fields | None:
    """None when the body need not be an object. Whatever validation demands is among its properties."""
    fields = fields_of(document, schema)
    if fields is None or fields.required <= fields.properties.keys():
        return fields
    known = declared_properties(document, schema)
    hidden = {name for name in fields.required - fields.properties.keys() if is_answered(document, known.get(name, ()))}
    required = fields.required - (hidden - fields.meant)
    missing = {name: known.get(name, ({},))[0] for name in sorted(required) if name not in fields.properties}
    return Fields({**fields.properties, **missing}, required, fields.open)


@remember
def fields_of(document: Document, schema: Any, depth: int = 0) -> Fields | None:
    """None when the body need not be an object."""
    schema = document.object_at(schema)
    if schema is None or depth > MAX_DEPTH:
        return None
    types = schema.get("type")
    if types is not None and "object" not in (types if isinstance(types, list) else [types]):
        return None
    found = own_fields(document, schema)
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
    if types is not None and (found is None or not found.properties):
        is_open = schema.get("additionalProperties") is not False
        return replace(found or Fields(), open=is_open)
    return found


def own_fields(document: Document, schema: dict[str, Any]) -> Fields | None:
    properties, more = schema.get("properties"), schema.get("additionalProperties")
    is_open = more is True or isinstance(more, dict)
    required = schema.get("required")
    names = frozenset(key_text(name) for name in required) if isinstance(required, list) else frozenset()
    if not isinstance(properties, dict) or not properties:
        meant = names if only_requires(schema) else frozenset()
        return Fields(required=names, open=is_open, meant=meant) if is_open or names else None
    sent = {key_text(name): part for name, part in properties.items() if not document.is_read_only(part)}
    return Fields(sent, names, is_open)


def parts(schema: dict[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def merge(first: Fields | None, second: Fields) -> Fields:
    if first is None:
        return second
    properties = {**first.properties, **second.properties}
    required, meant = first.required | second.required, first.meant | second.meant
    return Fields(properties, required, first.open or second.open, meant)


def either(choices: list[Fields]) -> Fields:
    """Any one of them will do, so only what all demand is required."""
    found: dict[str, list[Any]] = {}
    for choice in choices:
        for name, schema in choice.properties.items():
            add_choices(found.setdefault(name, []), schema)
    properties = {name: each[0] if len(each) == 1 else Choice(each) for name, each in found.items()}
    required = frozenset.intersection(*(choice.required for choice in choices)) if choices else frozenset[str]()
    meant = required & frozenset[str]().union(*(choice.meant for choice in choices))
    return Fields(properties, required, any(choice.open for choice in choices), meant)


class Choice(dict[str, Any]):
    """`anyOf` of schemas that stand in the document, never of another Choice: nested, they would multiply."""

    def __init__(self, choices: list[Any]) -> None:
        super().__init__({"anyOf": choices} if len(choices) <= MAX_CHOICES else {})


def add_choices(found: list[Any], schema: Any) -> None:
    """Beyond the limit nothing is compared: any value will do."""
    for one in schema["anyOf"] if isinstance(schema, Choice) and schema else [schema]:
        if len(found) <= MAX_CHOICES and one not in found:
            found.append(one)
