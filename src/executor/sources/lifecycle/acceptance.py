"""Reviews of changed tools: what waits, what is different about it, and taking it over from what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Conflict, NotFound
from executor.model.ids import now_ms
from executor.model.packed import ToolRow
from executor.model.source import Source, overlay_of, with_overlay
from executor.schemas.diff import Comparison
from executor.sources.lifecycle import labels, persistence
from executor.sources.lifecycle.own_names import own_rows, whole
from executor.sources.lifecycle.revisions import compare_versions
from executor.storage.catalog import policies, source_revisions, sources, tool_reviews, tool_versions, tools
from executor.storage.catalog.tool_reviews import Review
from executor.storage.database import Database
from executor.storage.executions.events import By

SAID = 8_000  # of a description: all that is kept of one


@dataclass(frozen=True, slots=True)
class PendingReviews:
    """A page of what waits, each described for people, of `total`."""

    items: tuple[dict[str, Any], ...]
    total: int
    next: str | None


def read(c: Connection, source: Source, after: str, limit: int) -> PendingReviews:
    found = tool_reviews.pending(c, source.id, after, limit + 1)
    items = tuple(describe(c, source, one) for one in found[:limit])
    return PendingReviews(
        items, tool_reviews.count_pending(c, source.id), found[limit - 1].path if len(found) > limit else None
    )


def describe(c: Connection, source: Source, review: Review) -> dict[str, Any]:
    """`path` is the source's own. What differs is listed place by place; both descriptions are there in full."""
    before, offered = review.before, review.offered
    after = tool_versions.get(c, source.workspace_id, offered.schema_digest) if offered is not None else None
    comparison = Comparison()
    was = None
    if before is not None:
        was = tool_versions.get(c, source.workspace_id, before.schema_digest)
    if was is not None and after is not None:
        compare_versions(c, source.workspace_id, was, after, comparison)
    return {
        "path": review.path,
        "digest": review.digest,
        "refused": review.refuses,
        "since": review.since,
        "effect": offered.effect if offered is not None else "",
        "description": {
            "was": before.description[:SAID] if before is not None else None,
            "now": offered.description[:SAID] if offered is not None else None,
        },
        "differences": [asdict(one) for one in comparison.found],
        "cut": comparison.cut,
    }


async def accept(database: Database, source: Source, digests: Mapping[str, str], *, by: By) -> Source:
    """Exactly what someone has seen: if the server has changed it again, nothing is taken over."""
    known = await database.read(lambda c: tool_reviews.of_source(c, source.id))
    taken = choose(source, known, digests)
    heads = await database.read(lambda c: own_rows(c, source, tools.head_rows(c, source.id)))
    plain = sorted([row for row in heads if row.path not in taken] + list(taken.values()))
    overlay = overlay_of(source.known_keys)
    put = await asyncio.to_thread(labels.put_labels, source.namespace, overlay, [row.path for row in plain])
    await store_renamed(database, source, [row for row in taken.values() if row.path in put.paths], put)
    rows = [put.put_on(row) for row in plain]
    config = with_overlay(source.config, put.to_overlay())
    fresh = replace(source, config=config, tool_count=len(rows), refreshed_at=now_ms())
    differences, _ = await database.read(lambda c: tools.differences(c, source.id, rows))
    generation = await persistence.write_generation(database, fresh, rows)
    entries = await asyncio.to_thread(source_revisions.pack, differences.entries)

    def write(c: Connection) -> bool:
        if not sources.lock(c, source):
            return False
        choose(source, tool_reviews.of_source(c, source.id), digests)
        if not sources.accept(c, fresh, sorted(taken), by=by):
            return False
        tools.show(c, fresh, generation)
        source_revisions.add(c, fresh, differences, entries)
        policies.distrust(c, fresh, {one.before for one in differences.entries if one.before})
        tool_reviews.remove(c, source.id, taken)
        return True

    try:
        stays = await database.write(write)
    finally:
        await persistence.sweep(database, source.id, own=generation)
    if not stays:
        raise persistence.no_source(source.namespace)
    return sources.with_next_revision(fresh)


def choose(source: Source, known: Mapping[str, Review], digests: Mapping[str, str]) -> dict[str, ToolRow]:
    """Raises NotFound for what does not wait, and Conflict for what is not what someone saw."""
    found = {}
    for path, digest in digests.items():
        review = known.get(path)
        if review is None or review.offered is None:
            hint = f"see `executor sources review {source.namespace}`"
            raise NotFound(f"no change of {path[:200]} waits for a review", hint=hint)
        if review.digest != digest:
            raise Conflict(f"the server has changed {path} again", hint="review it again, then accept what you see")
        found[path] = review.offered
    return found


async def store_renamed(database: Database, source: Source, own: Sequence[ToolRow], put: labels.Labels) -> None:
    """Versions under the names that people gave: they may have done so since the source was read."""
    full = await database.read(lambda c: [put.put_on(whole(c, source, row)) for row in own])
    if full:
        await database.write(lambda c: tool_versions.add_tools(c, source.workspace_id, full))
