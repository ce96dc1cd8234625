"""The catalog: every tool of every source of a workspace, found, described, checked and called."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy.engine import Connection

from executor.catalog import description
from executor.catalog.cache import K, Recent, V, WorkspaceCache
from executor.catalog.description import BUDGET, Part, Wish
from executor.catalog.namespaces import visible_namespaces
from executor.catalog.page_hints import page_hint
from executor.catalog.request_matches import Operations, read_operations
from executor.catalog.search.discovery import Discovery, Wanted
from executor.catalog.search.hints import nearest
from executor.catalog.search.index.workspace_index import Indexes
from executor.catalog.signatures.compact import flatten, without_result
from executor.catalog.signatures.signature import COMPACT
from executor.catalog.tool_versions import describe_version, read_signature
from executor.catalog.validators import Validators
from executor.connections.connections import Connections
from executor.connections.new_connection import Offer
from executor.errors import InvalidRequest, NotFound, StorageError, ToolError
from executor.model.credentials import Credential
from executor.model.event import Announcement
from executor.model.language import LANGUAGES, Language
from executor.model.source import Source, choice_of
from executor.model.tool import ALL, Effect, Tool
from executor.network.client import MayFollow
from executor.policy.visibility import Visibility
from executor.schemas.validation import invalid_arguments, problems
from executor.sources.kind import Checks, Kind, Meaning, Means, Outlines, destination_of, has_checks
from executor.sources.registry import Kinds
from executor.sources.source_request import SourceRequest
from executor.storage.catalog import sources as source_rows
from executor.storage.catalog import tools as tool_rows
from executor.storage.catalog.definitions import schemas_of
from executor.storage.catalog.tools import Head
from executor.storage.database import Database
from executor.storage.executions.events import By
from executor.storage.read_cache import ReadCache

if TYPE_CHECKING:
    from executor.catalog.declarations.loader import Declared
    from executor.sources.lifecycle.lifecycle import Lifecycle
    from executor.sources.lifecycle.persistence import OnInsert

MANY_TOOLS = 500
MANY_SOURCES = 100_000
JUDGED_REDIRECTS = frozenset({"openapi"})  # a redirect within it may be a call of another tool


class Catalog:
    """Reads come from memory when warm; a change of a source drops what was remembered of its workspace."""

    def __init__(
        self,
        database: Database,
        kinds: Kinds | Mapping[str, Kind],
        *,
        search_folder: Path | None = None,
        connections: Connections | None = None,
    ) -> None:
        self._database = database
        self._kinds = kinds if isinstance(kinds, Kinds) else Kinds.of(kinds)
        self._kinds.on_changed = lambda source_id: self.lifecycle.source_changed(source_id)
        self._connections = connections
        self._indexes = Indexes(database, search_folder)
        self._discovery = {
            language: Discovery(database, self._indexes, partial(self._deepen, language)) for language in LANGUAGES
        }
        self._caches: dict[str, WorkspaceCache] = {}
        self._sources = ReadCache(database, source_rows.by_id)
        self._validators = Validators(database)
        self._signatures: Recent[tuple[str, str, int, Language], str] = Recent(5_000)

    @cached_property
    def lifecycle(self) -> Lifecycle:
        from executor.sources.lifecycle.lifecycle import Lifecycle

        return Lifecycle(self._database, self._kinds, self._forget, self._connections)

    async def tool(self, workspace_id: str, path: str) -> Tool | None:
        cache = self._cache_of(workspace_id)
        tool = cache.tools.get(path)
        if tool is None and path.isascii():  # every path is; other text may not even be storable
            tool = await self._database.read(lambda c: tool_rows.get(c, workspace_id, path))
            if tool is not None:
                cache.tools.put(path, tool)
        return tool

    async def source(self, workspace_id: str, id_or_namespace: str) -> Source | None:
        cache = self._cache_of(workspace_id)
        source = cache.sources.get(id_or_namespace)
        if source is None:
            source = await self._database.read(lambda c: source_rows.get(c, workspace_id, id_or_namespace))
            if source is not None:
                cache.sources |= {source.id: source, source.namespace: source}
        return source

    async def sources(self, workspace_id: str) -> list[Source]:
        return await self._database.read(lambda c: source_rows.listing(c, workspace_id))

    async def namespaces(
        self, workspace_id: str, most: int, *, visibility: Visibility | None = None
    ) -> tuple[str, ...]:
        """The first ones, in their order, that have a tool `visibility` does not hide."""
        cache, key = self._cache_of(workspace_id).namespaces, (most, visibility and visibility.key)
        return await self._remember(cache, key, lambda c: visible_namespaces(c, workspace_id, most, visibility))

    async def check(self, tool: Tool, arguments: dict[str, Any], *, language: Language = "typescript") -> None:
        """Raises ToolError("invalid_arguments") with every problem, and what can be given as its hint."""
        if not isinstance(arguments, dict):
            found = [{"at": "", "message": "arguments must be one object"}]
            raise invalid_arguments(tool, found, without_result(await self.signature(tool, language)))
        kind, source = await self._kind_of(tool)
        arranged = kind.arrange(tool, arguments)
        found = problems(await self._validators.of(kind, tool, source.workspace_id), arranged, arguments, tool)
        if found:
            raise invalid_arguments(tool, found, without_result(await self.signature(tool, language)))
        if has_checks(type(kind)):
            await cast("Checks", kind).check(source, tool, arguments)
        await self._check_chosen(kind, source, tool, arguments)

    async def _check_chosen(self, kind: Kind, source: Source, tool: Tool, arguments: dict[str, Any]) -> None:
        """A call that holds others, as a GraphQL document does, may hold none of those that were left out."""
        if getattr(kind, "calls_stand_alone", False) or not choice_of(source.known_keys) or not isinstance(kind, Means):
            return
        meaning = await kind.meaning(source, tool, arguments)
        fields = (await self.operations(source)).fields if meaning.parts else {}
        for part in meaning.parts:
            if part.operation not in fields:
                raise ToolError(
                    "unknown_tool",
                    f"the document calls {part.operation}, which is not a tool of {source.namespace}",
                    hint="leave the field out: this source was connected without it",
                )

    async def meaning(self, tool: Tool, arguments: dict[str, Any]) -> Meaning:
        """What a call would do, however it is written. Raises ToolError."""
        kind, source = await self._kind_of(tool)
        return await kind.meaning(source, tool, arguments) if isinstance(kind, Means) else Meaning(arguments)

    async def may_hold_calls(self, tool: Tool) -> bool:
        """Whether a call of it can hold calls of other tools. Raises ToolError."""
        kind, _ = await self._kind_of(tool)
        return not getattr(kind, "calls_stand_alone", False) and isinstance(kind, Means)

    async def identity(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        """Equal for calls that would send the same. Raises ToolError."""
        kind, source = await self._kind_of(tool)
        return await kind.identity(source, tool, arguments) if isinstance(kind, Means) else [tool.path, arguments]

    async def kind_name(self, tool: Tool) -> str:
        """For measurements; `other` if its source has just gone or can't be read."""
        try:
            return (await self._kind_of(tool))[1].kind
        except (ToolError, StorageError):
            return "other"

    async def source_of(self, tool: Tool) -> Source:
        return (await self._kind_of(tool))[1]

    async def invoke(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        *,
        idempotency_key: str,
        source: Source | None = None,
        credential: Credential | None = None,
        may_follow: MayFollow | None = None,
    ) -> str:
        """`source` is the tool's own, as the caller has it (with the values of its config), if it has it."""
        kind, known = await self._kind_of(tool)
        await self._check_chosen(kind, known, tool, arguments)
        given: dict[str, Any] = {} if credential is None else {"credential": credential}
        if may_follow is not None and kind.name in JUDGED_REDIRECTS:
            given["may_follow"] = may_follow
        return await kind.invoke(source or known, tool, arguments, idempotency_key, **given)

    async def operations(self, source: Source) -> Operations:
        """What its tools are calls of, for requests that lead elsewhere and for documents that hold several."""
        cache = self._cache_of(source.workspace_id).operations
        return await self._remember(cache, source.id, lambda c: read_operations(tool_rows.bindings(c, source.id)))

    async def destination(self, source: Source) -> str:
        """A digest of all that decides where and how the calls of a source are sent."""
        kind = self._kinds.ready(source.kind)
        if kind is None:
            with suppress(InvalidRequest):  # the package of its kind may have been removed
                kind = await self._kinds.get(source.kind)
        return destination_of(kind, source)

    async def outline(self, tool: Tool, arguments: dict[str, Any], *, idempotency_key: str) -> str:
        """The request that `invoke` would send with the same arguments, on one line; empty if the kind can't say."""
        kind, source = await self._kind_of(tool)
        if not tool.binding or not isinstance(kind, Outlines):
            return ""
        return await kind.outline(source, tool, arguments, idempotency_key)

    async def single_page(self, workspace_id: str, path: str, *, visibility: Visibility | None = None) -> Tool | None:
        """The tool that `path`, which ends in `.all`, would fetch every page of, if only that had one."""
        base, is_all = path.removesuffix(ALL), path.endswith(ALL)
        tool = await self.tool(workspace_id, base) if is_all else None
        return None if tool is None or (visibility is not None and visibility.hides(base, tool.effect)) else tool

    async def nearest(
        self, workspace_id: str, path: str, limit: int = 3, *, visibility: Visibility | None = None
    ) -> list[str]:
        """Nothing that `visibility` hides is named."""
        shown = await self._indexes.of(workspace_id)
        return await asyncio.to_thread(lambda: nearest(shown.index, path, limit, shown.visible(visibility)))

    async def search(
        self,
        workspace_id: str,
        query: str,
        *,
        limit: int = 10,
        namespace: str | None = None,
        source: str | None = None,
        effect: Effect | None = None,
        depth: int | None = 1,
        language: Language = "typescript",
        visibility: Visibility | None = None,
        brief: bool = False,
        explain: bool = True,
    ) -> dict[str, Any]:
        """`depth` 0: names, 1: with signatures in `language`, 2: with schemas. What `visibility` hides is not found.

        See Wanted for `brief` and `explain`.
        """
        wanted = Wanted(query, limit, namespace or None, source or None, effect, depth, brief, explain)
        return await self._discovery[language].answer(workspace_id, wanted, visibility)

    async def describe(
        self,
        workspace_id: str,
        path: str,
        *,
        include_schemas: bool = False,
        language: Language = "typescript",
        budget: int = BUDGET,
        part: Part = "",
        types: Sequence[str] = (),
        visibility: Visibility | None = None,
    ) -> dict[str, Any]:
        """Within `budget` tokens; what had no room is said, and can be asked for by `part` or `types`."""
        wish = Wish(language, budget, part, tuple(types), include_schemas)
        cache, tool = self._cache_of(workspace_id), await self.tool(workspace_id, path)
        hidden = tool is not None and visibility is not None and visibility.hides(path, tool.effect)
        described = None if hidden else cache.described.get((path, wish))
        if described is None:
            if tool is None or hidden:
                if single := await self.single_page(workspace_id, path, visibility=visibility):
                    hint = page_hint(single)
                    raise NotFound(f"there is no tool {path[:200]!r}", hint=hint, nearest=[single.path])
                close = await self.nearest(workspace_id, path, visibility=visibility)
                hint = f"nearest: {', '.join(close)}" if close else "find tools with tools.discover({query})"
                raise NotFound(f"there is no tool {path[:200]!r}", hint=hint, nearest=close)
            kind, source = await self._kind_of(tool)
            strict, validator = kind.strict_schema(tool), await self._validators.of(kind, tool, workspace_id)

            def read(c: Connection) -> dict[str, Any]:
                accepts = description.acceptance(kind, tool, validator)
                read = description.read(c, workspace_id, tool, source.namespace, strict, accepts, wish)
                return {**read, **description.label_source(source, tool)}

            described = await self._database.read(read)
            cache.described.put((path, wish), described)
        return described

    async def signature(self, tool: Tool, language: Language = "typescript") -> str:
        """Compact, on few lines: for error messages."""
        return flatten(await self._signature(tool, COMPACT, language))

    async def declarations(
        self, workspace_id: str, language: Language, names: Iterable[str], *, others: Sequence[Tool] = ()
    ) -> Declared:
        """What a type checker needs to know of the tools that code names, by path or by what their paths begin with.

        Unknown names contribute nothing; `others` (the built-in tools) are always there.
        """
        from executor.catalog.declarations.loader import declare

        cache, wanted = self._cache_of(workspace_id).declared, tuple(sorted(set(names)))
        key = (language, wanted, tuple(tool.schema_digest for tool in others))
        return await self._remember(cache, key, lambda c: declare(c, workspace_id, language, wanted, others))

    async def page(
        self,
        workspace_id: str,
        *,
        prefix: str = "",
        source: str | None = None,
        limit: int = 100,
        after: str | None = None,
        visibility: Visibility | None = None,
    ) -> list[Head]:
        """In the order of paths; `after` is the last path of the page before. What `visibility` hides is in none, not
        even as the place where the following page begins."""
        source_id = ""
        if source is not None:
            found = await self.source(workspace_id, source)
            if found is None or not await self._has_visible(found, visibility):
                from executor.sources.lifecycle.persistence import no_source

                raise no_source(source)
            source_id = found.id

        def read(c: Connection) -> list[Head]:
            shown, last = list[Head](), after or ""
            while True:
                heads = tool_rows.page(c, workspace_id, prefix=prefix, source_id=source_id, limit=limit, after=last)
                shown += [one for one in heads if visibility is None or not visibility.hides(one.path, one.effect)]
                if len(shown) >= limit or len(heads) < limit:
                    return shown[:limit]
                last = heads[-1].path

        return await self._database.read(read)

    async def _has_visible(self, source: Source, visibility: Visibility | None) -> bool:
        """To someone in a toolkit, a source that has no tool there does not exist."""
        if visibility is None or visibility.toolkit is None:
            return True
        return source.namespace in await self.namespaces(source.workspace_id, MANY_SOURCES, visibility=visibility)

    async def changes(self, source: Source, at: int | None, *, after: str, limit: int) -> dict[str, Any]:
        """What a reading of the source changed, the last one that changed anything if none is named."""
        from executor.sources.lifecycle import revisions

        return await self._database.read(lambda c: revisions.read(c, source, at, after, limit))

    async def add_source(
        self,
        workspace_id: str,
        request: SourceRequest,
        *,
        by: By = None,
        offer: Offer | None = None,
        on_insert: OnInsert | None = None,
    ) -> Source:
        source = await self.lifecycle.add(workspace_id, request, by=by, offer=offer, on_insert=on_insert)
        if source.tool_count >= MANY_TOOLS:  # else the first search would wait for seconds
            self._indexes.prepare(workspace_id)
        return source

    async def version(
        self, workspace_id: str, schema_digest: str, *, visibility: Visibility | None = None
    ) -> dict[str, Any]:
        """A tool as it was at the time of a call, whatever has become of it since."""
        found = await self._database.read(lambda c: describe_version(c, workspace_id, schema_digest))
        if found is None or (visibility is not None and visibility.hides(found["path"], found["effect"])):
            raise NotFound(
                f"no tool has the schema digest {schema_digest[:80]!r}", hint="use the schemaDigest of a call"
            )
        return found

    async def warm(self) -> bool:
        """Make the kinds of what is connected, so that no call has to wait for their libraries. False if nothing is."""
        kinds = {source.kind for source in await self._database.read(source_rows.everywhere)}
        for name in sorted(kinds):
            await self._kinds.get(name)
        if kinds:
            await asyncio.to_thread(importlib.import_module, "jsonschema_rs")  # which checks arguments
        return bool(kinds)

    async def close(self) -> None:
        if "lifecycle" in self.__dict__:
            await self.lifecycle.close()
        await self._indexes.close()
        await self._kinds.close()

    async def _remember(self, cache: Recent[K, V], key: K, read: Callable[[Connection], V]) -> V:
        found = cache.get(key)
        if found is None:
            found = await self._database.read(read)
            cache.put(key, found)
        return found

    def _cache_of(self, workspace_id: str) -> WorkspaceCache:
        cache = self._caches.get(workspace_id)
        if cache is None:
            cache = self._caches[workspace_id] = WorkspaceCache()
        return cache

    def hear(self, announcement: Announcement) -> None:
        """Another process may have changed a source."""
        if announcement.type.startswith("source."):
            self._caches.pop(announcement.workspace_id, None)
            self._indexes.forget(announcement.workspace_id)
            self._sources.clear()

    def forget_all(self) -> None:
        self._caches.clear()
        self._indexes.forget_all()
        self._sources.clear()

    def _forget(self, source: Source) -> None:
        self._caches.pop(source.workspace_id, None)
        self._indexes.forget(source.workspace_id)
        self._sources.drop(source.id)

    async def _kind_of(self, tool: Tool) -> tuple[Kind, Source]:
        source = await self._sources.of(tool.source_id)
        if source is None:
            raise ToolError(
                "unknown_tool",
                f"{tool.path} is gone: its source was removed",
                hint="find the current tools with tools.discover",
            )
        return self._kinds.ready(source.kind) or await self._kinds.get(source.kind), source

    async def _signature(self, tool: Tool, budget: int, language: Language = "typescript") -> str:
        key = (tool.source_id, tool.schema_digest, budget, language)
        text = self._signatures.get(key)
        if text is None:
            _, source = await self._kind_of(tool)
            text = await self._database.read(lambda c: read_signature(c, source.workspace_id, tool, budget, language))
            self._signatures.put(key, text)
        return text

    async def _deepen(self, language: Language, workspace_id: str, path: str, depth: int) -> dict[str, Any]:
        tool = await self.tool(workspace_id, path)
        if tool is None:
            return {}
        signature = {"signature": await self._signature(tool, COMPACT, language)}
        if depth < 2:
            return signature
        return {**signature, **await self._database.read(lambda c: schemas_of(c, workspace_id, tool))}
