"""How this kind stores a source and its tools: types of the JSON in `Source.config` and `Tool.binding`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, cast

from executor.model.known_keys import Pair
from executor.model.source import Source
from executor.model.tool import Tool
from executor.sources.pagination.page_scheme import PageScheme


class GraphQLBinding(TypedDict):
    """`describe` shows a type and sends nothing; `raw` sends a document of the caller, with `mutations` or without.

    A query or mutation sends one `field` with the `selection`, unless the caller chooses fields in the argument that
    `select` names. `arguments` are the types of its arguments.
    """

    operation: str
    type: Literal["query", "mutation", "raw", "describe"]
    field: NotRequired[str]
    arguments: NotRequired[dict[str, str]]
    selection: NotRequired[str]
    select: NotRequired[str]
    all: NotRequired[PageScheme]
    mutations: NotRequired[bool]


class GraphQLConfig(TypedDict):
    """`given_base_url` is what a person gave; `base_url` is where calls go. `schema` is packed."""

    location: str
    base_url: str
    transport: str
    given_base_url: str
    spec_url: str
    headers: list[Pair]
    options: dict[str, Any]
    allow_private: bool
    origins: list[str]
    validators: dict[str, str]
    schema: str


def config_of(source: Source) -> GraphQLConfig:
    return cast("GraphQLConfig", source.config)


def binding_of(tool: Tool) -> GraphQLBinding:
    return cast("GraphQLBinding", tool.binding)
