"""What a search answers: the best tools, why, and as much of each as was asked for and has room."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from executor.catalog.search.hints import Fit, absent, is_foreign, judge, list_connected, miss
from executor.catalog.search.index.workspace_index import Indexes, VisibleIndex
from executor.catalog.signatures.compact import flatten, without_result
from executor.catalog.signatures.escape import first_sentence
from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.tool import ALL, Effect
from executor.policy.visibility import Visibility
from executor.storage.catalog import search_entries
from executor.storage.database import Database

if TYPE_CHECKING:
    from executor.catalog.search.arrays import Array
    from executor.catalog.search.index.index import Index

MAX_LIMIT = 200
ITEM_DESCRIPTION = 160
BRIEF_DESCRIPTION = 100
SIGNED = 3  # of a brief answer; the rest are names
MAX_GROUPS = 200
# Characters of JSON; about a quarter as many tokens.
ROOM = 32_000
EFFECTS = ("read", "write", "destructive")
Deepen = Callable[[str, str, int], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`namespace` may go deeper, as `github.issues`; `source` is an id or a namespace.

    A `brief` answer goes into a model's context: nothing in it is said twice. Without a depth, it has the signatures of
    the first tools. `explain` adds the score of each tool and which words were found where.
    """

    query: str = ""
    limit: int = 10
    namespace: str | None = None
    source: str | None = None
    effect: Effect | None = None
    depth: int | None = 1
    brief: bool = False
    explain: bool = True

    @property
    def browses(self) -> bool:
        return not self.query.strip()


class Discovery:
    """`deepen` adds a tool's signature (depth 1) or its schemas too (depth 2)."""

    def __init__(self, database: Database, indexes: Indexes, deepen: Deepen) -> None:
        self._database = database
        self._indexes = indexes
        self._deepen = deepen

    async def answer(self, workspace_id: str, wanted: Wanted, visibility: Visibility | None = None) -> dict[str, Any]:
        check(wanted)
        shown = await self._indexes.of(workspace_id)
        prefix = await self._prefix(workspace_id, wanted)
        found = await asyncio.to_thread(look, shown, wanted, prefix, visibility)
        fit = miss(found.app, found.names) if found.app else found.fit
        items = await self._items(workspace_id, wanted, found, visibility)
        cut = await self._fill(workspace_id, items, wanted, fit)
        hint = "; ".join(one for one in (fit.reason, cut) if one)
        return {
            **({"hint": hint} if hint else {}),
            "bestPath": items[0]["path"] if items and fit.is_fit and not wanted.browses else None,
            **({"groups": found.groups} if found.groups is not None else {}),
            "items": items,
            "total": found.total,
        }

    async def _prefix(self, workspace_id: str, wanted: Wanted) -> str:
        """What every path has to begin with. A source that is not there is looked for like a namespace."""
        if wanted.source is None:
            return wanted.namespace or ""
        listed = await self._database.read(partial(search_entries.list_sources, workspace_id=workspace_id))
        named = next((one.namespace for one in listed if wanted.source in (one.source_id, one.namespace)), None)
        inside = named or wanted.source
        if wanted.namespace and wanted.namespace.partition(".")[0] != inside:
            raise InvalidRequest(
                f"namespace {wanted.namespace[:80]!r} does not belong to source {wanted.source[:80]!r}",
                hint="pass only one of them",
            )
        return wanted.namespace or inside

    async def _items(
        self, workspace_id: str, wanted: Wanted, found: Looked, visibility: Visibility | None
    ) -> list[dict[str, Any]]:
        paths = [item["path"] for item in found.items]
        twins = [f"{path}{ALL}" for path in paths] if wanted.brief else []
        described = await self._database.read(
            partial(search_entries.summaries, workspace_id=workspace_id, paths=list(dict.fromkeys([*paths, *twins])))
        )
        length = BRIEF_DESCRIPTION if wanted.brief else ITEM_DESCRIPTION
        items = []
        for item in fold_pages(found.items) if wanted.brief else found.items:
            if item["path"] in described:  # else its source changed meanwhile
                description, effect = described[item["path"]]
                one = {"path": item["path"], "description": first_sentence(description, length), "effect": effect}
                twin = f"{item['path']}{ALL}"
                if wanted.brief and twin in described and (visibility is None or not visibility.hides(twin, effect)):
                    one["all"] = True
                items.append({**one, **item} if wanted.explain else one)
        return items[: wanted.limit]

    async def _fill(self, workspace_id: str, items: list[dict[str, Any]], wanted: Wanted, fit: Fit) -> str:
        """Deepen from the best on, as long as there is room; a tool too large for depth 2 gets its signature."""
        depth, deepened = wanted.depth, items
        if depth is None:
            depth, deepened = 1, items[:SIGNED] if fit.is_fit and not wanted.browses else []
        room = ROOM - len(orjson.dumps(items))
        short = 0
        for item in deepened if depth else ():
            for level in range(depth, 0, -1):
                more = await self._deepen(workspace_id, item["path"], level)
                if wanted.brief and "signature" in more:
                    flat = flatten(more["signature"])
                    more["signature"] = flat if item is items[0] else without_result(flat)
                size = len(orjson.dumps(more))
                if size <= room:
                    item |= more
                    room -= size
                    short += level < depth
                    if wanted.brief and "signature" in more:
                        del item["description"]  # the signature has it
                    break
            else:
                short += 1
        if not short:
            return ""
        what = "schemas" if depth > 1 else "signatures"
        left = f"the {what} of {short} of {len(deepened)} tools did not fit"
        return f"{left}; tools.describe.tool({{path}}) shows them"


@dataclass(frozen=True, slots=True)
class Looked:
    """`app` is one that the query names and that no source is named after; `names` are those of the sources."""

    items: list[dict[str, Any]]
    total: int
    fit: Fit
    groups: dict[str, int] | None = None
    app: str = ""
    names: tuple[str, ...] = ()


def check(wanted: Wanted) -> None:
    if wanted.effect is not None and wanted.effect not in EFFECTS:
        raise InvalidRequest(f"there is no effect {str(wanted.effect)[:80]!r}", hint=f"use {', '.join(EFFECTS)}")


def look(shown: VisibleIndex, wanted: Wanted, prefix: str, visibility: Visibility | None) -> Looked:
    """In a thread."""
    index, visible = shown.index, shown.visible(visibility)
    allowed = narrow(index, prefix, wanted.effect, visible)
    limit = max(1, min(wanted.limit, MAX_LIMIT)) * (2 if wanted.brief else 1)  # some are folded into others
    names = tuple(seen_namespaces(index, visible))
    if prefix and allowed is not None and not allowed.any():
        return Looked([], 0, Fit(unknown(names, prefix), is_fit=False))
    if wanted.browses:
        return browse(index, prefix, allowed, 0 if wanted.depth is None and not prefix else limit, names)
    from executor.catalog.search.ranking import search

    found = search(index, wanted.query, limit=limit, allowed=allowed, visible=visible, near=shown.near)
    items = [{"path": hit.path, "score": hit.score, "matched": hit.matched} for hit in found.hits]
    called = [*names, *(name for namespace in names for name in index.called[namespace])]
    app = "" if prefix else absent(wanted.query, called, partial(is_foreign, index, visible))
    return Looked(items, found.total, judge(wanted.query, found, names), app=app, names=names)


def fold_pages(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools that fetch every page are named with the tool they do it for, where that is there too."""
    listed = {item["path"]: item for item in items}
    bases = (path.removesuffix(ALL) if path.removesuffix(ALL) in listed else path for path in listed)
    return [listed[path] for path in dict.fromkeys(bases)]


def narrow(index: Index, prefix: str, effect: str | None, visible: Array | None) -> Array | None:
    from executor.catalog.search.arrays import np
    from executor.catalog.search.index.segment import EFFECT

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


def browse(index: Index, prefix: str, allowed: Array | None, limit: int, names: tuple[str, ...]) -> Looked:
    """What there is below a prefix: the next names with their counts, and the first tools."""
    from executor.catalog.search.arrays import np

    docs = range(index.total) if allowed is None else np.flatnonzero(allowed)
    paths = sorted(index.paths[doc] for doc in docs)
    cut = len(prefix.rstrip(".")) + 1 if prefix else 0
    groups: dict[str, int] = {}
    for path in paths:
        name = path[:cut] + path[cut:].partition(".")[0]
        groups[name] = groups.get(name, 0) + 1
    reason = f"the first {MAX_GROUPS} of {len(groups)} groups" if len(groups) > MAX_GROUPS else ""
    shown = dict(list(groups.items())[:MAX_GROUPS])
    items = [{"path": path, "score": 0.0} for path in paths[:limit]]
    return Looked(items, len(paths), Fit(reason if names else list_connected(names)), shown)


def unknown(names: Sequence[str], prefix: str) -> str:
    """Never names what may not be seen."""
    from executor.catalog.search.hints import likeness

    namespace = prefix.partition(".")[0]
    if namespace in names:
        return f"nothing matches below {prefix[:80]!r}; an empty query with namespace {namespace!r} lists everything"
    close = sorted(names, key=lambda name: (-likeness(prefix, name), name))[:3]
    close = [name for name in close if likeness(prefix, name) > 0.5]
    if close:
        return f"there is no namespace {prefix[:80]!r}; did you mean {', '.join(close)}?"
    return f"there is no namespace {prefix[:80]!r}; {list_connected(names)}"


def seen_namespaces(index: Index, visible: Array | None) -> list[str]:
    from executor.catalog.search.arrays import np

    if visible is None:
        return list(index.namespaces)
    return [index.namespaces[number] for number in np.unique(index.spaces[visible])]
