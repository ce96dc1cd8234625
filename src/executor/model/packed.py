"""A catalog made ready for storing: rows of text, in pieces small enough that no piece holds anything else up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from executor.dataclass import dataclass


class ToolRow(NamedTuple):
    """A tool as it is stored: tags, schemas, binding and links as JSON text. `held`: see `Tool`."""

    path: str
    description: str
    effect: str
    tags: str
    deprecated: bool
    idempotent: bool
    input_schema: str
    output_schema: str | None
    binding: str
    schema_digest: str
    links: str
    held: bool = False


class DefinitionRow(NamedTuple):
    digest: str
    name: str
    schema: str
    links: str


@dataclass(frozen=True, slots=True)
class Packed:
    """Each piece is the JSON text of a list of rows. It may stay in a file until it is needed."""

    tools: Sequence[bytes]
    definitions: Sequence[bytes]
    tool_count: int
