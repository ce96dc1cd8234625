"""The catalog: every tool of every source of a workspace, found, described, checked and called."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Connection

from executor.catalog import changes
from executor.catalog.changes import Refreshed
from executor.catalog.nearest import Nearest
from executor.catalog.references import reached, with_definitions
from executor.catalog.search import Hit, Index
from executor.catalog.shelf import Recent, Shelf
from executor.catalog.signatures import COMPACT, FULL, signature
from executor.catalog.text import first_sentence
from executor.catalog.upkeep import Upkeep
from executor.catalog.validation import Validator, compile_schema, invalid_arguments, problems
from executor.errors import NotFound, ToolError
from executor.model.source import Source
from executor.model.tool import Tool
from executor.sources.kind import Checks, Kind, Probe, Progress, SourceRequest, silent
from executor.sources.references import names_in
from executor.sources.registry import Kinds
from executor.storage import sources as source_rows
from executor.storage import tools as tool_rows
from executor.storage import versions
from executor.storage.database import Database
from executor.storage.tools import Head

SIGNATURE_STEPS = 9
MAX_LIMIT = 200
ITEM_DESCRIPTION = 160
LARGE = 5_000


class Catalog:
    """Reads come from memory when warm; a change of a source drops what was remembered of its workspace."""

    def __init__(self, database: Database, kinds: Kinds | Mapping[str, Kind]) -> None:
        self._database = database
        self._kinds = kinds if isinstance(kinds, Kinds) else Kinds.of(kinds)
        self.upkeep = Upkeep(database, self._kinds, self._forget)
        self._shelves: dict[str, Shelf] = {}
        self._sources: dict[str, Source] = {}
        self._changes = 0
        self._validators: Recent[tuple[str, str], Validator] = Recent(2_000)
        self._signatures: Recent[tuple[str, str, int], str] = Recent(5_000)

    async def tool(self, workspace_id: str, path: str) -> Tool | None:
        shelf = self._shelf(workspace_id)
        tool = shelf.tools.get(path)
        if tool is None and path.isascii():  # every path is; other text may not even be storable
            tool = await self._database.read(lambda c: tool_rows.get(c, workspace_id, path))
            if tool is not None:
                shelf.tools.put(path, tool)
        return tool

    async def source(self, workspace_id: str, id_or_namespace: str) -> Source | None:
        shelf = self._shelf(workspace_id)
        source = shelf.sources.get(id_or_namespace)
        if source is None:
            source = await self._database.read(lambda c: source_rows.get(c, workspace_id, id_or_namespace))
            if source is not None:
                shelf.sources |= {source.id: source, source.namespace: source}
        return source

    async def sources(self, workspace_id: str) -> list[Source]:
        return await self._database.read(lambda c: source_rows.listing(c, workspace_id))

    async def check(self, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raises ToolError("invalid_arguments") with every problem, and the signature as its hint."""
        if not isinstance(arguments, dict):
            found = [{"at": "", "message": "arguments must be one object"}]
            raise invalid_arguments(tool, found, await self._signature(tool, COMPACT))
        kind, source = await self._kind_of(tool)
        arranged = kind.arrange(tool, arguments)
        found = problems(await self._validator(kind, tool, source.workspace_id), arranged, arguments, tool)
        if found:
            raise invalid_arguments(tool, found, await self._signature(tool, COMPACT))
        if isinstance(kind, Checks):
            await kind.check(source, tool, arguments)

    async def invoke(self, tool: Tool, arguments: dict[str, Any], *, idempotency_key: str) -> str:
        kind, source = await self._kind_of(tool)
        return await kind.invoke(source, tool, arguments, idempotency_key)

    async def nearest(self, workspace_id: str, path: str, limit: int = 3) -> list[str]:
        index = await self._nearest(workspace_id)
        return await asyncio.to_thread(index.to, path, limit)

    async def search(
        self, workspace_id: str, query: str, *, limit: int = 10, namespace: str | None = None, depth: int = 1
    ) -> dict[str, Any]:
        """`depth` 0: names, 1: with signatures, 2: with schemas."""
        limit = max(1, min(limit, MAX_LIMIT))
        index = await self._index(workspace_id)
        if query.strip():
            hits, total = await asyncio.to_thread(index.search, query, namespace=namespace, limit=limit)
        else:
            hits = [Hit(head, 0.0) for head in index.heads if namespace is None or in_namespace(head, namespace)]
            hits, total = hits[:limit], len(hits)
        items = [item(hit) for hit in hits]
        await self._deepen(workspace_id, items, depth)
        best_path = items[0]["path"] if items and query.strip() else None
        answer: dict[str, Any] = {"bestPath": best_path, "items": items, "total": total}
        known = namespaces(index)
        if not query.strip():
            answer["namespaces"] = known
        elif namespace is not None and namespace not in known:
            answer["hint"] = f"there is no namespace {namespace[:80]!r}; there are: {', '.join(list(known)[:20])}"
        return answer

    async def describe(self, workspace_id: str, path: str, *, include_schemas: bool = False) -> dict[str, Any]:
        tool = await self.tool(workspace_id, path)
        if tool is None:
            close = await self.nearest(workspace_id, path)
            hint = f"nearest: {', '.join(close)}" if close else "find tools with tools.discover({query})"
            raise NotFound(f"there is no tool {path[:200]!r}", hint=hint, nearest=close)
        source = await self.source(workspace_id, tool.source_id)
        described: dict[str, Any] = {
            "path": tool.path,
            "description": tool.description,
            "effect": tool.effect,
            "source": source.namespace if source else tool.namespace,
            "signature": await self._signature(tool, FULL),
            "deprecated": tool.deprecated,
        }
        return {**described, **await self._schemas(workspace_id, tool)} if include_schemas else described

    async def page(
        self,
        workspace_id: str,
        *,
        prefix: str = "",
        source: str | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> list[Head]:
        """In the order of paths; `after` is the last path of the page before."""
        source_id = ""
        if source is not None:
            found = await self.source(workspace_id, source)
            if found is None:
                raise changes.no_source(source)
            source_id = found.id

        def read(c: Connection) -> list[Head]:
            return tool_rows.page(c, workspace_id, prefix=prefix, source_id=source_id, limit=limit, after=after or "")

        return await self._database.read(read)

    async def probe(self, request: SourceRequest) -> Probe:
        """What a source would be, without connecting it."""
        return await self.upkeep.probe(request)

    async def add_source(self, workspace_id: str, request: SourceRequest) -> Source:
        return await self.upkeep.add(workspace_id, request)

    async def refresh(self, workspace_id: str, id_or_namespace: str, progress: Progress = silent) -> Refreshed:
        """A source that can't be read keeps its tools and is marked `failing`; the error says why."""
        return await self.upkeep.refresh(workspace_id, id_or_namespace, progress)

    async def refresh_source(self, workspace_id: str, id_or_namespace: str) -> Source:
        return (await self.refresh(workspace_id, id_or_namespace)).source

    async def remove_source(self, workspace_id: str, id_or_namespace: str) -> Source:
        return await self.upkeep.remove(workspace_id, id_or_namespace)

    async def version(self, workspace_id: str, schema_digest: str) -> dict[str, Any]:
        """A tool as it was when a call was made to it, whatever has become of it since."""
        found = await self._database.read(lambda c: past(c, workspace_id, schema_digest))
        if found is None:
            raise NotFound(
                f"there is no version {schema_digest[:80]!r} of a tool", hint="a call's schemaDigest names one"
            )
        return found

    async def warm(self) -> None:
        """Make the kinds of what is connected, so that no call has to wait for their libraries."""
        for name in sorted({source.kind for source in await self._database.read(source_rows.everywhere)}):
            await self._kinds.get(name)

    async def close(self) -> None:
        await self.upkeep.close()
        await self._kinds.close()

    def _shelf(self, workspace_id: str) -> Shelf:
        shelf = self._shelves.get(workspace_id)
        if shelf is None:
            shelf = self._shelves[workspace_id] = Shelf()
        return shelf

    def _forget(self, source: Source) -> None:
        self._shelves.pop(source.workspace_id, None)
        self._sources.pop(source.id, None)
        self._changes += 1

    async def _kind_of(self, tool: Tool) -> tuple[Kind, Source]:
        source = self._sources.get(tool.source_id)
        if source is None:
            changes_before = self._changes
            source = await self._database.read(lambda c: source_rows.by_id(c, tool.source_id))
            if source is None:
                raise ToolError(
                    "unknown_tool", f"{tool.path} is gone: its source was removed", hint="discover what there is now"
                )
            if changes_before == self._changes:  # else it may be what was read before the change
                self._sources[source.id] = source
        return self._kinds.ready(source.kind) or await self._kinds.get(source.kind), source

    async def _validator(self, kind: Kind, tool: Tool, workspace_id: str) -> Validator:
        key = (tool.source_id, tool.schema_digest)
        validator = self._validators.get(key)
        if validator is None:
            strict = kind.strict_schema(tool)

            def build(c: Connection) -> Validator:
                known = reached(c, workspace_id, tool.schema_digest, names_in(strict))
                return compile_schema(with_definitions(strict, known))

            validator = await self._database.read(build)
            self._validators.put(key, validator)
        return validator

    async def _signature(self, tool: Tool, budget: int) -> str:
        key = (tool.source_id, tool.schema_digest, budget)
        text = self._signatures.get(key)
        if text is None:
            _, source = await self._kind_of(tool)
            text = await self._database.read(lambda c: render(c, source.workspace_id, tool, budget))
            self._signatures.put(key, text)
        return text

    async def _schemas(self, workspace_id: str, tool: Tool) -> dict[str, Any]:
        return await self._database.read(lambda c: schemas(c, workspace_id, tool))

    async def _deepen(self, workspace_id: str, items: list[dict[str, Any]], depth: int) -> None:
        for one in items if depth >= 1 else ():
            tool = await self.tool(workspace_id, one["path"])
            if tool is not None:
                one["signature"] = await self._signature(tool, COMPACT)
                if depth >= 2:
                    one |= await self._schemas(workspace_id, tool)

    async def _index(self, workspace_id: str) -> Index:
        """Built in a thread, once, by whoever asks first."""
        shelf = self._shelf(workspace_id)
        if shelf.index is None or failed(shelf.index):
            shelf.index = asyncio.ensure_future(self._build_index(workspace_id))
        return await asyncio.shield(shelf.index)

    async def _nearest(self, workspace_id: str) -> Nearest:
        shelf = self._shelf(workspace_id)
        if shelf.nearest is None or failed(shelf.nearest):
            shelf.nearest = asyncio.ensure_future(self._build_nearest(workspace_id))
        return await asyncio.shield(shelf.nearest)

    async def _build_index(self, workspace_id: str) -> Index:
        return await self._database.read(lambda c: built(c, workspace_id))

    async def _build_nearest(self, workspace_id: str) -> Nearest:
        return await self._database.read(lambda c: Nearest(head.path for head in tool_rows.heads(c, workspace_id)))


def render(c: Connection, workspace_id: str, tool: Tool, budget: int) -> str:
    names = names_in(tool.input_schema, tool.output_schema)
    known = reached(c, workspace_id, tool.schema_digest, names, steps=SIGNATURE_STEPS)
    return signature(tool, known, budget=budget)


def schemas(c: Connection, workspace_id: str, tool: Tool) -> dict[str, Any]:
    known = reached(c, workspace_id, tool.schema_digest, names_in(tool.input_schema, tool.output_schema))
    output = None if tool.output_schema is None else with_definitions(tool.output_schema, known)
    return {"inputSchema": with_definitions(tool.input_schema, known), "outputSchema": output}


def past(c: Connection, workspace_id: str, schema_digest: str) -> dict[str, Any] | None:
    found = versions.get(c, workspace_id, schema_digest)
    if found is None:
        return None
    told = {"path": found.path, "description": found.description, "effect": found.effect, "schemaDigest": schema_digest}
    return {**told, "signature": render(c, workspace_id, found, FULL), **schemas(c, workspace_id, found)}


def built(c: Connection, workspace_id: str) -> Index:
    """A large index is made of millions of objects and no cycles: looking for those would stop everything else."""
    heads = tool_rows.heads(c, workspace_id)
    if len(heads) < LARGE:
        return Index(heads)
    gc.disable()
    try:
        index = Index(heads)
        gc.freeze()
    finally:
        gc.enable()
    return index


def failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def item(hit: Hit) -> dict[str, Any]:
    description = first_sentence(hit.head.description, ITEM_DESCRIPTION)
    return {"path": hit.head.path, "description": description, "effect": hit.head.effect, "score": hit.score}


def in_namespace(head: Head, namespace: str) -> bool:
    return head.path.startswith(f"{namespace}.")


def namespaces(index: Index) -> dict[str, int]:
    counts: dict[str, int] = {}
    for head in index.heads:
        name = head.path.partition(".")[0]
        counts[name] = counts.get(name, 0) + 1
    return counts
