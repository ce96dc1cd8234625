"""The tool that reads all pages of a list, beside the one that reads one: what it takes, gives and sends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from executor.model.known_keys import BodyBinding
from executor.model.tool import ALL, Tool
from executor.sources.openapi.pagination.item_lists import item_schema
from executor.sources.openapi.storage_format import binding_of
from executor.sources.openapi.tools.descriptions import MAX_DESCRIPTION
from executor.sources.openapi.tools.parameters import Parameter
from executor.sources.openapi.tools.request_body import Body
from executor.sources.openapi.tools.schemas import Schemas
from executor.sources.openapi.tools.tool_schemas import flat_fields
from executor.sources.pagination.all_tool import all_input, all_output
from executor.sources.pagination.page_scheme import PageScheme


def all_tool(schemas: Schemas, tool: Tool, paging: PageScheme, responses: dict[str, dict[str, Any]]) -> Tool | None:
    """None if the tool's arguments leave no room for it."""
    shown = all_input(tool.input_schema, paging, tool.body_argument if binding_of(tool)["body"] else "")
    body = all_body(tool, paging)
    if shown is None or body is None:
        return None
    items = schemas.convert(item_schema(schemas.document, responses, paging["items"]))
    return replace(
        tool,
        path=f"{tool.path}{ALL}",
        description=f"All pages of {tool.path}: {tool.description}"[:MAX_DESCRIPTION],
        input_schema=shown,
        output_schema=all_output(items),
        binding={**tool.binding, "body": body or None, "all": paging},
    )


def all_body(tool: Tool, paging: PageScheme) -> BodyBinding | dict[str, Any] | None:
    """The body of a search whose fields are all arguments, without the one that turns pages; empty without a body,
    None if a body can't be given so."""
    body = binding_of(tool)["body"]
    if body is None:
        return {}
    schema = body.get("schema") or tool.input_schema["properties"].get(tool.body_argument)
    needs_whole = tool.body_argument in tool.input_schema.get("required", ())
    if not body["object"] or body["form"] != "json" or needs_whole or schema is None:
        return None
    hidden = (tool.body_argument, "" if paging.get("given") else paging.get("argument"))
    return {**body, "flat": [name for name in body["flat"] if name not in hidden], "schema": schema}


def body_fields(parameters: list[Parameter], body: Body | None) -> list[Parameter]:
    """The fields of a JSON body as if they were parameters: those of a search may turn its pages."""
    if body is None or body.form != "json" or body.fields is None:
        return []
    known = body.fields
    return [
        Parameter(name, "body", name, "", False, name in known.required, "", known.properties[name])
        for name in flat_fields(parameters, body)
    ]
