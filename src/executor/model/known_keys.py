"""The JSON that is stored with sources and tools, as far as more than one package reads it.

`Source.config` and `Tool.binding` belong to the kind of the source, which may store any JSON there. OpenAPI, GraphQL
and MCP have types for theirs in `sources/<kind>/storage_format.py`. These types cost nothing at run time: the value is
the dict that was stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

Pair = Sequence[str]  # a name and a value


class Renamed(TypedDict):
    """Of a tool that has another name here than its source gives it."""

    path: str


class KnownConfig(TypedDict, total=False):
    """`auth` are the credentials that the source asks for: name, type, description and details of each.

    `unread` is the origin that wants a credential before the source can be read; `undetermined` says that its kind is
    only a guess until then. `headers_for` is the origin that `headers` belong to, where the document has sent the calls
    elsewhere since.
    """

    location: str
    base_url: str
    transport: str
    command: list[str]
    headers: Sequence[Pair]
    headers_for: str
    environment: Sequence[Pair]
    origins: list[str]
    options: dict[str, Any]
    auth: list[dict[str, Any]]
    validators: dict[str, str]
    static: str
    overlay: dict[str, Any]
    choice: dict[str, Any]
    unread: str
    undetermined: bool
    spec_url: str
    given_base_url: str
    directory: str
    refresh_seconds: int
    edition: int
    review: str


ParameterBinding = TypedDict(
    "ParameterBinding",
    {
        "name": str,
        "in": str,
        "argument": str,
        "style": str,
        "explode": bool,
        "content": NotRequired[str],
        "reserved": NotRequired[bool],
    },
)


class EncodingBinding(TypedDict, total=False):
    """How a field of a form is written, where that is not as usual."""

    style: str
    explode: bool
    reserved: bool
    contentType: str
    contentTypes: str
    file: bool


class BodyBinding(TypedDict):
    """`flat` are the fields that stand beside the parameters; `whole` is the argument that is the whole body."""

    mediaType: str
    form: str
    required: bool
    object: bool
    open: bool
    flat: list[str]
    encoding: NotRequired[dict[str, EncodingBinding]]
    whole: NotRequired[str]
    schema: NotRequired[dict[str, Any]]


class KnownBinding(TypedDict, total=False):
    """`operation` is what the tool represents in its source. `type` and `field` are GraphQL's, `method` and `path`
    OpenAPI's, `annotations` MCP's; `function` is all that the Python kind has."""

    operation: str
    function: str
    type: str
    field: str
    method: str
    path: str
    server: str
    parameters: list[ParameterBinding]
    body: BodyBinding | None
    all: dict[str, Any]
    security: list[dict[str, list[str]]]
    idempotencyArgument: str
    annotations: dict[str, Any]
    mutations: bool
    renamed: Renamed
