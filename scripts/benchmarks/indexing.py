"""Reads, stores and indexes one document in this process, as the daemon does it, and prints what that took.

A process of its own, because the peak of its memory is part of the answer. While it works, a heart beats on the event
loop and small writes go to the database: a running execution would feel what they feel.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import executor.network.transport  # noqa: F401 - loaded once in the life of a daemon, not for a document
from benchmarks import catalogs
from executor.catalog.catalog import Catalog
from executor.daemon.main import GARBAGE
from executor.model.source import Source
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.database import Database
from executor.storage.executions import events

BEAT_SECONDS = 0.005
STATUS = Path("/proc/self/status")


@dataclass
class Indexed:
    """Seconds and megabytes. `child_mb` is the peak of the largest process that was started and ended."""

    tools: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    child_mb: float = 0.0
    growth_mb: float = 0.0
    search_wall: float = 0.0
    search_cpu: float = 0.0
    search_growth_mb: float = 0.0
    again_cpu: float = 0.0
    beats: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)


def cpu_seconds() -> float:
    """Of this process and of everything it started and waited for."""
    spent = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


def peak_mb() -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


async def beat(late: list[float]) -> None:
    while True:
        start = time.perf_counter()
        await asyncio.sleep(BEAT_SECONDS)
        late.append(time.perf_counter() - start - BEAT_SECONDS)


async def write_often(database: Database, workspace_id: str, took: list[float]) -> None:
    while True:
        await asyncio.sleep(BEAT_SECONDS * 4)
        start = time.perf_counter()
        await database.write(lambda c: events.append(c, workspace_id, "benchmark", {}))
        took.append(time.perf_counter() - start)


async def watched(work: Callable[[], Awaitable[Source]], database: Database, workspace_id: str, into: Indexed) -> None:
    """Watching costs CPU itself, so CPU is measured without it."""
    watchers = [
        asyncio.ensure_future(beat(into.beats)),
        asyncio.ensure_future(write_often(database, workspace_id, into.writes)),
    ]
    try:
        into.tools = (await work()).tool_count
    finally:
        for watcher in watchers:
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)


async def index(location: str, folder: Path, *, watch: bool) -> Indexed:
    async with catalogs.opened(folder) as (catalog, database, workspace_id):
        return await measured(catalog, database, workspace_id, location, watch=watch)


async def measured(catalog: Catalog, database: Database, workspace_id: str, location: str, *, watch: bool) -> Indexed:
    found = Indexed()

    async def add() -> Source:
        request = SourceRequest(
            kind="openapi", location=location, namespace="api", consented=Consent(private_network=True)
        )
        return await catalog.add_source(workspace_id, request)

    forget_peak()
    before, spent, start = peak_mb(), cpu_seconds(), time.perf_counter()
    if watch:
        await watched(add, database, workspace_id, found)
    else:
        found.tools = (await add()).tool_count
    found.wall, found.cpu = time.perf_counter() - start, cpu_seconds() - spent
    found.child_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    found.growth_mb = peak_mb() - before
    spent, start = cpu_seconds(), time.perf_counter()
    await catalog.search(workspace_id, "create an issue", limit=10, depth=0)
    found.search_wall, found.search_cpu = time.perf_counter() - start, cpu_seconds() - spent
    found.search_growth_mb = peak_mb() - before
    spent = cpu_seconds()
    await catalog.lifecycle.refresh(workspace_id, "api")
    found.again_cpu = cpu_seconds() - spent
    return found


def main() -> None:
    location, watch = sys.argv[1], sys.argv[2:] == ["watch"]
    gc.freeze()  # as the daemon does once it is ready
    gc.set_threshold(GARBAGE)
    with tempfile.TemporaryDirectory(prefix="executor-index-", dir=os.environ.get("TMPDIR")) as folder:
        print(json.dumps(asdict(asyncio.run(index(location, Path(folder), watch=watch)))))


if __name__ == "__main__":
    main()
