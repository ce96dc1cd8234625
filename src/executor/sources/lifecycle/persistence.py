"""Sources added, refreshed and removed.

Versions of tools and definitions are stored ahead, piece by piece, so that no write takes long; the change itself is
one transaction with its event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from operator import attrgetter
from typing import Any

from sqlalchemy.engine import Connection

from executor.connections.connections import Connections
from executor.connections.source_headers import as_before
from executor.dataclass import dataclass
from executor.errors import Conflict, NotFound, QuotaExceeded, SourceError
from executor.model.ids import new_id, now_ms
from executor.model.known_keys import KnownBinding
from executor.model.packed import DefinitionRow, Packed, ToolRow
from executor.model.source import (
    REFRESH,
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
    with_settings,
)
from executor.model.tool import Skipped
from executor.sources.documents import rows as packing
from executor.sources.kind import Kind, Unchanged
from executor.sources.lifecycle import namespaces, reader, tool_selection
from executor.sources.lifecycle.labels import Labels, put_labels
from executor.sources.lifecycle.own_names import own_rows
from executor.sources.lifecycle.review import mode_of, newly_held, review_changes
from executor.sources.lifecycle.tool_selection import Selection
from executor.sources.source_request import Previous, Progress, SourceRequest, silent
from executor.sources.unread import mark_read, mark_unread, with_challenge
from executor.storage.catalog import (
    policies,
    source_documents,
    source_revisions,
    sources,
    tool_reviews,
    tool_versions,
    tools,
)
from executor.storage.catalog.tool_reviews import Review
from executor.storage.catalog.tools import Differences
from executor.storage.database import Database, checkpoint
from executor.storage.executions.events import By

HEADS = 500
OnInsert = Callable[[Connection, Source], None]
CheckDropped = Callable[[Connection, Source, Sequence[str]], None]
CHECKPOINT = 6  # pieces of some hundred kilobytes each


@dataclass(frozen=True, slots=True)
class Refreshed:
    """`unchanged` when the source itself said that nothing is new, so that nothing was read. `held` are the tools whose
    change waits for a review."""

    source: Source
    differences: Differences = field(default_factory=Differences)
    unchanged: bool = False
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadTools:
    """What was read of a source, which of it was chosen, and under which names."""

    packed: Packed
    chosen: Selection
    labels: Labels


@dataclass(frozen=True, slots=True)
class Held:
    """What the source offers after a reading; `reviews` are those that are open then, `known` those before it.

    `doubtful` are versions of which the server says something else now, also if that is not in effect yet.
    """

    rows: list[ToolRow]
    known: Mapping[str, Review] = field(default_factory=dict)
    reviews: Mapping[str, Review] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(path for path, one in self.reviews.items() if one.is_pending))


@dataclass(frozen=True, slots=True)
class Shown:
    """What becomes of a reading in its transaction. `generation` is 0 if the tools are the same."""

    generation: int
    differences: Differences
    document: SourceDocument | None
    entries: bytes
    held: Held


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
        config={REFRESH: 0} if request.consented.by_stranger else {},
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
    except (Conflict, QuotaExceeded):  # the namespace is taken, the connection doesn't fit, or there is no room
        await sweep(database, source.id, is_gone=True)
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
    request: SourceRequest | None = None,
) -> Refreshed:
    """A new selection is taken from what the source offers now, so that is read whether it has changed or not.

    `request` is how to read it, if not as its config says.
    """
    choice = new.choice if new is not None else choice_of(source.known_keys)
    filters = tool_selection.read_filters(kind, choice)
    request = request or await reader.again(kind, source, connections)
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
        raise await note_failure(database, source, reader.redact_error(raised, request)) from raised
    packed, chosen = await tool_selection.pack_selected(loaded, filters, strict=new is not None)
    labels = await asyncio.to_thread(labels_for, source, packed, chosen)
    if new is not None and new.preview:
        heads = await asyncio.to_thread(heads_of, packed, chosen, labels)
        tried, _ = await database.read(lambda c: tools.differences(c, source.id, heads))
        return Refreshed(fill_source(source, loaded, choice, chosen, labels), tried)
    rows = await store_tools(database, source.workspace_id, packed, chosen, labels, progress)
    held = await hold_changes(database, kind, source, ReadTools(packed, chosen, labels), rows)
    fresh = with_challenge(source, as_before(source, fill_source(source, loaded, choice, chosen, labels)))
    fresh, rows = replace(fresh, tool_count=len(held.rows)), held.rows
    differences, other = await database.read(lambda c: tools.differences(c, source.id, rows))
    if new is not None:
        await database.read(lambda c: new.check(c, source, differences.removed))
    generation = await write_generation(database, fresh, rows) if other else 0
    document = await document_of(loaded)
    entries = await asyncio.to_thread(source_revisions.pack, differences.entries)
    shown = Shown(generation, differences, document, entries, held)
    try:
        stays = await database.write(lambda c: switch(c, fresh, shown, new))
    finally:
        await sweep(database, source.id, own=generation)
    if not stays:
        raise no_source(source.namespace)
    return Refreshed(sources.with_next_revision(fresh), differences, held=held.paths)


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


async def hold_changes(database: Database, kind: Kind, source: Source, read: ReadTools, rows: list[ToolRow]) -> Held:
    """What of these rows, which are stored already, takes effect now. What waits, waits under the source's own names,
    whatever people call it."""
    mode = mode_of(kind, source)
    known = await database.read(lambda c: tool_reviews.of_source(c, source.id))
    if mode == "none":
        return Held(rows, known)
    present = await database.read(lambda c: own_rows(c, source, tools.head_rows(c, source.id)))
    plain = Labels(source.namespace, Overlay(), {})
    offered = await asyncio.to_thread(heads_of, read.packed, read.chosen, plain)
    found = await asyncio.to_thread(review_changes, mode, present, offered, known, now_ms())
    waiting = [one.before for one in found.reviews.values() if one.is_pending and one.before is not None]
    doubtful = frozenset(read.labels.put_on(row).schema_digest for row in waiting)
    return Held([read.labels.put_on(row) for row in found.rows], known, found.reviews, doubtful)


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
    """Rows, and the same without what only versions have: after those are stored, their heads are enough.

    Of tools that people renamed, the rows under their own names are stored too: another name is derived from these.
    """
    kept = [row for row in packing.tool_rows(packed.tools[number]) if chosen.keeps(row.path)]
    rows = [labels.put_on(row) for row in kept]
    own = [row for row in kept if row.path in labels.paths]
    return [*rows, *own], [row._replace(input_schema="", output_schema=None, binding="", links="") for row in rows]


async def write_generation(database: Database, source: Source, rows: list[ToolRow]) -> int:
    """A new generation of the source's tools, written but not shown yet.

    In the order of their keys: in any other, each write changes pages all over the indexes, and a search reads them so.
    """
    rows = sorted(rows, key=attrgetter("path"))
    generation = await database.write(lambda c: tools.begin_generation(c, source, rows[:HEADS]))
    for at in range(HEADS, len(rows), HEADS):
        some = rows[at : at + HEADS]
        await database.write(partial(tools.add, source=source, generation=generation, rows=some))
    return generation


async def document_of(loaded: Loaded) -> SourceDocument | None:
    if loaded.document is None:
        return None
    return await asyncio.to_thread(source_documents.compress_document, loaded.document, loaded.media_type)


def switch(c: Connection, source: Source, shown: Shown, new: NewChoice | None = None) -> bool:
    """False if the source is gone."""
    differences = shown.differences
    if new is not None:
        new.check(c, source, differences.removed)
    if not sources.replace(c, source, differences, choice=new.choice if new else None, by=new.by if new else None):
        return False
    show_reading(c, source, shown)
    return True


def show_reading(c: Connection, source: Source, shown: Shown) -> None:
    """From now on the source offers what was read."""
    if shown.generation:
        tools.show(c, source, shown.generation)
    if shown.document is not None:
        source_documents.put(c, source, shown.document)
    if shown.differences.entries:
        source_revisions.add(c, source, shown.differences, shown.entries)
    changed = {one.before for one in shown.differences.entries if one.before}
    policies.distrust(c, source, changed | shown.held.doubtful)
    if shown.held.known != shown.held.reviews:
        tool_reviews.replace(c, source, shown.held.known, shown.held.reviews)
    if new := newly_held(shown.held.known, shown.held.reviews):
        sources.note_held(c, source, new)


async def sweep(database: Database, source_id: str, *, own: int = 0, is_gone: bool = False) -> None:
    """Remove what no one sees of this source, a few rows at a time. `own` is the generation that the caller wrote."""
    await _drop(database, partial(tools.unseen, source_id=source_id, own=own, is_gone=is_gone, limit=HEADS))


async def sweep_before(database: Database, before: int) -> None:
    """Remove what no one sees of any source. Generations begun at `before` or later may still be written."""
    await _drop(database, partial(tools.unseen, before=before, limit=HEADS))


async def _drop(database: Database, find: Callable[[Connection], list[dict[str, Any]]]) -> None:
    while unseen := await database.read(find):
        await database.write(partial(tools.drop, keys=unseen))


async def note_failure(database: Database, source: Source, error: SourceError) -> SourceError:
    """Its tools stay as they were."""
    failing = mark_unread(replace(source, status="failing", error=error.message), error)

    def job(c: Connection) -> None:
        if not sources.replace(c, failing):
            raise no_source(source.namespace)
        if source.status != "failing":
            sources.note_change(c, failing, "source.failing")

    await database.write(job)
    return error


async def note_unchanged(database: Database, source: Source) -> Refreshed:
    same = replace(mark_read(source), status="connected", error="", refreshed_at=now_ms())
    if not await database.write(lambda c: sources.replace(c, same, Differences())):
        raise no_source(source.namespace)
    return Refreshed(sources.with_next_revision(same), unchanged=True)


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
        if found is None or not sources.lock(c, found):
            return None
        if connections is not None:
            connections.forget_source(c, found)
        policies.retire(c, found, by=by)
        return sources.delete(c, workspace_id, found.id, by=by)

    source = await database.write(write)
    if source is None:
        raise no_source(id_or_namespace)
    await sweep(database, source.id, is_gone=True)
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
    config = with_overlay(with_choice(loaded.config, choice, chosen.offered), labels.to_overlay())
    return replace(
        source,
        name=loaded.name,
        config=with_settings(config, source.config),
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
