"""Which namespaces of a workspace someone sees."""

from __future__ import annotations

from itertools import islice

from sqlalchemy.engine import Connection

from executor.policy.visibility import Visibility
from executor.storage.catalog import search_entries

HEADS = 200


def visible_namespaces(c: Connection, workspace_id: str, most: int, visibility: Visibility | None) -> tuple[str, ...]:
    seen = (one.namespace for one in search_entries.list_sources(c, workspace_id) if shows_tool(c, one, visibility))
    return tuple(islice(seen, most))


def shows_tool(c: Connection, one: search_entries.Listed, visibility: Visibility | None) -> bool:
    after = ""
    while rows := search_entries.effects(c, one, after, HEADS if visibility else 1):
        if visibility is None or not all(visibility.hides(path, effect) for path, effect in rows):
            return True
        after = rows[-1][0]
    return False
