"""Dispatch among several processes on one PostgreSQL database: a process with room takes the next segment.

A fresh execution runs at once where it was submitted, if that process executes. Everything else is queued as a row, and
claimed from there. Announcements make that quick; a look every second makes it certain.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial

from executor.errors import StorageError
from executor.execution import takeover
from executor.execution.backlog import BeginCheck
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.dispatch import ALL_LIVE_RUNS, RETRY_SECONDS, LocalDispatch
from executor.execution.journal.journal import INLINE_BYTES, Journal
from executor.execution.runs.run import Run
from executor.execution.runs.segment import note_submission
from executor.execution.sandbox_queue import Opening, Pool
from executor.execution.typecheck import Ruling
from executor.execution.use_limits import CHANGED, LimitsInForce, admit
from executor.model.event import ENDINGS, QUEUED, Announcement
from executor.model.execution import Execution
from executor.model.fairness import Lane
from executor.model.use_limits import Bounds
from executor.runtime.registry import Runtimes
from executor.storage.database import Database
from executor.storage.executions import interactions, segments
from executor.storage.feed import Feed
from executor.storage.postgres.processes import Processes

LOOK_SECONDS = 1.0
TEND_SECONDS = 2.0
AHEAD = 8  # runs that wait for a sandbox here, beyond which others may have them
DECISIONS = ("interaction.approved", "interaction.denied", "interaction.expired", "interaction.cancelled")

logger = logging.getLogger(__name__)


class ClusterDispatch(LocalDispatch):
    """`executes` is false for a process that only answers requests: it queues what it is given."""

    def __init__(
        self,
        database: Database,
        pipeline: CallPipeline,
        runtimes: Runtimes,
        ttl_ms: int,
        inline_bytes: int = INLINE_BYTES,
        *,
        processes: Processes,
        executes: bool,
        drain_seconds: float,
        limits: LimitsInForce | None = None,
    ) -> None:
        super().__init__(database, pipeline, runtimes, ttl_ms, inline_bytes, limits=limits)
        self._processes = processes
        self._executes = executes
        self.drain_seconds = drain_seconds
        self._due = asyncio.Event()
        self._announced = False  # something was queued since the last claim
        self._full = False  # the last claim found no room
        self._coming: set[str] = set()  # runs that don't wait for a sandbox yet, but are about to
        self._claiming = 0  # runs that a claim under way may bring
        self._held_back: frozenset[str] = frozenset()  # workspaces in which limits may keep some waiting
        self._present: set[str] = set()
        self._orphans: set[str] = set()
        self.begin_check: BeginCheck | None = None
        processes.on_lost = self._drop_all

    def start(self, feed: Feed) -> None:
        feed.listen(self._hear, self._look_at_all)
        if self._executes:
            self.spawn(self._claim_forever())
        self.spawn(self._tend_forever())

    def begin(self, execution: Execution, begin_check: BeginCheck | None = None) -> tuple[Run | None, Journal]:
        """Here, if there is room; else its row waits for anyone."""
        self._check_room(execution.actor_id)
        execution = self._place(execution)
        here = bool(execution.owner)
        journal = Journal(self._database, execution, self._inline_bytes)
        journal.create()
        if not here:
            note_submission(journal)
            asyncio.get_running_loop().call_soon(journal.flush)  # with the name that the caller may give it
            return None, journal
        check = begin_check(execution) if begin_check is not None else None
        return self._launch(execution, journal, fresh=True, check=check), journal

    def _place(self, execution: Execution) -> Execution:
        """Owned by this process, or queued."""
        here = self._executes and not self._closing and self._processes.is_alive and self._room > 0
        owner, status = (self._processes.id, execution.status) if here else ("", "queued")
        return replace(execution, owner=owner, status=status)

    async def _begin_bound(
        self, execution: Execution, bounds: Bounds, begin_check: BeginCheck | None, name: tuple[str, str] | None
    ) -> tuple[Run | None, Journal]:
        """What other processes run counts too. If this one is lost right then, what it owns is taken from it."""
        journal = Journal(self._database, self._place(execution), self._inline_bytes)
        note_submission(journal)
        decided = await journal.insert(lambda c, one: admit(c, one, bounds, counts_owned=True), name)
        if decided.status == "queued":
            return None, journal
        return self._launch_bound(decided, journal, begin_check), journal

    def resume(self, execution: Execution) -> None:
        """Its row is queued."""
        self._note_queued()

    async def close(self) -> None:
        """Claim nothing more, let what was sent be answered, and leave the rest to others."""
        self._closing = True
        self._due.set()
        await super().close()
        owner = self._processes.id
        try:
            await self._database.write(lambda c: takeover.release_all(c, owner))
        except StorageError as error:
            logger.error("can't leave executions to others: %s", error.message)

    # -- claims -------------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        waiting = self._places.count_waiting() + len(self._coming)
        return min(AHEAD - waiting, ALL_LIVE_RUNS - len(self.runs)) - self._claiming

    def _launch(
        self,
        execution: Execution,
        journal: Journal,
        *,
        fresh: bool,
        check: asyncio.Task[Ruling] | None = None,
        lane: Lane | None = None,
    ) -> Run:
        run = super()._launch(execution, journal, fresh=fresh, check=check, lane=lane)
        if run.task is not None:  # it may end before it ever asks
            run.task.add_done_callback(lambda _: self._coming.discard(execution.id))
        return run

    def _opening(self, pool: Pool, execution: Execution, lane: Lane) -> Opening:
        """Counted from now on, and not first when the run gets to it."""
        opening = super()._opening(pool, execution, lane)
        if opening.launched is None:
            self._coming.add(execution.id)
            opening.on_ask = lambda: self._coming.discard(execution.id)
        return opening

    def _note_queued(self) -> None:
        self._announced = True
        self._due.set()

    async def _claim_forever(self) -> None:
        while not self._closing:
            self._due.clear()
            try:
                while await self._claim():
                    pass
            except StorageError as error:
                logger.error("can't claim executions: %s", error.message)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._due.wait()

    async def _claim(self) -> bool:
        """True if there may be more."""
        owner, room = self._processes.id, self._room
        self._full = room <= 0
        if self._full or self._closing or not self._processes.holds(owner):
            return False
        announced, self._announced = self._announced, False
        if not announced and not await self._database.read(segments.has_queued):
            return False
        defaults = self.limits.defaults
        self._claiming = room  # so that fresh executions don't take the same places meanwhile
        try:
            claimed = await self._database.write(lambda c: segments.claim_queued(c, owner, room, defaults))
        finally:
            self._claiming = 0
        self._held_back = claimed.held_back
        for execution in claimed:
            # What was sent before was checked then, and must not fail now.
            self._go_on(execution, self.begin_check if execution.segment == 0 else None)
        return len(claimed) == room

    async def _supervise(self, run: Run, lane: Lane) -> None:
        try:
            await super()._supervise(run, lane)
        finally:
            if self._full:
                self._due.set()

    async def _retry(self, execution: Execution) -> None:
        """The journal could not be written, or no one knows if it was. The next one to claim it reads what is there."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            with suppress(StorageError):
                await self._database.write(lambda c: takeover.release(c, execution))
                return

    # -- other processes ----------------------------------------------------------------------------------------------

    def _drop_all(self, owner: str) -> None:
        """This process was declared dead: what it ran under that name is no longer its own."""
        for run in list(self.runs.values()):
            if run.execution.owner == owner:
                run.abort()

    def _hear(self, announcement: Announcement) -> None:
        if announcement.type == QUEUED or self._frees_place(announcement):
            self._note_queued()
        if run := self.runs.get(announcement.execution_id):
            if announcement.type == "execution.cancelled":
                run.abort()
            elif announcement.type in DECISIONS:
                self.spawn(self._look_at(run))

    def _frees_place(self, announcement: Announcement) -> bool:
        """For one that a limit has held back. This may be missed: there is a look every second."""
        left = announcement.type in ENDINGS or announcement.type in ("execution.paused", CHANGED)
        return left and announcement.workspace_id in self._held_back

    def _look_at_all(self) -> None:
        self._due.set()
        for run in list(self.runs.values()):
            if run.has_pending:
                self.spawn(self._look_at(run))

    async def _look_at(self, run: Run) -> None:
        """Bring it what was decided elsewhere. An answer to a server is forgotten once it is here."""
        execution_id = run.execution.id
        with suppress(StorageError):
            found = await self._database.read(lambda c: interactions.of_execution(c, execution_id))
            for one in found:
                if one.kind == "elicitation" and one.status != "pending" and run.has_open(one.id):
                    run.wake(one)
                    await self._database.write(lambda c, key=one.id: interactions.forget_result(c, key))  # type: ignore[misc]
            if any(one.kind != "elicitation" and one.status != "pending" and not one.used for one in found):
                run.wake()

    async def _tend_forever(self) -> None:
        while True:
            await asyncio.sleep(TEND_SECONDS)
            try:
                await self._tend()
            except StorageError as error:
                logger.error("can't look after executions: %s", error.message)

    async def _tend(self) -> None:
        if not self._processes.is_alive:
            return
        while await self._database.read(segments.has_lost):
            if not await self._database.write(takeover.take_over):
                break
        await self._compare()
        self._look_at_all()

    async def _compare(self) -> None:
        """Drop runs that are no longer this process's, and leave to others what it owns without a run: it has claimed
        them, but the answer to that was lost. Each is looked at twice, since either may have begun just now."""
        owner = self._processes.id
        before, self._present = self._present, set(self.runs)
        owned = await self._database.read(lambda c: segments.list_owned(c, owner))
        for execution_id in before - owned:
            run = self.runs.get(execution_id)
            if run is not None and not run.done.is_set() and not run.execution.is_final:
                run.abort()
        orphans, self._orphans = self._orphans, owned - set(self.runs)
        for execution_id in orphans & self._orphans:
            await self._database.write(partial(takeover.release_orphan, owner=owner, execution_id=execution_id))
