"""A source: something connected once, with a namespace of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from executor.model.packed import Packed
from executor.model.tool import Schema, Skipped, Tool

SourceStatus = Literal["connected", "failing"]


@dataclass(frozen=True, slots=True)
class Source:
    """`config` is the kind's own (for OpenAPI: `location`, `base_url`); `document_digest` names what was last read."""

    id: str
    workspace_id: str
    kind: str
    namespace: str
    name: str
    config: dict[str, Any]
    status: SourceStatus = "connected"
    document_digest: str = ""
    error: str = ""
    tool_count: int = 0
    skipped: tuple[Skipped, ...] = ()
    created_at: int = 0
    refreshed_at: int = 0


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a kind made of a document: tools, the definitions they share, and what had to be left out.

    `packed` stands for `tools` and `definitions` when they were made in another process. Of `config` the surfaces show
    `location`, `base_url`, `transport`, `command`, the names of `headers`, and `auth`: the credentials that the source
    asks for, each as `{"name", "type", "description", "details"}`. It also holds the `validators` for the next read.
    `document` is the text that it was read from, for people to look at.
    """

    name: str
    namespace: str
    tools: tuple[Tool, ...]
    definitions: Mapping[str, Schema]
    skipped: tuple[Skipped, ...]
    document_digest: str
    config: dict[str, Any] = field(default_factory=dict)
    packed: Packed | None = None
    document: bytes | None = None
    media_type: str = ""
