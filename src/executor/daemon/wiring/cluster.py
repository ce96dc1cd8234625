"""What is wired differently where several processes share a PostgreSQL database. SQLite imports nothing of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from executor.daemon.role import Role, executes
from executor.settings import Settings
from executor.storage.database import Database

if TYPE_CHECKING:
    from executor.catalog.catalog import Catalog
    from executor.execution.calls.pipeline import CallPipeline
    from executor.execution.cluster_dispatch import ClusterDispatch
    from executor.execution.engine import Engine
    from executor.execution.typecheck import Checks, Ruling, Typecheck
    from executor.execution.use_limits import LimitsInForce
    from executor.model.execution import Execution
    from executor.runtime.registry import Runtimes
    from executor.sources.lifecycle.shared_commands import SharedCommands
    from executor.storage.feed import Feed


async def join(settings: Settings, role: Role, database: Database) -> bool:
    """True if no other process shares the database now."""
    if database.processes is None:
        return True
    await database.processes.join(role, settings.lock_file, settings.lease_seconds)
    return await asyncio.to_thread(database.processes.is_alone)


async def leave(database: Database) -> None:
    if database.processes is not None:
        await database.processes.leave()


def dispatch_of(
    settings: Settings,
    role: Role,
    database: Database,
    pipeline: CallPipeline,
    runtimes: Runtimes,
    limits: LimitsInForce,
) -> ClusterDispatch:
    from executor.execution.cluster_dispatch import ClusterDispatch

    assert database.processes is not None  # noqa: S101 - asked before
    return ClusterDispatch(
        database,
        pipeline,
        runtimes,
        settings.approval_ttl_seconds * 1000,
        settings.inline_bytes,
        processes=database.processes,
        executes=executes(settings, role),
        drain_seconds=settings.drain_seconds,
        limits=limits,
    )


def shared_commands(settings: Settings, role: Role, database: Database) -> SharedCommands:
    """Processes that serve only, or run only, have others even before those are started."""
    from executor.sources.lifecycle.shared_commands import SharedCommands
    from executor.storage.executions.segments import has_others

    processes = database.processes
    assert processes is not None  # noqa: S101 - asked before

    async def is_shared() -> bool:
        return role != "up" or await database.read(lambda c: has_others(c, processes.id))

    return SharedCommands(is_shared, settings.cluster_commands == "allow")


def connect(dispatch: ClusterDispatch, feed: Feed, catalog: Catalog, engine: Engine, checks: Checks) -> None:
    def begin_check(execution: Execution) -> asyncio.Task[Ruling] | None:
        return checks.begin(execution, cast("Typecheck | None", execution.typecheck or None))

    dispatch.begin_check = begin_check
    feed.listen(catalog.hear, catalog.forget_all)
    feed.listen(engine.hear)
