"""The forms in which a call may give its arguments, brought to one: parameters by name, and the body under `body`.

Fields of an object body may stand beside the parameters, inside an explicit `body`, or some here and some there; the
same field in both places is a contradiction. Where a field shares its name with a parameter, the name outside is the
parameter's. Where a field is called `body` and may be an object, the whole body has another name outside.
"""

from __future__ import annotations

from typing import Any

from executor.errors import ToolError
from executor.model.tool import Schema, Tool
from executor.sources.kind import Meaning
from executor.sources.openapi.storage_format import binding_of
from executor.sources.openapi.tools.credential_parameters import check_not_given
from executor.sources.pagination.all_tool import LIMITS

FORMS = ("form", "multipart")


def strict_schema(tool: Tool) -> Schema:
    shown = tool.input_schema
    binding = binding_of(tool)
    body = binding["body"]
    if "all" in binding and body is None:
        return shown
    given = [one["argument"] for one in binding["parameters"] if one["argument"] in shown["properties"]]
    properties = {name: shown["properties"][name] for name in given}
    if "all" in binding:
        properties |= LIMITS
    required = [name for name in shown.get("required", []) if name in properties]
    if body is not None:
        properties["body"] = body["schema"] if "schema" in body else shown["properties"]["body"]
        if body["required"]:
            required.append("body")
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def arrange(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Names that belong nowhere stay where they are, for validation to name them."""
    binding = binding_of(tool)
    body = binding["body"]
    check_not_given(tool, arguments)
    if body is None or not body["object"]:
        return arguments
    if "all" in binding and LIMITS.keys() & arguments.keys():
        limits = {name: value for name, value in arguments.items() if name in LIMITS}
        return {**arrange(tool, {name: arguments[name] for name in arguments if name not in limits}), **limits}
    parameters = {one["argument"] for one in binding["parameters"]}
    flat = set(body["flat"])
    whole = tool.body_argument
    has_whole = whole in arguments and (whole not in flat or isinstance(arguments[whole], dict))
    arranged: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == whole and has_whole:
            arranged["body"] = value
        elif name in parameters:
            arranged[name] = value
        elif name in flat or body["open"]:
            fields[name] = value
        else:
            arranged[name] = value
    if fields and has_whole:
        arranged["body"] = merge_fields(arranged["body"], fields, whole)
    elif fields or (body["required"] and not has_whole):
        arranged["body"] = fields
    return arranged


def meaning(tool: Tool, arguments: dict[str, Any]) -> Meaning:
    """Fields of the body beside the parameters, wherever they were given; without what is not sent."""
    binding, arranged = binding_of(tool), arrange(tool, arguments)
    body, parameters = binding["body"], {one["argument"] for one in binding["parameters"]}
    given = {name: value for name, value in arranged.items() if value is not None or name not in parameters}
    fields = given.get("body")
    if body is None or not body["object"] or not isinstance(fields, dict):
        return Meaning(given)
    if body.get("form") in FORMS:
        fields = {name: value for name, value in fields.items() if value is not None}
    hidden = any(name in parameters for name in fields)
    beside = {name: value for name, value in fields.items() if name not in parameters}
    kept = {name: value for name, value in given.items() if name != "body"}
    return Meaning({**kept, **({tool.body_argument: fields} if hidden else {}), **beside}, body=fields)


def merge_fields(whole: Any, fields: dict[str, Any], name: str) -> dict[str, Any]:
    names = ", ".join(sorted(fields))
    if not isinstance(whole, dict):
        raise contradiction(f"`{name}` must be an object when there are fields ({names}) beside it", f"/{name}", name)
    twice = sorted(set(whole) & set(fields))
    if twice:
        raise contradiction(f"passed both inside `{name}` and beside it: {', '.join(twice)}", f"/{twice[0]}", name)
    return {**whole, **fields}


def contradiction(message: str, at: str, name: str) -> ToolError:
    return ToolError(
        "invalid_arguments",
        message,
        details={"problems": [{"at": at, "message": message}]},
        hint=f"pass each field once: either beside the parameters or inside `{name}`",
    )
