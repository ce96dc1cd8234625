"""Everything wired together: one Executor per data directory, in the daemon or embedded in a program."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from executor.catalog.catalog import Catalog
from executor.checking.checker import Checker
from executor.connections.connections import Connections
from executor.daemon import data_files, declared, installation, lock
from executor.daemon.demo_host import DemoHost
from executor.daemon.wiring import secrets
from executor.daemon.wiring.issuers import Issuers
from executor.daemon.wiring.oauth import LateGrants, on_connected, reseal
from executor.daemon.wiring.runtimes import Sandboxes
from executor.errors import StorageError
from executor.execution.approvals.pending_limits import ApprovalLimits, OpenApprovals
from executor.execution.approvals.permits import Permits
from executor.execution.artifacts.files import FileStore, remove_left_over
from executor.execution.builtins.tools import BUILTINS
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.configuration.application import Configuration
from executor.execution.dispatch import LocalDispatch
from executor.execution.engine import Engine
from executor.execution.outcome import Outcome
from executor.execution.policies.cache import PolicyCache
from executor.execution.quotas import Allowance, Quotas
from executor.execution.typecheck import CheckerTools, Checks
from executor.identity.anonymous import Anonymous
from executor.identity.authentication import Authenticator
from executor.model.execution import Limits
from executor.model.ids import continue_after, now_ms
from executor.network.client import Egress
from executor.runtime.worker.memory import free_memory
from executor.settings import Settings
from executor.sources.registry import Kinds
from executor.storage import integrity, migrate, statistics
from executor.storage.database import Database
from executor.storage.executions import events, executions
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.location import sqlite_path

if TYPE_CHECKING:
    from executor.connections.oauth.logins import Logins

Progress = Callable[[str], None]
logger = logging.getLogger(__name__)
WARM_SECONDS = 1.0
CHECKER_SECONDS = 2.0
EXAMINE_SECONDS = 5.0
STATISTICS_SECONDS = 3600.0
CHECKER_ROOM = 512 * 1024 * 1024


def silent(text: str) -> None:
    """Progress that no one watches."""


class Executor:
    """Open with `await Executor.open(settings)`; the caller holds the data directory's lock for as long."""

    def __init__(self, settings: Settings, database: Database, tenancy: Tenancy, sandboxes: Sandboxes) -> None:
        self.settings = settings
        self.database = database
        self.tenancy = tenancy
        self.started_at = now_ms()
        self._tasks: list[asyncio.Task[None]] = []
        self.feed = Feed(database)
        self.authenticator = Authenticator(database, tenancy, anonymous=settings.admits_anonymous)
        self.anonymous = Anonymous(database, admitted=settings.admits_anonymous)
        self.policies = PolicyCache(database, self.feed)
        self.egress = Egress(allow_private=settings.allow_private_hosts)
        self.issuers = Issuers(settings, database, tenancy, self.egress)
        if self.issuers.bearers is not None:
            self.authenticator.verify = self.issuers.bearers.verify
        self.secrets = secrets.secrets_of(settings, database)
        self.secrets.others.append(reseal)
        self.connections = Connections(database, self.secrets, self.feed, LateGrants(lambda: self.logins))
        self.catalog = Catalog(
            database,
            Kinds(self.egress, settings.state_dir, mcp_seconds=(settings.mcp_call_seconds, settings.mcp_total_seconds)),
            search_folder=settings.state_dir / "search",
            connections=self.connections,
        )
        self.hosting = DemoHost(database, self.catalog, self.feed)
        open_approvals = OpenApprovals(
            database, self.feed, ApprovalLimits(settings.approval_limit_execution, settings.approval_limit_actor)
        )
        permits = Permits(database, self.feed)
        self.pipeline = CallPipeline(
            self.catalog,
            self.policies,
            permits,
            open_approvals,
            self.connections,
            database=database,
            lost_answers=settings.lost_answers,
            retry_seconds=settings.retry_seconds,
            files=FileStore(database, None if settings.database_url else settings.data_dir, settings.file_bytes),
        )
        self.runtime = sandboxes.runtime
        self.runtimes = sandboxes.runtimes
        self.remote_runs = sandboxes.remote_runs
        self.limits = Limits(**asdict(settings.limits))
        ttl_ms = settings.approval_ttl_seconds * 1000
        dispatch = LocalDispatch(database, self.pipeline, self.runtimes, ttl_ms, settings.inline_bytes)
        self.checker = Checker(self.catalog, CheckerTools(self.pipeline, self.catalog), tuple(BUILTINS.values()))
        self.feed.listen(self.checker.on_event)
        checks = Checks(self.checker, typecheck=settings.typecheck, unavailable=settings.typecheck_unavailable)
        self.engine = Engine(
            database,
            dispatch,
            limits=self.limits,
            max_code_bytes=settings.max_code_bytes,
            checks=checks,
            quotas=Quotas(database, self.feed, allowance_of(settings)),
        )
        self.configuration = Configuration(database, self.catalog, self.connections, self.engine, tenancy)

    @cached_property
    def logins(self) -> Logins:
        from executor.connections.oauth.logins import Logins

        made = Logins(self.database, self.secrets, self.egress, self.settings.address)
        made.on_connected.append(on_connected(self.engine, self.catalog))
        return made

    @classmethod
    async def open(
        cls, settings: Settings, *, progress: Progress = silent, sandboxes: Sandboxes | None = None
    ) -> Executor:
        """`sandboxes` that are under way already are taken over, and closed if anything fails."""
        sandboxes = sandboxes or Sandboxes(settings)
        try:
            return await cls._open(settings, progress, sandboxes)
        except BaseException:
            await sandboxes.close()
            raise

    @classmethod
    async def _open(cls, settings: Settings, progress: Progress, sandboxes: Sandboxes) -> Executor:
        path = sqlite_path(settings.database_url, settings.data_dir)
        progress("opening the database")
        await asyncio.to_thread(installation.check, settings)
        database = Database(await asyncio.to_thread(migrate.ready, path))
        try:
            for found in await database.read(executions.newest_ids):
                continue_after(found)
            executor = cls(settings, database, await database.write(tenancy.provision), sandboxes)
            await executor.secrets.finish_rotation()
            await executor.connections.statics.migrate()
            await executor.hosting.start()
            progress("starting the sandboxes")
            await sandboxes.ready()
            await executor._note("daemon.started", await executor.engine.start())
            await asyncio.to_thread(installation.write, settings)
            executor._tasks = [
                asyncio.create_task(executor._warm()),
                asyncio.create_task(installation.keep(settings)),
                asyncio.create_task(executor._examine(path)),
                asyncio.create_task(executor._refresh_statistics()),
                asyncio.create_task(executor._remove_left_over()),
            ]
            if declared.is_given(settings):
                applying = declared.apply_at_start(executor.configuration, settings, executor.tenancy)
                executor._tasks.append(asyncio.create_task(applying))
            executor.catalog.lifecycle.start(settings.refresh_seconds)
        except BaseException:
            await database.close()
            raise
        return executor

    @classmethod
    @asynccontextmanager
    async def embedded(cls, settings: Settings | None = None) -> AsyncIterator[Executor]:
        """The whole product in this process, without a daemon. It needs the data directory for itself."""
        settings = settings or Settings.load()
        await asyncio.to_thread(data_files.prepare, settings)
        with lock.acquire(settings.lock_file):
            executor = await cls.open(settings)
            try:
                yield executor
            finally:
                await executor.close()

    async def run(
        self, code: str, *, language: str | None = None, runtime: str | None = None, seconds: float = 60
    ) -> Outcome:
        """Run code as the local agent, until it ends or pauses, at most for `seconds`."""
        return await self.engine.run(self.tenancy.agent, code, language=language, runtime=runtime, seconds=seconds)

    async def _warm(self) -> None:
        """The HTTP library is imported once the daemon answers, so that neither the start nor the first call waits."""
        await asyncio.sleep(WARM_SECONDS)
        await self.egress.warm()
        await self.catalog.warm()
        await self._warm_checker()

    async def _warm_checker(self) -> None:
        """Only where there is something to check against, and room for one more process."""
        await asyncio.sleep(CHECKER_SECONDS)
        workspace_id = self.tenancy.workspace.id
        wanted = self.settings.typecheck != "off" and free_memory() > CHECKER_ROOM
        if wanted and await self.catalog.page(workspace_id, limit=1):
            await self.checker.warm(workspace_id)

    async def _examine(self, path: Path) -> None:
        """What the start did not look at: every page of a large database, once, behind everything else."""
        await asyncio.sleep(EXAMINE_SECONDS)
        if found := await integrity.in_background(path):
            logger.error("the database is damaged: %s", found)
            self.database.damage = integrity.damage_error(found, path)

    async def _remove_left_over(self) -> None:
        await asyncio.sleep(WARM_SECONDS)
        with suppress(StorageError):
            await remove_left_over(self.database, self.started_at)

    async def _refresh_statistics(self) -> None:
        await asyncio.sleep(EXAMINE_SECONDS)
        while True:
            with suppress(StorageError):
                await self.database.write(statistics.refresh)
            await asyncio.sleep(STATISTICS_SECONDS)

    async def close(self) -> None:
        """Park running work, then let go of sandboxes, connections and the database, in this order, whatever fails."""
        for task in self._tasks:
            task.cancel()
        async with AsyncExitStack() as last_first:
            last_first.push_async_callback(self._close_database)
            last_first.push_async_callback(self.egress.close)
            last_first.push_async_callback(self.catalog.close)
            if "logins" in self.__dict__:
                last_first.push_async_callback(self.logins.grants.close)
            last_first.push_async_callback(self.checker.close)
            last_first.push_async_callback(self.runtimes.close)
            last_first.callback(self.feed.close)
            last_first.push_async_callback(self.hosting.close)
            last_first.push_async_callback(self.engine.close)

    async def _close_database(self) -> None:
        with suppress(StorageError):  # what it stopped for may be that the database can't be written
            await self._note("daemon.stopped", 0)
        await self.database.close()
        if self.database.damage is None:
            await asyncio.to_thread(installation.write, self.settings)

    async def _note(self, what: str, taken_up: int) -> None:
        workspace_id = self.tenancy.workspace.id
        await self.database.write(lambda c: events.append(c, workspace_id, what, {"takenUp": taken_up}))


def allowance_of(settings: Settings) -> Allowance:
    return Allowance(
        executions=settings.anonymous_executions,
        bytes=settings.anonymous_bytes,
        bytes_of_all=settings.anonymous_bytes_all,
    )
