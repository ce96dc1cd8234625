"""JSON Schemas of GraphQL types. Enums and input objects are definitions, shared by name and free to be recursive."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from executor.model.tool import SCALAR, Schema
from executor.schemas.references import PREFIX
from executor.sources.graphql.schema.outline import Argument, Outline, inner_name, unwrap_type

MAX_DESCRIPTION = 300
# A service may send any JSON for a scalar of its own; by such names everyone sends text.
_TEXT = re.compile(r"(?:Date|DateTime|Time|Uri|URI|Url|URL|UUID|Uuid|HTML|Html|Markdown|ObjectID|Base64String|Email)\Z")
SCALARS: dict[str, Schema] = {
    "Int": {"type": "integer"},
    "Float": {"type": "number"},
    "String": {"type": "string"},
    "Boolean": {"type": "boolean"},
}


def scalar(name: str) -> Schema:
    """One of the service's own keeps its name for readers."""
    if name in SCALARS:
        return dict(SCALARS[name])
    return {"type": "string", SCALAR: name} if _TEXT.search(name) else {SCALAR: name}


def reference(name: str) -> Schema:
    return {"$ref": PREFIX + name}


def schema_of_type(type: str, named: Callable[[str], Schema]) -> Schema:
    """The schema of `[Issue!]!`, with `named` for what is in the middle."""
    inner, required = unwrap_type(type)
    if inner.startswith("["):
        schema: Schema = {"type": "array", "items": schema_of_type(inner[1:-1], named)}
    else:
        schema = named(inner)
    return schema if required else nullable(schema)


def nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    if isinstance(schema.get("type"), list):
        return {**schema, "type": [*schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]} if "$ref" in schema else schema


def add_description(schema: Schema, text: str) -> Schema:
    text = summary(text, MAX_DESCRIPTION)
    return {**schema, "description": text} if text else schema


def summary(text: str, limit: int) -> str:
    """The first paragraph on one line."""
    text = " ".join(re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


class Schemas:
    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.definitions: dict[str, Schema] = {}

    def arguments(self, arguments: tuple[Argument, ...]) -> Schema:
        """One object with an entry per argument."""
        required = [one.name for one in arguments if one.is_required]
        schema: Schema = {"type": "object", "properties": {one.name: self.argument(one) for one in arguments}}
        if required:
            schema["required"] = required
        return {**schema, "additionalProperties": False}

    def argument(self, argument: Argument) -> Schema:
        schema = add_description(schema_of_type(argument.type, self.input_type), argument.description)
        if argument.deprecated:
            schema = {**schema, "deprecated": True}
        found, default = self.default_of(argument)
        return {**schema, "default": default} if found else schema

    def default_of(self, argument: Argument) -> tuple[bool, Any]:
        """Numbers, texts, booleans and names of enum values; other defaults are the service's own affair."""
        text = argument.default
        if text is None or len(text) > 100:
            return False, None
        if text in self.outline.types[inner_name(argument.type)].values:
            return True, text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return False, None
        return (False, None) if value is None or isinstance(value, dict | list) else (True, value)

    def input_type(self, name: str) -> Schema:
        kind = self.outline.types[name].kind
        if kind == "scalar":
            return {"type": ["string", "integer"]} if name == "ID" else scalar(name)
        return self.enum(name) if kind == "enum" else self.input_object(name)

    def output_leaf(self, name: str) -> Schema:
        if self.outline.types[name].kind == "enum":
            return self.enum(name)
        return {"type": "string"} if name == "ID" else scalar(name)

    def enum(self, name: str) -> Schema:
        values = list(self.outline.types[name].values)
        if not values:
            return {"type": "string"}
        self.definitions.setdefault(name, {"type": "string", "enum": values})
        return reference(name)

    def input_object(self, name: str) -> Schema:
        """Without recursion: input objects may be nested as deep as their number."""
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one in self.definitions:
                continue
            named = self.outline.types[one]
            self.definitions[one] = {}  # what it holds may refer to it again
            inner = [inner_name(field.type) for field in named.inputs.values()]
            waiting += [other for other in inner if self.outline.types[other].kind == "input"]
            self.definitions[one] = self.object_schema(one)
        return reference(name)

    def object_schema(self, name: str) -> Schema:
        named = self.outline.types[name]
        fields = tuple(named.inputs.values())
        schema: Schema = {
            "type": "object",
            "properties": {one.name: self.field_schema(one) for one in fields},
            "required": [one.name for one in fields if one.is_required],
            "additionalProperties": False,
        }
        if named.one_of:  # every field may be left out, but none may be null
            whole = {one.name: self.field_schema(replace(one, type=f"{unwrap_type(one.type)[0]}!")) for one in fields}
            schema |= {"properties": whole, "minProperties": 1, "maxProperties": 1}
        return add_description(schema, named.description)

    def field_schema(self, argument: Argument) -> Schema:
        if self.outline.types[inner_name(argument.type)].kind != "input":
            return self.argument(argument)
        return add_description(schema_of_type(argument.type, reference), argument.description)
