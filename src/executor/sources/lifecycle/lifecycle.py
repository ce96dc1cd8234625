"""How sources come, stay fresh and go: probing, adding, refreshing on request or notice or when due, removing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from executor.connections.connections import Connections
from executor.connections.new_connection import Offer
from executor.errors import Conflict, ExecutorError, InvalidRequest, SourceError
from executor.model.credentials import Credential
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.ids import now_ms
from executor.model.source import ReviewMode, Source
from executor.sources import detection, templates
from executor.sources.kind import Forgets, Kind, Probe
from executor.sources.lifecycle import (
    acceptance,
    first_connection,
    first_read,
    namespaces,
    persistence,
    reader,
    renames,
)
from executor.sources.lifecycle import preview as previewing
from executor.sources.lifecycle.acceptance import PendingReviews
from executor.sources.lifecycle.consent import check_consent, check_strangers
from executor.sources.lifecycle.edit import Edit, check_editable
from executor.sources.lifecycle.edit_application import EditApplication, Edited, Terms, apply_settings
from executor.sources.lifecycle.first_connection import FirstConnection
from executor.sources.lifecycle.first_read import Determined
from executor.sources.lifecycle.persistence import NewChoice, OnInsert, Refreshed
from executor.sources.lifecycle.preview import Preview
from executor.sources.lifecycle.renames import Change, CheckRenames, Relabelled
from executor.sources.lifecycle.review import mode_of
from executor.sources.lifecycle.shared_commands import SharedCommands
from executor.sources.registry import Kinds
from executor.sources.source_request import Progress, SourceRequest, silent
from executor.sources.unread import needs_credential
from executor.storage.catalog import sources
from executor.storage.database import Database
from executor.storage.executions.events import By
from executor.telemetry.refreshes import measure_refresh

TICK_SECONDS = 60.0
TELLING = ("mcp", "graphql")  # kinds that ask the service itself when they are read
logger = logging.getLogger(__name__)


class Lifecycle:
    """`forget` is called for each source that has changed, so that nothing old is remembered of it."""

    def __init__(
        self,
        database: Database,
        kinds: Kinds,
        forget: Callable[[Source], None],
        connections: Connections | None = None,
    ) -> None:
        self._connections = connections
        self._database = database
        self._kinds = kinds
        self._forget = forget
        self._locks: dict[str, asyncio.Lock] = {}
        self._noticed: set[str] = set()
        self._tried: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._began = now_ms()
        self.shared_commands: SharedCommands | None = None  # set where several processes share the database

    async def probe(self, request: SourceRequest, offer: Offer | None = None, *, by: By = None) -> Probe:
        detection.check_shape(request)
        request = templates.apply_template(request)
        if offer is not None:
            request, _ = await self._equip(request, offer, by)
        kind = await detection.with_kind(self._kinds, request)
        await self._check_shared(kind)
        if kind.kind:
            check_consent(await self._kinds.get(kind.kind), kind)
        return await detection.probe(self._kinds, request)

    async def preview(self, request: SourceRequest, offer: Offer | None = None, *, by: By = None) -> Preview:
        """Read as if it were added; nothing is kept."""
        if offer is not None:
            request, _ = await self._equip(request, offer, by)
        kind, request = await self._resolve(request)
        return await previewing.preview(kind, request)

    async def add(
        self,
        workspace_id: str,
        request: SourceRequest,
        *,
        by: By = None,
        offer: Offer | None = None,
        on_insert: OnInsert | None = None,
    ) -> Source:
        """With an `offer` of a connection the source is read at once, and the connection is kept.

        Code that adds a source a second time continues with the one that waits for a credential.
        """
        if offer is not None:
            request, connection = await self._equip(request, offer, by)
            on_insert = connection.keep
        waiting = await self._find_waiting(workspace_id, request)
        kind, request = await self._resolve(request, workspace_id if waiting is None else "")
        if waiting is not None:
            return await self._take_up(waiting, request, on_insert)
        source = await persistence.add(
            self._database, kind, workspace_id, request, self._connections, by=by, on_insert=on_insert
        )
        self._forget(source)
        return source

    async def _equip(self, request: SourceRequest, offer: Offer, by: By) -> tuple[SourceRequest, FirstConnection]:
        if self._connections is None or by is None:
            raise InvalidRequest("a credential can't be kept here", hint="add the source without it")
        return await first_connection.equip(self._connections, templates.apply_template(request), offer, by)

    async def _find_waiting(self, workspace_id: str, request: SourceRequest) -> Source | None:
        """For code: the source of this name, if nothing could be read of it yet."""
        if not request.consented.by_code or not request.namespace:
            return None
        found = await self._database.read(lambda c: sources.get(c, workspace_id, request.namespace))
        return found if found is not None and found.known_keys.get("unread") and not found.tool_count else None

    async def _take_up(self, waiting: Source, request: SourceRequest, on_insert: OnInsert | None) -> Source:
        """Read what waited for a credential. It stays as it is if that is still missing, or refused."""
        if not first_read.is_same(waiting, request):
            raise namespaces.namespace_taken(waiting.namespace)
        if on_insert is not None:
            await self._database.write(lambda c: on_insert(c, waiting))
        try:
            return (await self.refresh(waiting.workspace_id, waiting.id)).source
        except SourceError as error:
            if not needs_credential(error):
                raise
        return await persistence.present(self._database, waiting.workspace_id, waiting.id)

    async def _resolve(self, request: SourceRequest, workspace_id: str = "") -> tuple[Kind, SourceRequest]:
        """What it is, agreed to; a namespace that is taken is refused before anything is read."""
        detection.check_shape(request)
        request = await detection.with_kind(self._kinds, templates.apply_template(request))
        check_strangers(request)
        await self._check_shared(request)
        if request.kind:
            check_consent(await self._kinds.get(request.kind), request)
        if workspace_id:
            await persistence.check_namespace(self._database, workspace_id, request.namespace)
        request = await detection.resolve(self._kinds, request)
        check_strangers(request)
        kind = await self._kinds.get(request.kind)
        check_consent(kind, request)
        return kind, request

    async def _check_shared(self, request: SourceRequest) -> None:
        if self.shared_commands is not None:
            await self.shared_commands.check(request)

    async def warning_of(self, source: Source) -> str:
        """What someone who looks at it should know. Empty if there is nothing."""
        return await self.shared_commands.warn(source) if self.shared_commands is not None else ""

    async def edit(self, workspace_id: str, id_or_namespace: str, edit: Edit, terms: Terms) -> Edited:
        """Other settings. One at a time, and never while it is read. The namespace stays: every path begins with it."""
        namespaces.check_name(edit.name or "")
        source = await persistence.present(self._database, workspace_id, id_or_namespace)
        async with self._locks.setdefault(source.id, asyncio.Lock()):
            source = await persistence.present(self._database, workspace_id, source.id)
            check_editable(source, edit)
            if edit.command is not None:
                names = (*(edit.environment or ()), *(edit.handed_on or ()))
                await self._check_shared(SourceRequest(command=edit.command, options={"env": names}))
            try:
                if not edit.is_read:
                    return await apply_settings(self._database, source, edit, terms)
                if self._connections is None:
                    raise TypeError("a source is edited together with its connections")
                kind = await self._kinds.get(source.kind)
                return await EditApplication(self._database, kind, source, edit, terms, self._connections).apply()
            finally:
                self._forget(source)

    async def refresh(
        self, workspace_id: str, id_or_namespace: str, progress: Progress = silent, *, by: Actor | None = None
    ) -> Refreshed:
        """One at a time for each source, so that an older document never follows a newer one.

        `by` is who asks for it, if anyone: code on this machine is run again for its operator alone.
        """
        source = await persistence.present(self._database, workspace_id, id_or_namespace)
        if by is not None and runs_code(source):
            require(by, "running a source's code again")
        with measure_refresh(source) as begun:
            refreshed = await self._refresh(workspace_id, source, progress)
            begun.set({"executor.tools.count": refreshed.source.tool_count})
            return refreshed

    async def _refresh(self, workspace_id: str, source: Source, progress: Progress) -> Refreshed:
        async with self._locks.setdefault(source.id, asyncio.Lock()):
            source = await persistence.present(self._database, workspace_id, source.id)
            kind = await self._kinds.get(source.kind)
            check_readable(source)
            self._tried[source.id] = now_ms()
            used = await self._connections.connection_to_read(source) if self._connections is not None else None
            request = None
            try:
                if source.known_keys.get("undetermined"):
                    found = await self._determine(kind, source)
                    kind, source, request = found.kind, found.source, found.request
                return await persistence.refresh(
                    self._database, kind, source, progress, self._connections, request=request
                )
            except SourceError as error:
                if needs_credential(error) and self._connections is not None:
                    await self._connections.note_unreadable(used, error.details["upstream_status"])
                raise
            finally:
                self._forget(source)

    async def _determine(self, kind: Kind, source: Source) -> Determined:
        try:
            return await first_read.determine(self._kinds, kind, source, self._connections)
        except SourceError as error:
            raise await persistence.note_failure(self._database, source, error) from None

    async def choose(
        self,
        workspace_id: str,
        id_or_namespace: str,
        new: NewChoice,
        progress: Progress = silent,
        *,
        by: Actor,
    ) -> Refreshed:
        """Another choice of its tools, made from what it offers now."""
        source = await persistence.present(self._database, workspace_id, id_or_namespace)
        if runs_code(source):
            require(by, "running a source's code again")
        async with self._locks.setdefault(source.id, asyncio.Lock()):
            source = await persistence.present(self._database, workspace_id, source.id)
            kind = await self._kinds.get(source.kind)
            try:
                return await persistence.refresh(self._database, kind, source, progress, self._connections, new=new)
            finally:
                self._forget(source)

    async def pending_reviews(self, source: Source, *, after: str, limit: int) -> tuple[ReviewMode, PendingReviews]:
        kind = await self._kinds.get(source.kind)
        found = await self._database.read(lambda c: acceptance.read(c, source, after, limit))
        return mode_of(kind, source), found

    async def accept_changes(
        self, workspace_id: str, id_or_namespace: str, digests: Mapping[str, str], *, by: By
    ) -> Source:
        """Take over what its server made of these tools. `digests` are those of what someone has looked at, by path."""
        source = await persistence.present(self._database, workspace_id, id_or_namespace)
        async with self._locks.setdefault(source.id, asyncio.Lock()):
            source = await persistence.present(self._database, workspace_id, source.id)
            try:
                return await acceptance.accept(self._database, source, digests, by=by)
            finally:
                self._forget(source)

    async def relabel(self, source: Source, change: Change, check: CheckRenames, *, by: By) -> Relabelled:
        """Other names or descriptions for its tools; one at a time, as it is read."""
        async with self._locks.setdefault(source.id, asyncio.Lock()):
            source = await persistence.present(self._database, source.workspace_id, source.id)
            try:
                return await renames.relabel(self._database, source, change, check, by=by)
            finally:
                self._forget(source)

    async def remove(self, workspace_id: str, id_or_namespace: str, *, by: By = None) -> Source:
        source = await persistence.remove(self._database, workspace_id, id_or_namespace, self._connections, by=by)
        self._locks.pop(source.id, None)
        self._forget(source)
        kind = self._kinds.ready(source.kind)
        if isinstance(kind, Forgets):
            await kind.forget(source)
        return source

    async def try_credential(self, source: Source, credential: Credential | None) -> bool:
        """Read the source with it, or without any, and keep nothing. False if reading it proves nothing about that."""
        kind = await self._kinds.get(source.kind)
        if source.kind not in TELLING:
            return False
        opened = (await self._connections.unseal(source))[0] if self._connections is not None else source
        request = reader.without_validators(kind.reload_request(opened))
        await kind.load(reader.with_credential(request, credential))
        return True

    def source_changed(self, source_id: str) -> None:
        """A kind noticed it. However often it says so meanwhile, the source is refreshed once more after this."""
        if source_id not in self._noticed:
            self._noticed.add(source_id)
            self._start(self._read_again(source_id))

    async def refresh_due(self, seconds: int, now: int) -> list[str]:
        """Read those again that were last read, or tried, more than `seconds` ago; one after the other."""
        due = [one for one in await self._database.read(sources.everywhere) if self._is_due(one, seconds, now)]
        for source in due:
            await self._quietly(source)
        return [source.id for source in due]

    def start(self, seconds: int) -> None:
        """Refresh automatically from now on. What a daemon that was killed left half written is removed."""
        self._start(persistence.sweep_before(self._database, self._began))
        self._start(self._keep_fresh(seconds))

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_due(self, source: Source, seconds: int, now: int) -> bool:
        """By the interval of its own, if it has one; 0 means never."""
        seconds = source.known_keys.get("refresh_seconds", seconds)
        last = max(source.refreshed_at, self._tried.get(source.id, 0))
        return bool(seconds) and is_readable(source) and now - last >= seconds * 1000

    async def _keep_fresh(self, seconds: int) -> None:
        while True:
            await asyncio.sleep(min(TICK_SECONDS, seconds or TICK_SECONDS))
            if self._database.processes is not None and not self._database.processes.leads:
                continue
            await self.refresh_due(seconds, now_ms())

    async def _read_again(self, source_id: str) -> None:
        self._noticed.discard(source_id)
        source = await self._database.read(lambda c: sources.by_id(c, source_id))
        if source is not None:
            await self._quietly(source)

    async def _quietly(self, source: Source) -> None:
        """No one waits for this: a failure is shown in the source's own status, and in the log."""
        try:
            await self.refresh(source.workspace_id, source.id)
        except ExecutorError as error:
            logger.warning("source.refresh_failed", extra={"source": source.namespace, "reason": error.message})
        except Exception:
            logger.exception("source.refresh_failed", extra={"source": source.namespace})

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def runs_code(source: Source) -> bool:
    return bool(source.known_keys.get("command")) or source.kind == "python"


def is_readable(source: Source) -> bool:
    """An uploaded document is kept nowhere that a refresh could read."""
    return bool(source.known_keys.get("location") or source.known_keys.get("command"))


def check_readable(source: Source) -> None:
    """That it can't be refreshed is not a failure of the source, so none is kept."""
    if not is_readable(source):
        raise Conflict(
            f"{source.namespace} was connected from a document, not from an address, so it can't be refreshed",
            hint=f"remove it with `executor sources remove {source.namespace}`, then add the new document",
        )
