"""Local dispatch: every run is a task of this process. The data directory's lock makes it the only process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from sqlalchemy.engine import Connection

from executor.errors import Busy, ExecutorError, Fenced, StorageError, UnknownRuntime
from executor.execution import failures
from executor.execution.checks import Ruling
from executor.execution.door import Door
from executor.execution.journal import INLINE_BYTES, Journal
from executor.execution.places import Places
from executor.execution.run import Run
from executor.model.execution import Execution, Failure
from executor.model.fairness import CURRENT, Party
from executor.model.ids import new_id
from executor.runtime.runtimes import Runtimes
from executor.storage import events, executions
from executor.storage.database import Database

LIVE_RUNS = 20_000
RETRY_SECONDS = 2.0
CLOSE_SECONDS = 5.0

logger = logging.getLogger(__name__)


class LocalDispatch:
    """`runs` are the executions that hold memory here; parked ones are rows only."""

    def __init__(
        self, database: Database, door: Door, runtimes: Runtimes, ttl_ms: int, inline_bytes: int = INLINE_BYTES
    ) -> None:
        self._database = database
        self._door = door
        self.runtimes = runtimes
        self._ttl_ms = ttl_ms
        self._inline_bytes = inline_bytes
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self.runs: dict[str, Run] = {}
        self._places = Places(self.runs)

    def begin(self, execution: Execution, check: asyncio.Task[Ruling] | None = None) -> tuple[Run, Journal]:
        """A fresh execution runs at once, while its first write is on its way."""
        if len(self.runs) >= LIVE_RUNS:
            raise Busy(f"{LIVE_RUNS} executions are running already", hint="try again in a moment")
        journal = Journal(self._database, execution, self._inline_bytes)
        journal.create()
        return self._launch(execution, journal, fresh=True, check=check), journal

    def resume(self, execution: Execution) -> None:
        """Run a claimed execution from its journal. When closing, the next start claims it again."""
        if self._closing:
            return
        try:
            self._launch(execution, Journal(self._database, execution, self._inline_bytes), fresh=False)
        except UnknownRuntime as error:
            self.spawn(self._give_up(execution, Failure(error.code, error.message, error.hint)))

    async def take_over(self, execution_id: str) -> None:
        """Claim what an earlier owner left behind, under a new epoch."""

        def job(c: Connection) -> Execution | None:
            claimed = executions.claim(c, execution_id)
            if claimed is not None:
                events.append(c, claimed.workspace_id, "execution.recovered", {"epoch": claimed.epoch}, execution_id)
            return claimed

        try:
            execution = None if self._closing else await self._database.write(job)
        except StorageError as error:
            logger.error("can't take over: %s", error.message, extra={"execution": execution_id})
            self.spawn(self._retry(execution_id))
            return
        if execution is not None:
            self.resume(execution)

    async def close(self) -> None:
        """What was sent is answered or left to the journal; the rest starts again next time."""
        self._closing = True
        live = list(self.runs.values())
        for run in live:
            run.stop()
        waiting = [asyncio.ensure_future(run.done.wait()) for run in live]
        if waiting:
            await asyncio.wait(waiting, timeout=CLOSE_SECONDS)
        for task in [*self._tasks, *waiting]:
            task.cancel()
        await asyncio.gather(*self._tasks, *waiting, return_exceptions=True)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _launch(
        self, execution: Execution, journal: Journal, *, fresh: bool, check: asyncio.Task[Ruling] | None = None
    ) -> Run:
        opener = self._places.opener(self.runtimes.named(execution.runtime))
        run = Run(
            execution, fresh=fresh, journal=journal, door=self._door, opener=opener, ttl_ms=self._ttl_ms, check=check
        )
        self.runs[execution.id] = run
        run.task = self.spawn(self._supervise(run))
        return run

    async def _supervise(self, run: Run) -> None:
        """The edge of a run: whatever goes wrong in it ends that execution alone, or is tried again."""
        execution = run.execution
        CURRENT.set(Party(execution.actor_id, execution.id))
        try:
            await run.drive()
        except StorageError as error:
            logger.error("the journal can't be written: %s", error.message, extra={"execution": execution.id})
            self.spawn(self._retry(execution.id))
        except ExecutorError as error:
            await self._give_up(execution, Failure(error.code, error.message, error.hint), run.journal)
        except Exception as error:
            incident = new_id("err")
            logger.error("run failed", exc_info=error, extra={"incident": incident, "execution": execution.id})
            await self._give_up(execution, failures.internal(incident), run.journal)
        finally:
            if self.runs.get(execution.id) is run:
                del self.runs[execution.id]
            run.done.set()

    async def _give_up(self, execution: Execution, failure: Failure, journal: Journal | None = None) -> None:
        """With the run's own journal where there is one: what it has not written yet comes first."""
        journal = journal or Journal(self._database, execution)
        journal.close_open_calls()
        try:
            await journal.finish("failed", None, failure, execution.wall_ms)
        except (Fenced, StorageError) as error:
            logger.error("can't record the failure: %s", error.message, extra={"execution": execution.id})

    async def _retry(self, execution_id: str) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        await self.take_over(execution_id)
