"""Edits applied: the source is read with its new settings first, and changes only if that worked.

If it can't be read, the source stays as it was. One that wants a new credential first is changed all the same: it keeps
the tools that it had, and is read once it has the credential.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field, replace

import orjson
from sqlalchemy.engine import Connection

from executor.connections.connections import Connections
from executor.connections.origin import origin_of
from executor.connections.source_headers import MARK, as_before, values_of
from executor.dataclass import dataclass
from executor.errors import Conflict
from executor.model.packed import Packed
from executor.model.source import (
    EDITION,
    REFRESH,
    REVIEW,
    Loaded,
    Source,
    choice_of,
    overlay_of,
    with_choice,
    with_overlay,
    with_settings,
)
from executor.network.credentials import command_origin
from executor.sources.kind import Kind, destination_of
from executor.sources.lifecycle import persistence, reader, tool_selection
from executor.sources.lifecycle.edit import (
    AS_SET,
    REVIEW_AS_SET,
    Edit,
    check_revision,
    edit_request,
    places_of,
    revision_of,
    without_secrets,
)
from executor.sources.lifecycle.persistence import Held, ReadTools, Shown
from executor.sources.source_request import Consent, Previous, Progress, SourceRequest, silent
from executor.storage.catalog import declarations, source_revisions, sources, tools
from executor.storage.catalog.tools import Differences
from executor.storage.database import Database
from executor.storage.executions.events import By

OWN_SERVER = '"server":"http'  # in the binding of a tool that does not go where its source goes


@dataclass(frozen=True, slots=True)
class Move:
    """Calls go from one place to another, or are sent in another way. `origins` are all that they go to now.

    `destination` is that of the source before, `headers` name those whose values are dropped.
    """

    before: Source
    after: Source
    destination: str
    origins: frozenset[str]
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edited:
    """`move` is None if calls go where they went. `note` says why it could not be read yet."""

    source: Source
    differences: Differences = field(default_factory=Differences)
    move: Move | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """`check` raises if people must agree to a move first; `on_write` is part of the transaction."""

    consented: Consent
    by: By = None
    revision: str = ""
    is_preview: bool = False
    progress: Progress = silent
    check: Callable[[Connection, Move], None] = lambda c, move: None
    on_write: Callable[[Connection, Source], None] = lambda c, source: None


@dataclass(frozen=True, slots=True)
class Reading:
    """`tools` is None if it wants a credential first, and `note` says so."""

    loaded: Loaded
    headers: tuple[str, ...]
    note: str = ""
    tools: ReadTools | None = None


async def apply_settings(database: Database, source: Source, edit: Edit, terms: Terms) -> Edited:
    """An edit for which nothing has to be read."""
    check_revision(source, terms.revision)
    fresh = with_own_settings(replace(source, name=edit.name or source.name), edit)

    def write(c: Connection) -> None:
        check_unchanged(c, source)
        if edit.settings:
            sources.edit(c, fresh, edit.settings, by=terms.by)
        terms.on_write(c, fresh)

    if not terms.is_preview:
        await database.write(write)
    return Edited(sources.with_next_revision(fresh) if edit.settings and not terms.is_preview else fresh)


class EditApplication:
    """`source` is the source as it is."""

    def __init__(
        self, database: Database, kind: Kind, source: Source, edit: Edit, terms: Terms, connections: Connections
    ) -> None:
        self._database = database
        self._kind = kind
        self._source = source
        self._edit = edit
        self._terms = terms
        self._connections = connections

    async def apply(self) -> Edited:
        check_revision(self._source, self._terms.revision)
        await self._database.read(lambda c: check_undeclared(c, self._source))
        opened, values = await self._connections.unseal(self._source)
        reading = await self._read(opened, values)
        fresh = with_own_settings(fill_edited(self._source, reading), self._edit)
        move = await asyncio.to_thread(find_move, self._kind, opened, fresh, reading)
        fresh = as_before(self._source, fresh) if move is None else with_next_edition(fresh)
        move = move and replace(move, before=self._source, after=fresh)
        if self._terms.is_preview:
            return Edited(fresh, await self._compare(reading), move, reading.note)
        return await self._switch(fresh, move, reading)

    async def _read(self, opened: Source, values: tuple[str, ...]) -> Reading:
        """With the credential that the source has, if it is for where the source is now."""
        known, lost = opened.known_keys, tuple[str, ...]()
        before = places_of(known.get("location", ""), known.get("spec_url", ""), known.get("base_url", ""))
        request = edit_request(self._kind.reload_request(opened), self._edit, self._terms.consented)
        asked = places_of(request.location, request.spec_url, request.base_url)
        if known.get("headers_for") or not asked <= before:
            request, lost = without_secrets(request, self._edit)
        filters = tool_selection.read_filters(self._kind, choice_of(known))
        loaded, note = await reader.first(self._kind, await self._equip(opened, request, values))
        if origin_of(replace(opened, config=loaded.config)) not in before | {origin_of(opened)}:
            request, more = without_secrets(request, self._edit)  # the document itself sends calls elsewhere
            lost = (*lost, *more)
            loaded = replace(loaded, config={**loaded.config, "headers": [list(pair) for pair in request.headers]})
        if note:
            return Reading(loaded, lost, note)
        packed, chosen = await tool_selection.pack_selected(loaded, filters, strict=False)
        labels = await asyncio.to_thread(persistence.labels_for, opened, packed, chosen)
        return Reading(loaded, lost, "", ReadTools(packed, chosen, labels))

    async def _equip(self, opened: Source, request: SourceRequest, values: tuple[str, ...]) -> SourceRequest:
        """Tools keep their names, and a source without an address is read from the document that is stored."""
        credential = await self._connections.for_reading(opened)
        if credential is not None and credential.origin not in destinations_of(request):
            credential = None
        secret = (*values, *values_of({"headers": request.headers}), *(credential.values if credential else ()))
        request = reader.redacting(reader.with_credential(request, credential), secret)
        names = await self._database.read(lambda c: persistence.names_of(c, opened))
        document = request.document
        if document is None and not (request.location or request.command or request.spec_url):
            document = await persistence.kept_text(self._database, opened)
        context = replace(request.context, progress=self._terms.progress)
        return replace(request, previous=Previous(names=names, is_edited=True), document=document, context=context)

    async def _compare(self, reading: Reading) -> Differences:
        """What the edit would change, without storing anything."""
        if (read := reading.tools) is None:
            return Differences()
        heads = await asyncio.to_thread(persistence.heads_of, read.packed, read.chosen, read.labels)
        found, _ = await self._database.read(lambda c: tools.differences(c, self._source.id, heads))
        return found

    async def _switch(self, fresh: Source, move: Move | None, reading: Reading) -> Edited:
        if move is not None:
            await self._database.read(lambda c: self._terms.check(c, move))
        generation, differences, held = await self._store(fresh, reading.tools)
        fresh = replace(fresh, tool_count=len(held.rows)) if reading.tools is not None else fresh
        if reading.tools is not None:  # with the descriptions that its own took the place of
            fresh = replace(fresh, config=with_overlay(fresh.config, reading.tools.labels.to_overlay()))
        document = await persistence.document_of(reading.loaded)
        entries = await asyncio.to_thread(source_revisions.pack, differences.entries)

        def write(c: Connection) -> Source:
            check_unchanged(c, self._source)
            sealed = fresh
            if move is not None:
                self._terms.check(c, move)
                sealed = self._connections.statics.reseal(c, fresh)
                self._connections.end_elsewhere(c, sealed, move.origins)
            sources.edit(c, sealed, self._edit.settings, differences, by=self._terms.by)
            persistence.show_reading(c, sealed, Shown(generation, differences, document, entries, held))
            self._terms.on_write(c, sealed)
            return sources.with_next_revision(sealed)

        try:
            written = await self._database.write(write)
        finally:
            await persistence.sweep(self._database, fresh.id, own=generation)
        return Edited(written, differences, move and replace(move, after=written), reading.note)

    async def _store(self, fresh: Source, read: ReadTools | None) -> tuple[int, Differences, Held]:
        """The tools that were read, not shown yet: their generation, 0 if they are the same, and what differs."""
        if read is None:
            return 0, Differences(), Held([])
        rows = await persistence.store_tools(
            self._database, fresh.workspace_id, read.packed, read.chosen, read.labels, self._terms.progress
        )
        held = await persistence.hold_changes(self._database, self._kind, self._source, read, rows)
        found, is_other = await self._database.read(lambda c: tools.differences(c, fresh.id, held.rows))
        generation = await persistence.write_generation(self._database, fresh, held.rows) if is_other else 0
        return generation, found, held


def destinations_of(request: SourceRequest) -> frozenset[str]:
    if request.command:
        return frozenset({command_origin(request.command)})
    return places_of(request.location, request.spec_url, request.base_url)


def check_undeclared(c: Connection, source: Source) -> None:
    found = declarations.of_source(c, source.workspace_id, source.id)
    if found is None:
        return
    where = "EXECUTOR_TOOL_SOURCES" if found.origin == "environment" else "the configuration file"
    raise Conflict(
        f"{source.namespace} is declared in {where}, which decides where its calls go",
        hint=f"change the entry {found.name!r} there, then run `executor config apply`",
        declared=found.origin,
    )


def check_unchanged(c: Connection, source: Source) -> None:
    """In the transaction that changes it."""
    sources.lock(c, source)
    present = sources.get(c, source.workspace_id, source.id)
    if present is None:
        raise persistence.no_source(source.namespace)
    check_revision(present, revision_of(source))


def with_own_settings(source: Source, edit: Edit) -> Source:
    config = dict(source.config)
    for name, value, as_set in ((REFRESH, edit.refresh_seconds, AS_SET), (REVIEW, edit.review, REVIEW_AS_SET)):
        if value is not None:
            config.pop(name, None)
            config |= {} if value == as_set else {name: value}
    return replace(source, config=config)


def with_next_edition(source: Source) -> Source:
    """Calls that go elsewhere and back have still ended what people decided before."""
    return replace(source, config={**source.config, EDITION: source.known_keys.get("edition", 0) + 1})


def fill_edited(source: Source, reading: Reading) -> Source:
    loaded, choice = reading.loaded, choice_of(source.known_keys)
    if (read := reading.tools) is not None:
        return persistence.fill_source(source, loaded, choice, read.chosen, read.labels)
    config = with_overlay(with_choice(loaded.config, choice, choice.offered), overlay_of(source.known_keys))
    return replace(
        source, name=loaded.name, config=with_settings(config, source.config), status="failing", error=reading.note
    )


def find_move(kind: Kind, opened: Source, fresh: Source, reading: Reading) -> Move | None:
    """Both with the values of their headers, so that another value is another way to send calls."""
    before = destination_of(kind, without_mark(opened))
    if before == destination_of(kind, without_mark(fresh)):
        return None
    destination = destination_of(kind, opened)
    origins = {origin_of(fresh)} | (servers_of(reading.tools.packed) if reading.tools is not None else set())
    return Move(opened, fresh, destination, frozenset(origins), tuple(sorted(set(reading.headers))))


def without_mark(source: Source) -> Source:
    return replace(source, config={name: value for name, value in source.config.items() if name != MARK})


def servers_of(packed: Packed) -> set[str]:
    rows = (row for row in tool_selection.all_rows(packed) if OWN_SERVER in row.binding)
    return set(places_of(*(orjson.loads(row.binding)["server"] for row in rows)))
