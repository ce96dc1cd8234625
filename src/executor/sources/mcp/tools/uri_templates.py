"""Templates of resource addresses (RFC 6570): their variables as arguments, and the address with values in it.

The SDK's reader of templates is slow to import, so only a source that has one pays for it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from executor.model.tool import Schema

if TYPE_CHECKING:
    from mcp.shared.uri_template import UriTemplate

MAX_LENGTH = 4_000
MAX_VARIABLES = 50


class TemplateRefused(Exception):
    """Why a template can't be used."""


def read_template(template: str) -> Schema:
    """Its variables as arguments. Those of a query at the end may be left out."""
    parsed = parse(template)
    if not parsed.variables:
        raise TemplateRefused("its template has no variables")
    listed: Schema = {"type": "array", "items": {"type": "string"}}
    properties = {one.name: listed if one.explode else {"type": "string"} for one in parsed.variables}
    required = [name for name in properties if name not in parsed.query_variable_names]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def expand(template: str, arguments: dict[str, Any]) -> str:
    """Only a template says where its values may hold `/` or `?`: all else is escaped."""
    return parse(template).expand(arguments)


@lru_cache(maxsize=500)
def parse(template: str) -> UriTemplate:
    from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

    try:
        return UriTemplate.parse(template, max_length=MAX_LENGTH, max_variables=MAX_VARIABLES)
    except InvalidUriTemplate as error:
        raise TemplateRefused(f"its template can't be used: {str(error)[:200]}") from error
