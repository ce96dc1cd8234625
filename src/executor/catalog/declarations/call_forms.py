"""What may stand between the parentheses of a call: parameters, and a body's fields beside them or in `body`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from executor.model.known_keys import BodyBinding
from executor.model.tool import Schema, Tool
from executor.schemas.references import PREFIX
from executor.schemas.shapes.arguments import ArgumentShapes, are_schemas, required_of
from executor.schemas.shapes.shape import ANYTHING, Field, Fields, Shape, both


def forms(tool: Tool, accepting: ArgumentShapes) -> list[Shape]:
    """The ways to give a tool's arguments, the usual one last."""
    body = tool.known_keys.get("body")
    if not isinstance(body, dict) or not body.get("object") or "all" in tool.known_keys:
        return [accepting.read({"type": "object", **tool.input_schema})]
    return body_forms(tool, body, accepting)


def body_forms(tool: Tool, body: BodyBinding, accepting: ArgumentShapes) -> list[Shape]:
    properties = tool.input_schema.get("properties", {})
    whole = body.get("schema", properties.get("body", {}))
    known = conjoin(whole, accepting)
    demanded = set(known.required) if body.get("required") else set[str]()
    flat = [name for name in body.get("flat", ()) if isinstance(name, str)]
    parameters = parameter_fields(tool, accepting)
    beside = [Field(name, known.shape(name), name in demanded) for name in flat]
    inside = Fields(tuple(Field(name, known.shape(name), False) for name in known.properties), open=True)
    optional = [Field(name, known.shape(name), False) for name in flat if name != tool.body_argument]
    is_open = bool(body.get("open"))
    wrapped = Fields((*parameters, Field(tool.body_argument, inside, True), *optional), is_open)
    if demanded - set(flat):  # a parameter has the name of a field that must be there
        return [wrapped]
    return [wrapped, Fields((*parameters, *beside), is_open)]


def parameter_fields(tool: Tool, accepting: ArgumentShapes) -> list[Field]:
    properties = tool.input_schema.get("properties", {})
    required = required_of(tool.input_schema)
    given = [one.get("argument", "") for one in tool.known_keys.get("parameters", ())]
    return [Field(name, accepting.read(properties.get(name, {})), name in required) for name in given]


class Conjoined:
    """The properties that an object must agree with, however its schema is put together.

    Alternatives are not looked into: a value may fit another one than that which speaks of a property.
    """

    def __init__(self, accepting: ArgumentShapes) -> None:
        self._accepting = accepting
        self.properties: dict[str, list[Any]] = {}
        self.required: set[str] = set()

    def add(self, schema: Schema) -> None:
        properties = schema.get("properties")
        for name, part in properties.items() if isinstance(properties, dict) else ():
            self.properties.setdefault(name, []).append(part)
        self.required |= set(required_of(schema))

    def shape(self, name: str) -> Shape:
        parts = self.properties.get(name)
        return both(self._accepting.read(part) for part in parts) if parts else ANYTHING


def conjoin(schema: Any, accepting: ArgumentShapes) -> Conjoined:
    found = Conjoined(accepting)
    for one in conjuncts(schema, accepting):
        found.add(one)
    return found


def conjuncts(schema: Any, accepting: ArgumentShapes) -> Iterator[Schema]:
    """The schema itself, what it refers to, and all parts of its `allOf`."""
    seen: set[str] = set()
    stack = [schema]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        yield node
        ref = node.get("$ref")
        if isinstance(ref, str) and ref.startswith(PREFIX) and ref not in seen:
            seen.add(ref)
            stack.append(accepting.definitions.get(ref[len(PREFIX) :]))
        if are_schemas(node.get("allOf")):
            stack.extend(node["allOf"])
