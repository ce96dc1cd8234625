"""What a refresh changed, tool by tool, from the versions before and after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy.engine import Connection

from executor.errors import NotFound
from executor.model.source import Source
from executor.model.tool import Tool
from executor.schemas.diff import Comparison, compare
from executor.storage.catalog import source_revisions, tool_versions
from executor.storage.catalog.definitions import schemas_of
from executor.storage.catalog.source_revisions import Revision
from executor.storage.catalog.tools import Entry, kind_of

SENT = ("method", "path", "server", "operation", "type")


def read(c: Connection, source: Source, at: int | None, after: str, limit: int) -> dict[str, Any]:
    """A page of one revision, the newest if none is named, and which ones there are."""
    known = source_revisions.listing(c, source.workspace_id, source.id)
    wanted = at if at is not None else (known[0].at if known else None)
    if wanted is None:
        return {"revisions": known, "revision": None, "items": [], "next": None}
    found = source_revisions.get(c, source.workspace_id, source.id, wanted)
    if found is None:
        raise NotFound(f"{source.namespace} has no change at that time", hint="see `executor sources changes`")
    entries = [entry for entry in found.entries if entry.path > after][: limit + 1]
    items = [describe_entry(c, source.workspace_id, entry) for entry in entries[:limit]]
    return {
        "revisions": known,
        "revision": found,
        "items": items,
        "next": items[-1]["path"] if len(entries) > limit else None,
    }


def describe_entry(c: Connection, workspace_id: str, entry: Entry) -> dict[str, Any]:
    before = tool_versions.get(c, workspace_id, entry.before) if entry.before else None
    after = tool_versions.get(c, workspace_id, entry.after) if entry.after else None
    shown = after or before
    comparison = Comparison()
    for word, was in entry.was.items():
        comparison.add("tool", word, was, entry.now.get(word, ""))
    if before is not None and after is not None and entry.before != entry.after:
        compare_versions(c, workspace_id, before, after, comparison)
    return {
        "path": entry.path,
        "change": kind_of(entry),
        "before": entry.before or None,
        "after": entry.after or None,
        "effect": shown.effect if shown is not None else None,
        "description": shown.description if shown is not None else "",
        "differences": [asdict(one) for one in comparison.found],
        "cut": comparison.cut,
    }


def since(c: Connection, workspace_id: str, digests: Iterable[str], now: Tool) -> Comparison | None:
    """What is different of a tool from that of these versions which was its own; None if none of them was."""
    before = tool_versions.of_path(c, workspace_id, now.path, digests)
    if before is None:
        return None
    comparison = Comparison()
    compare_versions(c, workspace_id, before, now, comparison)
    return comparison


def compare_versions(c: Connection, workspace_id: str, before: Tool, after: Tool, into: Comparison) -> None:
    if before.effect != after.effect:
        into.add("tool", "effect", before.effect, after.effect)
    for word in SENT:
        if before.binding.get(word) != after.binding.get(word):
            into.add("request", word, before.binding.get(word, ""), after.binding.get(word, ""))
    was, now = before.known_keys.get("annotations") or {}, after.known_keys.get("annotations") or {}
    for hint in sorted(was.keys() | now.keys()):
        if was.get(hint) != now.get(hint):
            into.add("annotations", hint, was.get(hint, ""), now.get(hint, ""))
    old, new = schemas_of(c, workspace_id, before), schemas_of(c, workspace_id, after)
    compare("input", old["inputSchema"], new["inputSchema"], into)
    compare("output", old["outputSchema"], new["outputSchema"], into)


__all__ = ["Revision", "read", "since"]
