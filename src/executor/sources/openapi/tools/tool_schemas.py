"""The input and output schemas of a tool, made of its parameters, its body and its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from executor.model.known_keys import BodyBinding
from executor.model.tool import Schema
from executor.sources.openapi.calls.streams import stream_schema
from executor.sources.openapi.tools import responses as answers
from executor.sources.openapi.tools.parameters import Parameter, add_description
from executor.sources.openapi.tools.request_body import FILE, Body, Fields, array_items
from executor.sources.openapi.tools.schemas import Schemas

WHOLE_BODY = "The whole request body; you can also pass its fields beside it"
BODIES = {
    "text": {"type": "string", "description": "The request body as text"},
    "xml": {"type": "string", "description": "The request body as XML text"},
    "binary": {
        **FILE,
        "description": "The request body: {base64, contentType?}, {artifact}, or its text",
    },
}
NULL: Schema = {"type": "null"}
EMPTY = frozenset({"204", "205"})  # statuses that never have a body
BINARY: Schema = {
    "type": "object",
    "properties": {
        "contentType": {"type": "string"},
        "base64": {"type": "string", "description": "For files up to 4 MB"},
        "artifact": {"type": "string", "description": "For larger files: the ID they are stored under"},
        "name": {"type": "string"},
        "size": {"type": "integer"},
    },
    "required": ["contentType"],
}


def flat_fields(parameters: list[Parameter], body: Body | None) -> list[str]:
    """Body fields that are arguments of their own: all but those whose name a parameter has."""
    if body is None or body.fields is None:
        return []
    taken = {parameter.argument for parameter in parameters}
    return [name for name in body.fields.properties if name not in taken]


def whole_argument(parameters: list[Parameter], body: Body | None) -> str:
    """The argument that is the whole body: `body`, unless that is a field which may be an object as well.

    A field that never is one can share the name: then an object under `body` is the whole body.
    """
    fields = body.fields.properties if body is not None and body.fields is not None else {}
    if "body" not in fields or never_object(fields["body"]):
        return "body"
    name, taken = "requestBody", {*fields, *(parameter.argument for parameter in parameters)}
    while name in taken:
        name += "_"
    return name


def never_object(schema: Any) -> bool:
    types = schema.get("type") if isinstance(schema, dict) else None
    named = types if isinstance(types, list) else [types]
    return types is not None and "object" not in named and "file" not in named and schema.get("format") != "binary"


def input_schema(
    schemas: Schemas, parameters: list[Parameter], body: Body | None, flat: list[str], whole_name: str
) -> Schema:
    properties: dict[str, Schema] = {}
    required = []
    for parameter in parameters:
        properties[parameter.argument] = add_description(schemas.convert(parameter.schema), parameter.description)
        if parameter.required and parameter.name.lower() != "idempotency-key":
            required.append(parameter.argument)
    is_open = False
    if body is not None:
        whole = whole_schema(schemas, body)
        properties |= field_schemas(schemas, body, flat)
        properties.setdefault(whole_name, add_description(whole, WHOLE_BODY) if body.fields is not None else whole)
        is_open = body.fields is not None and body.fields.open
        required += required_of(body, flat, whole_name)
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": is_open}
    return {**schema, "required": required} if required else schema


def order_fields(schema: Schema, fields: list[str], last: list[str]) -> Schema:
    """What must be given comes first, then the body's fields, then the operation's own arguments, then the `last`."""
    ranks = {**dict.fromkeys(fields, 1), **dict.fromkeys(last, 3), **dict.fromkeys(schema.get("required", ()), 0)}
    names = sorted(schema["properties"], key=lambda name: ranks.get(name, 2))
    return {**schema, "properties": {name: schema["properties"][name] for name in names}}


def required_of(body: Body, flat: list[str], whole_name: str) -> list[str]:
    if not body.required:
        return []
    if body.fields is None:
        return ["body"]
    found = [name for name in flat if name in body.fields.required]
    return [*found, whole_name] if body.fields.required - set(flat) else found


def whole_schema(schemas: Schemas, body: Body) -> Schema:
    if body.form in BODIES:
        return BODIES[body.form]
    if body.form != "multipart":
        return schemas.convert(body.schema)
    fields = body.fields or Fields(open=True)
    properties = field_schemas(schemas, body, fields.properties)
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": fields.open or not properties}
    return {**schema, "required": sorted(fields.required)} if fields.required else schema


def field_schemas(schemas: Schemas, body: Body, names: Iterable[str]) -> dict[str, Schema]:
    known = body.fields.properties if body.fields is not None else {}
    files = {name for name, one in body.encoding.items() if one.get("file")}
    return {
        name: file_schema(schemas, known[name]) if name in files else schemas.convert(known[name]) for name in names
    }


def file_schema(schemas: Schemas, raw: Any) -> Schema:
    text = raw.get("description") if isinstance(raw, dict) else None
    file = {**FILE, "description": text} if isinstance(text, str) else FILE
    items = array_items(schemas.document, raw)
    is_list = isinstance(raw, dict) and raw.get("type") == "array" and items is not raw
    return {"anyOf": [{"type": "array", "items": FILE}, file]} if is_list else file


def body_binding(schemas: Schemas, body: Body | None, flat: list[str], whole_name: str) -> BodyBinding | None:
    """With the schema only where the input schema has something else under `body`."""
    if body is None:
        return None
    bound: BodyBinding = {
        "mediaType": body.media_type,
        "form": body.form,
        "required": body.required,
        "object": body.fields is not None,
        "open": body.fields is not None and body.fields.open,
        "flat": flat,
    }
    if body.form in ("form", "multipart"):
        bound["encoding"] = body.encoding
    if whole_name != "body":
        bound["whole"] = whole_name
    if "body" in flat:
        bound["schema"] = whole_schema(schemas, body)
    return bound


def output_schema(schemas: Schemas, responses: dict[str, dict[str, Any]], method: str) -> Schema | None:
    """None if anything may come: many documents say nothing of what their services answer."""
    if method == "head":
        return NULL
    is_described = any(answers.has_content(response) for response in responses.values())
    found: list[Schema] = []
    for status, response in responses.items():
        form, schema = answers.content_schema(response)
        if form == "empty" and status not in EMPTY and not is_described:
            return None
        one = answer_schema(schemas, form, schema)
        if one is None:
            return None
        if one not in found:
            found.append(one)
    if not found:
        return None
    return found[0] if len(found) == 1 else {"anyOf": found}


def answer_schema(schemas: Schemas, form: str, schema: Any) -> Schema | None:
    if form in ("json", "any"):
        return None if schema is None else schemas.convert(schema)
    if form == "events":
        data = schemas.convert(schema) if schema is not None else {}
        event = {"event": {"type": "string"}, "data": data, "id": {"type": "string"}}
        return stream_schema({"type": "object", "properties": event, "required": ["event", "data"]})
    if form == "lines":
        return stream_schema(schemas.convert(schema if schema is not None else {}))
    return {"text": {"type": "string"}, "empty": NULL, "binary": BINARY}.get(form)
