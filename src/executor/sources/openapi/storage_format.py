"""How this kind stores a source and its tools: types of the JSON in `Source.config` and `Tool.binding`."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from executor.model.known_keys import BodyBinding, Pair, ParameterBinding
from executor.model.source import Source
from executor.model.tool import Tool
from executor.sources.pagination.page_scheme import PageScheme

# A parameter or field that a credential fills; with `bearer` a bearer token goes there too.
CredentialBinding = TypedDict(
    "CredentialBinding", {"name": str, "in": str, "required": bool, "bearer": NotRequired[bool]}
)


class Promise(TypedDict):
    """What the document says of an answer: its form and, for JSON, its outermost shape."""

    form: str
    types: NotRequired[list[str]]
    fields: NotRequired[dict[str, list[str] | None]]
    mayBeEmpty: NotRequired[bool]


class OpenApiBinding(TypedDict):
    operation: str
    method: str
    path: str
    server: str
    parameters: list[ParameterBinding]
    body: BodyBinding | None
    answers: dict[str, Promise]
    idempotencyArgument: str
    security: list[dict[str, list[str]]]
    accept: NotRequired[str]
    credentials: NotRequired[list[CredentialBinding]]
    all: NotRequired[PageScheme]


class OpenApiConfig(TypedDict):
    """`given_base_url` is what a person gave; `base_url` is where calls go."""

    location: str
    spec_url: NotRequired[str]
    base_url: str
    given_base_url: str
    allow_private: bool
    origins: list[str]
    headers: NotRequired[list[Pair]]
    options: NotRequired[dict[str, Any]]
    servers: NotRequired[list[Any]]
    auth: NotRequired[list[dict[str, Any]]]
    validators: NotRequired[dict[str, str]]


def config_of(source: Source) -> OpenApiConfig:
    return source.config  # type: ignore[return-value]  # as this kind stored it; `cast` would be a call for each look


def binding_of(tool: Tool) -> OpenApiBinding:
    return tool.binding  # type: ignore[return-value]  # see above


def server_of(source: Source, tool: Tool) -> str:
    """Where a call of the tool goes."""
    return binding_of(tool)["server"] or config_of(source)["base_url"]
