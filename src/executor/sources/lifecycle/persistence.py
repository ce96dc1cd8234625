"""Sources added, refreshed and removed.

Versions of tools and definitions are stored ahead, piece by piece, so that no write takes long; the change itself is
one transaction with its event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlalchemy.engine import Connection

from executor.connections.connections import Connections
from executor.connections.source_headers import as_before
from executor.errors import Conflict, NotFound, SourceError
from executor.model.ids import new_id, now_ms
from executor.model.known_keys import KnownBinding
from executor.model.packed import DefinitionRow, Packed, ToolRow
from executor.model.source import (
    Choice,
    Loaded,
    Overlay,
    Source,
    SourceDocument,
    choice_of,
    overlay_of,
    own_path,
    with_choice,
    with_overlay,
)
from executor.model.tool import Skipped
from executor.sources.documents import rows as packing
from executor.sources.kind import Kind, Unchanged
from executor.sources.lifecycle import namespaces, reader, tool_selection
from executor.sources.lifecycle.labels import Labels, put_labels
from executor.sources.lifecycle.tool_selection import Selection
from executor.sources.source_request import Previous, Progress, SourceRequest, silent
from executor.storage.catalog import policies, source_documents, source_revisions, sources, tool_versions, tools
from executor.storage.catalog.tools import Differences
from executor.storage.database import Database, checkpoint
from executor.storage.executions.events import By

HEADS = 500
OnInsert = Callable[[Connection, Source], None]
CheckDropped = Callable[[Connection, Source, Sequence[str]], None]
CHECKPOINT = 6  # pieces of some hundred kilobytes each


@dataclass(frozen=True, slots=True)
class Refreshed:
    """`unchanged` when the source itself said that nothing is new, so that nothing was read."""

    source: Source
    differences: Differences = field(default_factory=Differences)
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class NewChoice:
    """Another choice of a source's tools. With `preview` it is only tried. `check` raises if tools may not go."""

    choice: Choice
    preview: bool = False
    check: CheckDropped = lambda c, source, gone: None
    by: By = None


async def add(
    database: Database,
    kind: Kind,
    workspace_id: str,
    request: SourceRequest,
    connections: Connections | None = None,
    *,
    by: By = None,
    on_insert: OnInsert | None = None,
) -> Source:
    """`on_insert` is part of the transaction that adds the source."""
    await check_namespace(database, workspace_id, request.namespace)
    filters = tool_selection.read_filters(kind, request.choice)
    loaded, error = await reader.first(kind, request)
    namespaces.check(loaded.namespace)
    namespaces.check_kept(request.namespace, loaded.namespace)
    packed, chosen = await tool_selection.pack_selected(loaded, filters, strict=not error)
    labels = Labels(loaded.namespace, Overlay(), {})
    rows = await store_tools(database, workspace_id, packed, chosen, labels, request.context.progress)
    fresh = Source(
        id=new_id("src"),
        workspace_id=workspace_id,
        kind=request.kind,
        namespace=loaded.namespace,
        name=loaded.name,
        config={},
        created_at=now_ms(),
    )
    source = fill_source(fresh, loaded, request.choice, chosen, labels)
    source = replace(source, status="failing", error=error) if error else source
    generation = await write_generation(database, source, rows)
    document = await document_of(loaded)

    def write(c: Connection) -> Source:
        refuse_taken(c, workspace_id, source.namespace)
        sealed = connections.statics.seal(c, source) if connections is not None else source
        sources.insert(c, sealed, by=by)
        if not request.consented.inherit_policies:
            policies.exclude(c, sealed, by=by)
        if request.consented.approval_defaults and not request.consented.by_code:
            policies.put_approval_defaults(c, sealed, request.consented.approval_defaults, by=by)
        tools.show(c, sealed, generation)
        if document is not None:
            source_documents.put(c, sealed, document)
        if on_insert is not None:
            on_insert(c, sealed)
        return sealed

    try:
        return await database.write(write)
    except Conflict:  # the namespace is taken, or the connection doesn't fit the source
        await sweep(database, source.id)
        raise


async def check_namespace(database: Database, workspace_id: str, namespace: str) -> None:
    """Before anything is read. Empty means that the source has to say."""
    if namespace:
        namespaces.check(namespace)
        await database.read(lambda c: refuse_taken(c, workspace_id, namespace))


async def refresh(
    database: Database,
    kind: Kind,
    source: Source,
    progress: Progress = silent,
    connections: Connections | None = None,
    *,
    new: NewChoice | None = None,
) -> Refreshed:
    """A new selection is taken from what the source offers now, so that is read whether it has changed or not."""
    choice = new.choice if new is not None else choice_of(source.known_keys)
    filters = tool_selection.read_filters(kind, choice)
    request = await reader.again(kind, source, connections)
    if new is not None:
        request = replace(reader.without_validators(request), document=await kept_text(database, source))
    names = await database.read(lambda c: names_of(c, source))
    previous = replace(request.previous or Previous(), names=names)
    context = replace(request.context, progress=progress)
    try:
        loaded = await kind.load(replace(request, previous=previous, context=context))
    except Unchanged:
        return await note_unchanged(database, source)
    except SourceError as raised:
        error = reader.redact_error(raised, request)
        failing = replace(source, status="failing", error=error.message)
        await database.write(lambda c: sources.replace(c, failing))
        raise error from raised
    packed, chosen = await tool_selection.pack_selected(loaded, filters, strict=new is not None)
    labels = await asyncio.to_thread(labels_for, source, packed, chosen)
    if new is not None and new.preview:
        heads = await asyncio.to_thread(heads_of, packed, chosen, labels)
        tried, _ = await database.read(lambda c: tools.differences(c, source.id, heads))
        return Refreshed(fill_source(source, loaded, choice, chosen, labels), tried)
    rows = await store_tools(database, source.workspace_id, packed, chosen, labels, progress)
    fresh = as_before(source, fill_source(source, loaded, choice, chosen, labels))
    differences, other = await database.read(lambda c: tools.differences(c, source.id, rows))
    if new is not None:
        await database.read(lambda c: new.check(c, source, differences.removed))
    generation = await write_generation(database, fresh, rows) if other else 0
    document = await document_of(loaded)
    entries = await asyncio.to_thread(source_revisions.pack, differences.entries)
    stays = await database.write(lambda c: switch(c, fresh, generation, differences, document, entries, new))
    await sweep(database, source.id)
    if not stays:
        raise no_source(source.namespace)
    return Refreshed(fresh, differences)


async def store_tools(
    database: Database, workspace_id: str, packed: Packed, chosen: Selection, labels: Labels, progress: Progress
) -> list[ToolRow]:
    """Everything but the switch-over: no one sees a version before a source offers it."""
    progress(f"storing {chosen.count} tools")
    rows: list[ToolRow] = []
    links: set[str] = set()
    for number in range(len(packed.tools)):
        some, heads = await asyncio.to_thread(tools_at, packed, number, chosen, labels)
        await database.write(partial(tool_versions.add_tools, workspace_id=workspace_id, rows=some))
        rows += heads
        links |= tool_selection.links_of(some) if chosen.is_part else set()
        if number % CHECKPOINT == CHECKPOINT - 1:
            progress(f"storing {chosen.count} tools: {len(rows)} done")
            await database.read(checkpoint)
    wanted = await asyncio.to_thread(tool_selection.reached_definitions, packed, links) if chosen.is_part else None
    for number in range(len(packed.definitions)):
        found = await asyncio.to_thread(definitions_at, packed, number, wanted)
        await database.write(partial(tool_versions.add_definitions, workspace_id=workspace_id, rows=found))
    return rows


def definitions_at(packed: Packed, number: int, wanted: set[str] | None) -> list[DefinitionRow]:
    rows = packing.definition_rows_of(packed.definitions[number])
    return rows if wanted is None else [row for row in rows if row.digest in wanted]


def heads_of(packed: Packed, chosen: Selection, labels: Labels) -> list[ToolRow]:
    return [head for number in range(len(packed.tools)) for head in tools_at(packed, number, chosen, labels)[1]]


def labels_for(source: Source, packed: Packed, chosen: Selection) -> Labels:
    overlay = overlay_of(source.known_keys)
    kept = (row.path for row in tool_selection.all_rows(packed) if chosen.keeps(row.path)) if overlay.names else ()
    return put_labels(source.namespace, overlay, kept)


def tools_at(packed: Packed, number: int, chosen: Selection, labels: Labels) -> tuple[list[ToolRow], list[ToolRow]]:
    """Rows, and the same without what only versions have: after those are stored, their heads are enough."""
    rows = [labels.put_on(row) for row in packing.tool_rows(packed.tools[number]) if chosen.keeps(row.path)]
    return rows, [row._replace(input_schema="", output_schema=None, binding="", links="") for row in rows]


async def write_generation(database: Database, source: Source, rows: list[ToolRow]) -> int:
    """A new generation of the source's tools, written but not shown yet."""
    generation = now_ms()
    for at in range(0, len(rows), HEADS):
        some = rows[at : at + HEADS]
        await database.write(partial(tools.add, source=source, generation=generation, rows=some))
    return generation


async def document_of(loaded: Loaded) -> SourceDocument | None:
    if loaded.document is None:
        return None
    return await asyncio.to_thread(source_documents.compress_document, loaded.document, loaded.media_type)


def switch(
    c: Connection,
    source: Source,
    generation: int,
    differences: Differences,
    document: SourceDocument | None,
    entries: bytes,
    new: NewChoice | None = None,
) -> bool:
    """False if the source is gone."""
    if new is not None:
        new.check(c, source, differences.removed)
    if not sources.replace(c, source, differences, choice=new.choice if new else None, by=new.by if new else None):
        return False
    if generation:
        tools.show(c, source, generation)
    if document is not None:
        source_documents.put(c, source, document)
    if differences.entries:
        source_revisions.add(c, source, differences, entries)
        policies.distrust(c, source, {one.before for one in differences.entries if one.before})
    return True


async def sweep(database: Database, source_id: str = "") -> None:
    """Remove what no one sees now, a few rows at a time."""
    while unseen := await database.read(lambda c: tools.unseen(c, source_id, limit=HEADS)):
        await database.write(partial(tools.drop, keys=unseen))


async def note_unchanged(database: Database, source: Source) -> Refreshed:
    same = replace(source, status="connected", error="", refreshed_at=now_ms())
    if not await database.write(lambda c: sources.replace(c, same, Differences())):
        raise no_source(source.namespace)
    return Refreshed(same, unchanged=True)


def names_of(c: Connection, source: Source) -> dict[str, str]:
    """The names in use, by operation, so that a changed document does not rename what it did not change."""
    cut = len(source.namespace) + 1
    found = tools.bindings(c, source.id)
    named = ((operation_of(binding), own_path(path, binding)[cut:]) for path, _, binding in found)
    return {operation: name for operation, name in named if operation}


def operation_of(binding: KnownBinding) -> str:
    if "operation" in binding:
        return str(binding["operation"])
    return f"{binding['method']} {binding['path']}" if "method" in binding and "path" in binding else ""


async def remove(
    database: Database,
    workspace_id: str,
    id_or_namespace: str,
    connections: Connections | None = None,
    *,
    by: By = None,
) -> Source:
    def write(c: Connection) -> Source | None:
        found = sources.get(c, workspace_id, id_or_namespace)
        if found is not None and connections is not None:
            connections.forget_source(c, found)
        if found is not None:
            policies.retire(c, found, by=by)
        return sources.delete(c, workspace_id, id_or_namespace, by=by)

    source = await database.write(write)
    if source is None:
        raise no_source(id_or_namespace)
    await sweep(database, source.id)
    return source


async def present(database: Database, workspace_id: str, id_or_namespace: str) -> Source:
    source = await database.read(lambda c: sources.get(c, workspace_id, id_or_namespace))
    if source is None:
        raise no_source(id_or_namespace)
    return source


async def read_document(database: Database, source: Source) -> SourceDocument | None:
    """The text that it was last read from."""
    return await database.read(lambda c: source_documents.get(c, source.workspace_id, source.id))


async def kept_text(database: Database, source: Source) -> bytes | None:
    """The document that a source was connected with, if it has no location or command to refresh it from."""
    if source.known_keys.get("location") or source.known_keys.get("command"):
        return None
    kept = await read_document(database, source)
    if kept is None:
        hint = f"remove it with `executor sources remove {source.namespace}`, then add it again"
        raise Conflict(f"the document of {source.namespace} is no longer stored", hint=hint)
    return await asyncio.to_thread(kept.content)


def fill_source(source: Source, loaded: Loaded, choice: Choice, chosen: Selection, labels: Labels) -> Source:
    idle = tuple(Skipped(one.text, "this filter no longer matches any tool") for one in chosen.idle)
    return replace(
        source,
        name=loaded.name,
        config=with_overlay(with_choice(loaded.config, choice, chosen.offered), labels.to_overlay()),
        status="connected",
        error="",
        document_digest=loaded.document_digest,
        tool_count=chosen.count,
        skipped=(*loaded.skipped, *idle),
        refreshed_at=now_ms(),
    )


def refuse_taken(c: Connection, workspace_id: str, namespace: str) -> None:
    if sources.get(c, workspace_id, namespace) is not None:
        raise namespaces.namespace_taken(namespace)


def no_source(id_or_namespace: str) -> NotFound:
    return NotFound(f"there is no source {id_or_namespace[:80]!r}", hint="see `executor sources list`")
