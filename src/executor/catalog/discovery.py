"""What a search answers: the best tools, why, and as much of each as was asked for and has room."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from executor.catalog import absent
from executor.catalog.indexes import Indexes, Shown, Veil
from executor.catalog.search.entry import MAX_QUERY
from executor.catalog.text import first_sentence
from executor.errors import InvalidRequest
from executor.model.tool import Effect
from executor.storage import entries
from executor.storage.database import Database

if TYPE_CHECKING:
    from executor.catalog.search.index import Index
    from executor.catalog.search.ranking import Found
    from executor.catalog.search.segment import Array

MAX_LIMIT = 200
ITEM_DESCRIPTION = 160
MAX_GROUPS = 200
# Characters of JSON; about a quarter as many tokens.
ROOM = 32_000
EFFECTS = ("read", "write", "destructive")
Deepen = Callable[[str, str, int], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`namespace` may go deeper, as `github.issues`; `source` is an id or a namespace."""

    query: str = ""
    limit: int = 10
    namespace: str | None = None
    source: str | None = None
    effect: Effect | None = None
    depth: int = 1


class Discovery:
    """`deepen` tells a tool's signature (depth 1) or schemas too (depth 2)."""

    def __init__(self, database: Database, indexes: Indexes, deepen: Deepen) -> None:
        self._database = database
        self._indexes = indexes
        self._deepen = deepen

    async def answer(self, workspace_id: str, wanted: Wanted, veil: Veil | None = None) -> dict[str, Any]:
        check(wanted)
        shown = await self._indexes.of(workspace_id)
        prefix = await self._prefix(workspace_id, wanted)
        found = await asyncio.to_thread(look, shown, wanted, prefix, veil)
        items = await self._items(workspace_id, found)
        answer: dict[str, Any] = {
            "bestPath": items[0]["path"] if items and wanted.query.strip() else None,
            "items": items,
            "total": found.total,
        }
        if found.groups is not None:
            answer["groups"] = found.groups
        cut = await self._fill(workspace_id, items, wanted.depth)
        hints = [hint for hint in (found.hint, cut) if hint]
        return {**answer, "hint": "; ".join(hints)} if hints else answer

    async def _prefix(self, workspace_id: str, wanted: Wanted) -> str:
        """What every path has to begin with. A source that is not there is looked for like a namespace."""
        if wanted.source is None:
            return wanted.namespace or ""
        listed = await self._database.read(partial(entries.listed, workspace_id=workspace_id))
        named = next((one.namespace for one in listed if wanted.source in (one.source_id, one.namespace)), None)
        inside = named or wanted.source
        if wanted.namespace and wanted.namespace.partition(".")[0] != inside:
            raise InvalidRequest(
                f"the namespace {wanted.namespace[:80]!r} is not of the source {wanted.source[:80]!r}",
                hint="give one of them",
            )
        return wanted.namespace or inside

    async def _items(self, workspace_id: str, found: Looked) -> list[dict[str, Any]]:
        paths = [item["path"] for item in found.items]
        told = await self._database.read(partial(entries.summaries, workspace_id=workspace_id, paths=paths))
        items = []
        for item in found.items:
            if item["path"] in told:  # else its source changed meanwhile
                description, effect = told[item["path"]]
                short = first_sentence(description, ITEM_DESCRIPTION)
                items.append({"path": item["path"], "description": short, "effect": effect, **item})
        return items

    async def _fill(self, workspace_id: str, items: list[dict[str, Any]], depth: int) -> str:
        """Deepen from the best on, as long as there is room; a tool too large for depth 2 gets its signature."""
        room = ROOM - len(orjson.dumps(items))
        short = 0
        for item in items if depth else ():
            for level in range(depth, 0, -1):
                more = await self._deepen(workspace_id, item["path"], level)
                size = len(orjson.dumps(more))
                if size <= room:
                    item |= more
                    room -= size
                    short += level < depth
                    break
            else:
                short += 1
        if not short:
            return ""
        what = "schemas" if depth > 1 else "signatures"
        left = f"there was no room for the {what} of {short} of {len(items)} tools"
        return f"{left}; tools.describe.tool({{path}}) has them"


@dataclass(frozen=True, slots=True)
class Looked:
    items: list[dict[str, Any]]
    total: int
    groups: dict[str, int] | None = None
    hint: str = ""


def check(wanted: Wanted) -> None:
    if wanted.effect is not None and wanted.effect not in EFFECTS:
        raise InvalidRequest(f"there is no effect {str(wanted.effect)[:80]!r}", hint=f"use {', '.join(EFFECTS)}")


def look(shown: Shown, wanted: Wanted, prefix: str, veil: Veil | None) -> Looked:
    """In a thread."""
    index, visible = shown.index, shown.visible(veil)
    allowed = narrowed(index, prefix, wanted.effect, visible)
    limit = max(1, min(wanted.limit, MAX_LIMIT))
    if prefix and allowed is not None and not allowed.any():
        return Looked([], 0, hint=unknown(index, prefix, visible))
    if not wanted.query.strip():
        return browse(index, prefix, allowed, limit)
    from executor.catalog.search.ranking import search

    found = search(index, wanted.query, limit=limit, allowed=allowed)
    items = [{"path": hit.path, "score": hit.score, "matched": hit.matched} for hit in found.hits]
    lacking = "" if prefix else absent.advice(wanted.query, seen_namespaces(index, visible))
    return Looked(items, found.total, hint=lacking or advice(wanted.query, found))


def advice(query: str, found: Found) -> str:
    if len(query) > MAX_QUERY:
        return f"only the first {MAX_QUERY} characters of the query were read"
    if found.hits:
        return ""
    if found.understood:
        return "no tool has these words; say it in other words, or look around with an empty query"
    return "no word of the query stands in any tool; name the app, the verb and the object, e.g. `github create issue`"


def narrowed(index: Index, prefix: str, effect: str | None, visible: Array | None) -> Array | None:
    import numpy as np

    from executor.catalog.search.segment import EFFECT

    allowed = visible
    if prefix:
        inside = np.zeros(index.total, bool)
        namespace = prefix.partition(".")[0]
        if namespace in index.namespaces:
            inside = index.spaces == index.namespaces.index(namespace)
            if "." in prefix:
                docs = np.flatnonzero(inside)
                begins = [f"{index.paths[doc]}.".startswith(f"{prefix.rstrip('.')}.") for doc in docs]
                inside = np.zeros(index.total, bool)
                inside[docs] = begins
        allowed = inside if allowed is None else allowed & inside
    if effect is not None:
        fits = (index.flags & EFFECT) == EFFECTS.index(effect)
        allowed = fits if allowed is None else allowed & fits
    return allowed


def browse(index: Index, prefix: str, allowed: Array | None, limit: int) -> Looked:
    """What there is below a prefix: the next names with their counts, and the first tools."""
    import numpy as np

    docs = range(index.total) if allowed is None else np.flatnonzero(allowed)
    paths = sorted(index.paths[doc] for doc in docs)
    cut = len(prefix.rstrip(".")) + 1 if prefix else 0
    groups: dict[str, int] = {}
    for path in paths:
        name = path[:cut] + path[cut:].partition(".")[0]
        groups[name] = groups.get(name, 0) + 1
    hint = f"the first {MAX_GROUPS} of {len(groups)} groups" if len(groups) > MAX_GROUPS else ""
    shown = dict(list(groups.items())[:MAX_GROUPS])
    return Looked([{"path": path, "score": 0.0} for path in paths[:limit]], len(paths), shown, hint)


def unknown(index: Index, prefix: str, visible: Array | None) -> str:
    """Never names what may not be seen."""
    from executor.catalog.nearest import likeness

    names = seen_namespaces(index, visible)
    namespace = prefix.partition(".")[0]
    if namespace in names:
        return f"nothing fits below {prefix[:80]!r}; an empty query with namespace {namespace!r} shows what there is"
    close = sorted(names, key=lambda name: (-likeness(prefix, name), name))[:3]
    close = [name for name in close if likeness(prefix, name) > 0.5]
    if close:
        return f"there is no namespace {prefix[:80]!r}; did you mean {', '.join(close)}?"
    return f"there is no namespace {prefix[:80]!r}; there are: {', '.join(names[:20])}"


def seen_namespaces(index: Index, visible: Array | None) -> list[str]:
    import numpy as np

    if visible is None:
        return list(index.namespaces)
    return [index.namespaces[number] for number in np.unique(index.spaces[visible])]
