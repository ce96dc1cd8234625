"""Everything wired together: one Executor per data directory, in the daemon or embedded in a program."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection

from executor.catalog.catalog import Catalog
from executor.connections.connections import Connections
from executor.daemon import data_files, declared, installation, lock
from executor.daemon.demo_host import DemoHost
from executor.daemon.role import Role
from executor.daemon.wiring import cluster, secrets
from executor.daemon.wiring.artifacts import contents_of, maintain_objects
from executor.daemon.wiring.oauth import LateGrants, on_connected, reseal
from executor.daemon.wiring.runtimes import Sandboxes
from executor.daemon.wiring.telemetry import open_telemetry
from executor.errors import NotFound, StorageError
from executor.execution import start_recovery
from executor.execution.approvals.pending_limits import ApprovalLimits, OpenApprovals
from executor.execution.approvals.permits import Permits
from executor.execution.artifacts.files import FileStore
from executor.execution.builtins.tools import BUILTINS
from executor.execution.calls.guards import Guards
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.calls.revocations import Revocations
from executor.execution.dispatch import LocalDispatch
from executor.execution.engine import Engine
from executor.execution.policies.cache import PolicyCache
from executor.execution.quotas import Allowance, Quotas
from executor.execution.typecheck import CheckerTools, Checks
from executor.execution.use_limits import LimitsInForce
from executor.identity.anonymous import Anonymous
from executor.identity.authentication import Authenticator
from executor.model.execution import Limits
from executor.model.ids import continue_after, now_ms
from executor.model.use_limits import Bounds, UseLimits
from executor.network.client import Egress
from executor.secrets.sealing import Sealing
from executor.settings import Settings
from executor.sources.registry import Kinds
from executor.storage import integrity, statistics, wal_reserve
from executor.storage.database import Database
from executor.storage.executions import events, executions
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from executor.storage.identity.tenancy import Tenancy
from executor.storage.location import SqliteFile
from executor.storage.sessions import sessions as agent_sessions
from executor.storage.start_log import StartLog
from executor.storage.webhooks import webhooks as webhook_rows

if TYPE_CHECKING:
    from executor.checking.checker import Checker
    from executor.connections.oauth.logins import Logins
    from executor.daemon.wiring.issuers import Issuers
    from executor.daemon.wiring.session_proxies import SessionProxies
    from executor.execution.cluster_dispatch import ClusterDispatch
    from executor.execution.configuration.application import Configuration
    from executor.execution.toolkits.exposure import Exposures
    from executor.execution.toolkits.toolkits import Toolkits
    from executor.sessions.model_proxy.provider_keys import ProviderKeys
    from executor.sessions.sessions import Sessions
    from executor.telemetry.otel.exporter import Exporter
    from executor.webhooks.webhooks import Webhooks

Progress = Callable[[str], None]
OpenMcp = Callable[[], Awaitable[Path]]
logger = logging.getLogger(__name__)
WARM_SECONDS = 1.0
EXAMINE_SECONDS = 5.0
STATISTICS_SECONDS = 3600.0
DAY_MS = 86_400_000
LAPSE_SECONDS = 60.0


def silent(text: str) -> None:
    """Progress that no one watches."""


class Executor:
    """Open with `await Executor.open(settings)`; the caller holds the data directory's lock for as long."""

    def __init__(
        self, settings: Settings, database: Database, tenancy: Tenancy, sandboxes: Sandboxes, role: Role = "up"
    ) -> None:
        self.settings = settings
        self.role = role
        self.database = database
        self.tenancy = tenancy
        self.started_at = now_ms()
        self.open_mcp: OpenMcp | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.feed = Feed(database)
        self.authenticator = Authenticator(
            database, tenancy, anonymous=settings.admits_anonymous, anonymous_sources=settings.anonymous_sources > 0
        )
        self.anonymous = Anonymous(database, admitted=settings.admits_anonymous)
        self.policies = PolicyCache(database, self.feed)
        self.egress = Egress(allow_private=settings.allow_private_hosts)
        if (settings.mcp_issuer or settings.oidc_issuer) and self.issuers.bearers is not None:
            self.authenticator.verify = self.issuers.bearers.verify
        self.secrets = secrets.secrets_of(settings, database)
        self.secrets.others += (reseal, reseal_webhooks)
        self.connections = Connections(database, self.secrets, self.feed, LateGrants(lambda: self.logins))
        self.catalog = Catalog(
            database,
            Kinds(
                self.egress,
                settings.state_dir,
                mcp_seconds=(settings.mcp_call_seconds, settings.mcp_total_seconds),
                mcp_review=settings.mcp_review,
            ),
            search_folder=settings.state_dir / "search",
            connections=self.connections,
        )
        self.hosting = DemoHost(database, self.catalog, self.feed)
        open_approvals = OpenApprovals(
            database, self.feed, ApprovalLimits(settings.approval_limit_execution, settings.approval_limit_actor)
        )
        permits = Permits(database, self.feed)
        self.contents = contents_of(settings, database)
        self.pipeline = CallPipeline(
            self.catalog,
            self.policies,
            permits,
            Revocations(database, self.feed),
            open_approvals,
            self.connections,
            database=database,
            lost_answers=settings.lost_answers,
            retry_seconds=settings.retry_seconds,
            files=FileStore(self.contents, None if settings.database_url else settings.data_dir, settings.file_bytes),
            strangers=allowance_of(settings),
            guards=Guards(database, self.feed) if database.processes is not None else None,
        )
        self.runtime = sandboxes.runtime
        self.runtimes = sandboxes.runtimes
        self.remote_runs = sandboxes.remote_runs
        self.limits = Limits(**asdict(settings.limits))
        self.use_limits = LimitsInForce(database, self.feed, default_bounds(settings))
        ttl_ms = settings.approval_ttl_seconds * 1000
        self._cluster: ClusterDispatch | None = None
        if database.processes is not None:
            self._cluster = cluster.dispatch_of(settings, role, database, self.pipeline, self.runtimes, self.use_limits)
        dispatch = self._cluster or LocalDispatch(
            database, self.pipeline, self.runtimes, ttl_ms, settings.inline_bytes, limits=self.use_limits
        )
        checks = Checks(lambda: self.checker, typecheck=settings.typecheck, unavailable=settings.typecheck_unavailable)
        self.engine = Engine(
            database,
            dispatch,
            limits=self.limits,
            max_code_bytes=settings.max_code_bytes,
            checks=checks,
            quotas=Quotas(database, self.feed, allowance_of(settings)),
            contents=self.contents,
        )
        if self._cluster is not None:
            cluster.connect(self._cluster, self.feed, self.catalog, self.engine, checks)
            self.catalog.lifecycle.shared_commands = cluster.shared_commands(settings, role, database)
        self.exporter: Exporter | None = None
        self.anonymous.abandon = self._abandon

    @property
    def is_ready(self) -> bool:
        """Whether it can use its database, as far as it knows."""
        processes = self.database.processes
        return self.database.damage is None and (processes is None or processes.is_alive)

    @cached_property
    def issuers(self) -> Issuers:
        from executor.daemon.wiring.issuers import Issuers

        return Issuers(self.settings, self.database, self.tenancy, self.egress)

    @cached_property
    def checker(self) -> Checker:
        from executor.checking.checker import SETTLED_SECONDS, Checker

        made = Checker(self.catalog, CheckerTools(self.pipeline, self.catalog), tuple(BUILTINS.values()))
        self.feed.listen(made.on_event, made.forget)
        asyncio.get_running_loop().call_later(SETTLED_SECONDS, made.forget)  # what it did not hear of just before
        return made

    @cached_property
    def configuration(self) -> Configuration:
        from executor.execution.configuration.application import Configuration

        return Configuration(self.database, self.catalog, self.connections, self.engine, self.tenancy)

    @cached_property
    def logins(self) -> Logins:
        from executor.connections.oauth.logins import Logins

        made = Logins(self.database, self.secrets, self.egress, self.settings.address)
        made.on_connected.append(on_connected(self.engine, self.catalog))
        return made

    @cached_property
    def model_keys(self) -> ProviderKeys:
        from executor.daemon.wiring.provider_keys import provider_keys_of

        return provider_keys_of(self.settings, self.database, self.secrets)

    @cached_property
    def session_proxies(self) -> SessionProxies:
        from executor.daemon.wiring.session_proxies import SessionProxies

        return SessionProxies(self.settings, self.database, self.model_keys)

    @cached_property
    def sessions(self) -> Sessions:
        from executor.daemon.wiring.sessions import sessions_of

        return sessions_of(self)

    @cached_property
    def toolkits(self) -> Toolkits:
        from executor.execution.toolkits.toolkits import Toolkits

        return Toolkits(self.database, self.engine)

    @cached_property
    def exposures(self) -> Exposures:
        from executor.execution.toolkits.exposure import Exposures

        return Exposures(self.database, self.policies, self.feed)

    @cached_property
    def webhooks(self) -> Webhooks:
        """With connections of its own: a slow endpoint takes none from calls."""
        from executor.webhooks.webhooks import Webhooks

        egress = Egress(allow_private=self.settings.allow_private_hosts)
        return Webhooks(self.database, self.feed, self.secrets.sealing, egress, lambda: self.settings.address)

    @classmethod
    async def open(
        cls,
        settings: Settings,
        *,
        progress: Progress = silent,
        sandboxes: Sandboxes | None = None,
        open_mcp: OpenMcp | None = None,
        role: Role = "up",
    ) -> Executor:
        """`sandboxes` that are under way already are taken over, and closed if anything fails. `open_mcp` is where
        agents in a sandbox reach `/mcp`; without it they don't."""
        sandboxes = sandboxes or Sandboxes(settings)
        try:
            return await cls._open(settings, progress, sandboxes, open_mcp, role)
        except BaseException:
            await sandboxes.close()
            raise

    @classmethod
    async def _open(
        cls, settings: Settings, progress: Progress, sandboxes: Sandboxes, open_mcp: OpenMcp | None, role: Role
    ) -> Executor:
        location = installation.database_of(settings)
        progress("opening the database")
        await asyncio.to_thread(installation.check, settings)
        database = await location.open()
        exporter: Exporter | None = None
        try:
            for found in await database.read(executions.newest_ids):
                continue_after(found)
            alone = await cluster.join(settings, role, database)
            executor = cls(settings, database, await database.write(tenancy.provision), sandboxes, role)
            executor.open_mcp = open_mcp
            await executor.feed.join()
            await executor.use_limits.load()
            executor.exporter = exporter = await open_telemetry(settings)
            await executor.secrets.finish_rotation()
            await executor.connections.statics.migrate()
            if alone:
                await executor.hosting.start()
            progress("starting the sandboxes")
            await sandboxes.ready()
            if isinstance(location, SqliteFile):
                await start_recovery.recover(database, location.start_log)
            await executor._note("daemon.started", await executor.engine.start())
            if executor._cluster is not None:
                executor._cluster.start(executor.feed)
            if alone and len(await database.read(agent_sessions.list_unfinished)):
                await executor.sessions.recover()
            if await database.read(webhook_rows.everywhere):
                await executor.webhooks.start()
            await asyncio.to_thread(installation.write, settings)
            executor._tasks = [
                asyncio.create_task(executor._warm()),
                asyncio.create_task(installation.keep(settings)),
                asyncio.create_task(executor._refresh_statistics()),
                asyncio.create_task(executor._remove_left_over()),
                asyncio.create_task(executor._remove_idle_clones()),
                asyncio.create_task(executor._end_lapsed()),
            ]
            if executor.contents.store is not None:
                executor._tasks.append(asyncio.create_task(maintain_objects(executor.contents)))
            if isinstance(location, SqliteFile):
                executor._tasks.append(asyncio.create_task(executor._examine(location.path)))
                executor._tasks.append(asyncio.create_task(executor._make_logs(location)))
            if declared.is_given(settings) and role != "worker":
                applying = declared.apply_at_start(executor.configuration, settings, executor.tenancy)
                executor._tasks.append(asyncio.create_task(applying))
            if executor.exporter is not None:
                from executor.daemon.metrics import gather

                executor.exporter.begin(partial(gather, executor))
        except BaseException:
            if exporter is not None:
                await exporter.close()
            await cluster.leave(database)
            await database.close()
            raise
        return executor

    @classmethod
    @asynccontextmanager
    async def open_alone(cls, settings: Settings) -> AsyncIterator[Executor]:
        """Without a daemon, in a process that needs the data directory for itself."""
        await asyncio.to_thread(data_files.prepare, settings)
        with lock.acquire(settings.lock_file):
            executor = await cls.open(settings)
            try:
                yield executor
            finally:
                await executor.close()

    async def _warm(self) -> None:
        """The HTTP library and the checker are imported once the daemon answers, so that neither the start nor the
        first call waits. Without a source there is no call, and they are not imported at all."""
        await asyncio.sleep(WARM_SECONDS)
        self.catalog.lifecycle.start(self.settings.refresh_seconds)
        if await self.catalog.warm():
            await self.egress.warm()
            await asyncio.to_thread(importlib.import_module, "executor.checking.checker")

    async def _examine(self, path: Path) -> None:
        """What the start did not look at: every page of a large database, once, behind everything else."""
        await asyncio.sleep(EXAMINE_SECONDS)
        if found := await integrity.in_background(path):
            logger.error("the database is damaged: %s", found)
            self.database.damage = integrity.damage_error(found, path)

    async def _make_logs(self, location: SqliteFile) -> None:
        """What makes writes faster. They work without, and so does a start."""
        await asyncio.sleep(WARM_SECONDS)
        with suppress(StorageError):
            await wal_reserve.reserve(self.database, location.path)
        try:
            self.database.start_log = await asyncio.to_thread(StartLog, location.start_log)
        except OSError as error:
            logger.warning("there is no start log: %s", error)

    async def _remove_left_over(self) -> None:
        await asyncio.sleep(WARM_SECONDS)
        with suppress(StorageError):
            others = DAY_MS if self.database.processes is not None else 0  # may be writing files that began earlier
            await self.contents.remove_left_over(self.started_at - others)

    async def _remove_idle_clones(self) -> None:
        """Of sessions. Nothing is imported for it unless there is one."""
        await asyncio.sleep(EXAMINE_SECONDS)
        days = self.settings.session_clone_days
        while days:
            with suppress(StorageError):
                if await self.database.read(lambda c: agent_sessions.list_idle_clones(c, now_ms() - days * DAY_MS)):
                    await self.sessions.remove_idle_clones()
            await asyncio.sleep(STATISTICS_SECONDS)

    async def _refresh_statistics(self) -> None:
        await asyncio.sleep(EXAMINE_SECONDS)
        while True:
            with suppress(StorageError):
                await self.database.write(statistics.refresh)
            await asyncio.sleep(STATISTICS_SECONDS)

    async def _abandon(self, workspace_id: str) -> None:
        await self.engine.abandon(workspace_id)
        for source in await self.catalog.sources(workspace_id):
            with suppress(NotFound):
                await self.catalog.lifecycle.remove(workspace_id, source.id)

    async def _end_lapsed(self) -> None:
        while True:
            await asyncio.sleep(LAPSE_SECONDS)
            if self.database.processes is not None and not self.database.processes.leads:
                continue
            with suppress(StorageError):
                await self.anonymous.lapse()

    async def close(self) -> None:
        """Park running work, then let go of sandboxes, connections and the database, in this order, whatever fails."""
        for task in self._tasks:
            task.cancel()
        async with AsyncExitStack() as last_first:
            if self.exporter is not None:
                last_first.push_async_callback(self.exporter.close)
            last_first.push_async_callback(self._close_database)
            if self.contents.store is not None:
                last_first.push_async_callback(self.contents.store.close)
            last_first.push_async_callback(self.egress.close)
            if "webhooks" in self.__dict__:
                last_first.push_async_callback(self.webhooks.close)
            last_first.push_async_callback(self.catalog.close)
            if "session_proxies" in self.__dict__:
                last_first.push_async_callback(self.session_proxies.close)
            if "logins" in self.__dict__:
                last_first.push_async_callback(self.logins.grants.close)
            if "checker" in self.__dict__:
                last_first.push_async_callback(self.checker.close)
            last_first.push_async_callback(self.runtimes.close)
            last_first.callback(self.feed.close)
            last_first.push_async_callback(self.hosting.close)
            last_first.push_async_callback(self.engine.close)
            if "sessions" in self.__dict__:
                last_first.push_async_callback(self.sessions.close)

    async def _close_database(self) -> None:
        with suppress(StorageError):  # what it stopped for may be that the database can't be written
            await self._note("daemon.stopped", 0)
        await self.feed.leave()
        await cluster.leave(self.database)
        await self.database.close()
        if self.database.damage is None:
            with suppress(StorageError):
                await asyncio.to_thread(installation.write, self.settings)

    async def _note(self, what: str, taken_up: int) -> None:
        workspace_id = self.tenancy.workspace.id
        await self.database.write(lambda c: events.append(c, workspace_id, what, {"takenUp": taken_up}))


def reseal_webhooks(c: Connection, sealing: Sealing) -> None:
    from executor.webhooks import credentials

    credentials.reseal(c, sealing)


def default_bounds(settings: Settings) -> Bounds:
    """For everyone for whom nothing else was chosen."""
    workspace = (settings.running_limit_workspace, settings.queued_limit_workspace, settings.minute_limit_workspace)
    actor = (settings.running_limit_actor, settings.queued_limit_actor, settings.minute_limit_actor)
    return Bounds(UseLimits(*workspace), UseLimits(*actor))


def allowance_of(settings: Settings) -> Allowance:
    return Allowance(
        executions=settings.anonymous_executions,
        sources=settings.anonymous_sources,
        bytes=settings.anonymous_bytes,
        bytes_of_all=settings.anonymous_bytes_all,
    )
