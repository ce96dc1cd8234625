"""Other formats that describe an HTTP API well enough to be read as if they were OpenAPI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from executor.dataclass import dataclass
from executor.errors import DocumentInvalid
from executor.sources.openapi.translations import google_discovery as discovery
from executor.sources.openapi.translations import postman

Node = dict[str, Any]
ORIGIN = "x-translated-from"


@dataclass(frozen=True, slots=True)
class Format:
    """`marker` is in the text of every document of the format, and in few others."""

    name: str
    marker: bytes
    is_mine: Callable[[Node], bool]
    translate: Callable[[Node], Node]


FORMATS = (
    Format("a Google Discovery document", discovery.MARKER, discovery.is_discovery, discovery.translate),
    Format("a Postman collection", postman.MARKER, postman.is_collection, postman.translate),
)


def find_format(data: bytes) -> Format | None:
    """By a word in the text: cheap, and sometimes wrong."""
    return next((format for format in FORMATS if format.marker in data), None)


def translate(root: Node, where: str) -> Node:
    """OpenAPI as it is, other known formats as OpenAPI."""
    if "openapi" in root or "swagger" in root:
        return root
    for format in FORMATS:
        if format.is_mine(root):
            try:
                return {**format.translate(root), ORIGIN: format.name}
            except RecursionError as error:
                hint = "check that it is the file you meant"
                raise DocumentInvalid(f"{where} is nested too deeply to be read", hint=hint) from error
    return root


def format_name(root: Node) -> str:
    """What it was before it was translated; empty for a document that was OpenAPI from the start."""
    return next((format.name for format in FORMATS if root.get(ORIGIN) == format.name), "")
