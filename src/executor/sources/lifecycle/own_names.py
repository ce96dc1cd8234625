"""Stored tools as their source has them: without the names and descriptions that people gave."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlalchemy.engine import Connection

from executor.model.packed import ToolRow
from executor.model.source import RENAMED, Source, overlay_of
from executor.storage.catalog import tool_versions


def own_rows(c: Connection, source: Source, heads: Sequence[ToolRow]) -> list[ToolRow]:
    overlay, cut = overlay_of(source.known_keys), len(source.namespace) + 1
    found = []
    for row in heads:
        if row.path in overlay.own_paths:
            binding = tool_versions.row(c, source.workspace_id, row.schema_digest).binding
            row = row._replace(path=overlay.own_paths[row.path], schema_digest=orjson.loads(binding)[RENAMED]["digest"])
        found.append(row._replace(description=overlay.originals.get(row.path[cut:], row.description)))
    return found


def whole(c: Connection, source: Source, head: ToolRow) -> ToolRow:
    """With the schemas and the binding of its version."""
    row = tool_versions.row(c, source.workspace_id, head.schema_digest)
    return row._replace(path=head.path, description=head.description, tags=head.tags, deprecated=head.deprecated)
