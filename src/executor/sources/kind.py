"""The seam through which a kind of source (OpenAPI, GraphQL, MCP …) joins the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from executor.model.source import Loaded, Source
from executor.model.tool import Schema, Tool

# First segments of built-in tools, and what would read like one.
RESERVED = frozenset({"discover", "describe", "executor", "tools"})


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What someone asked to connect.

    `location` is a URL or the path of a file, `document` the file's content when a client uploads it. `allow_private`
    is true only when an operator asks: then the origins of `location` and `base_url` may be on a private network.
    `by_code` says that submitted code asked and the operator has approved what was shown of it: nothing else is opened.
    A source that is connected already is read `again` with the `origins` granted to it then (see `reach`); only so is a
    file read from disk, because a new request's path may come from anyone.
    """

    kind: str = "openapi"
    location: str = ""
    document: bytes | None = None
    namespace: str = ""
    name: str = ""
    base_url: str = ""
    allow_private: bool = False
    by_code: bool = False
    again: bool = False
    origins: tuple[str, ...] = ()


class Kind(Protocol):
    """Reads a document into tools, and sends calls to what the document describes."""

    name: str

    async def load(self, request: SourceRequest) -> Loaded:
        """Raises SourceUnreachable, DocumentInvalid or EgressRefused. Tool paths already carry the namespace."""

    def reload_request(self, source: Source) -> SourceRequest:
        """The request that reads `source` again, from its own config."""

    def strict_schema(self, tool: Tool) -> Schema:
        """What arranged arguments must satisfy; the tool's own input schema unless the kind accepts several forms."""

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments in the form that `strict_schema` describes. Raises ToolError if the forms contradict."""

    async def invoke(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        """JSON text of the answer. Raises ToolError."""

    async def close(self) -> None: ...
