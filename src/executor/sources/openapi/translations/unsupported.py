"""Files that describe an API in a way that can't be connected: what they are, and what to do with them."""

from __future__ import annotations

import re
from functools import cache

from executor.dataclass import dataclass

HEAD = 20_000


@dataclass(frozen=True, slots=True)
class Format:
    """`name` as it is behind «is»; `advice` says what to do instead."""

    name: str
    advice: str


CONVERT = "convert it to OpenAPI, then add the result"
_KEY = r"""^[ \t{{,]*["']?{}["']?[ \t]*:[ \t]*["']?{}"""


def key(name: str, value: str = "") -> str:
    """A key of the outermost level, as JSON or YAML writes it; of JSON on one line, any level."""
    return _KEY.format(name, value)


# In this order: the first that fits names it. Only what has no `openapi` or `swagger` of its own is looked at.
_FORMATS: tuple[tuple[str, Format], ...] = (
    (r"schema\.getpostman\.com/json/collection|\"_postman_id\"|\A\s*\{\s*\"id\"[^\[{]*\"order\"\s*:",
     Format("a Postman collection of an old format", "export it from Postman as Collection v2.1, then add it")),
    (r"_postman_variable_scope", Format("a Postman environment", "add the API's OpenAPI document instead")),
    (r"__export_format|collection\.insomnia\.rest|insomnia\.desktop",
     Format("an Insomnia export", "export the design document (OpenAPI) from Insomnia, then add it")),
    (r"\A\s*meta\s*\{[^}]*\btype:\s*(http|graphql)", Format("a Bruno request", CONVERT)),
    (key("asyncapi", r"\d"),
     Format("an AsyncAPI document", "it describes messages, not calls; add the OpenAPI document of the same service")),
    (r"discovery#directoryList",
     Format("a list of Google APIs", "add the `discoveryRestUrl` of one of them")),
    (r"discovery#rpcDescription",
     Format("a Google Discovery document for RPC", "add the Discovery document for REST of the same API")),
    (r"schemas\.xmlsoap\.org/wsdl|www\.w3\.org/ns/wsdl",
     Format("a WSDL document", "SOAP services can't be connected; put an HTTP or MCP server in front of it")),
    (r"wadl\.dev\.java\.net", Format("a WADL document", CONVERT)),
    (r"<edmx:Edmx", Format("an OData metadata document", f"{CONVERT} (`npx odata-openapi3`)")),
    (r"\A\s*#%RAML", Format("a RAML document", f"{CONVERT} (`npx oas-raml-converter`)")),
    (r"\AFORMAT:\s*1A", Format("an API Blueprint", f"{CONVERT} (`npx apib2swagger`)")),
    (r"^\s*syntax\s*=\s*[\"']proto[23]|^\s*edition\s*=\s*[\"']20\d\d",
     Format("a protocol buffer definition", "gRPC can't be connected; add the OpenAPI document of its HTTP gateway")),
    (key("openrpc", r"\d"), Format("an OpenRPC document", "put an MCP server in front of it, then add that server")),
    (key("arazzo", r"\d"), Format("an Arazzo document", "add the OpenAPI documents that it describes workflows for")),
    (key("overlay", r"\d"), Format("an OpenAPI overlay", "apply it to its document, then add the result")),
    (key("smithy", r"\d") + r"|^\$version:\s*\"?[12]", Format("a Smithy model", f"{CONVERT} (`smithy build`)")),
    (r"@typespec/(http|rest)", Format("a TypeSpec file", "compile it to OpenAPI (`npx tsp compile`), then add it")),
    (r"\"log\"\s*:\s*\{\s*\"(version|creator|pages|entries)\"",
     Format("a HAR file", "it records requests; convert it to OpenAPI (`npx har-to-openapi`), then add the result")),
    (r"[\"']?mcpServers[\"']?\s*:",
     Format("an MCP client configuration", "add each server separately: `executor sources add -- COMMAND…` or URL")),
)  # fmt: skip


@cache
def _patterns() -> list[tuple[re.Pattern[str], Format]]:
    return [(re.compile(pattern, re.MULTILINE), format) for pattern, format in _FORMATS]


def format_of(data: bytes) -> Format | None:
    """By its look alone."""
    text = data[:HEAD].decode("utf-8", "replace").lstrip("\ufeff")
    return next((format for pattern, format in _patterns() if pattern.search(text)), None)
