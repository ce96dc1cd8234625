"""What several processes cost each other when they journal calls: all in one workspace, or each in its own.

Those of one workspace meet at the head of its audit log; those of several meet only at the server's disk. The two take
turns, so that a busy machine slows both down alike. No sandbox runs and nothing is sent: only the journal is written,
on a server with `fsync`. `shareOfTime` says what the sessions of the processes waited for.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection as Pipe
from typing import Any

import psutil
import psycopg
from benchmarks.processes import cpu_seconds

from executor.execution.journal.journal import Journal
from executor.storage.database import Database
from executor.storage.executions import event_chain
from executor.storage.identity import tenancy, workspaces
from executor.storage.identity.tenancy import Tenancy
from executor.storage.postgres import lane
from executor.storage.postgres.server import PostgresServer
from tests.storage.test_contract import a_call, an_execution
from tests.support import postgres

PROCESSES = (1, 2, 4)
SHAPES = ("one", "many")
SAMPLE_SECONDS = 0.01
WAITS = (
    "SELECT coalesce(wait_event_type, 'CPU'), coalesce(wait_event, '') FROM pg_stat_activity"
    " WHERE application_name LIKE 'executor %' AND state = 'active'"
)
FLUSHES = "SELECT wal_sync FROM pg_stat_wal"
REPORT_SECONDS = 1.1
WARM_SECONDS = 0.5


@dataclass(frozen=True)
class Load:
    """Of each process: executions at once, of so many calls each."""

    seconds: float
    at_once: int
    calls: int


@dataclass
class Round:
    """Of one number of processes in one shape."""

    seconds: float = 0.0
    calls: int = 0
    process_seconds: float = 0.0
    server_seconds: float = 0.0
    flushes: int = 0
    commits: int = 0
    samples: int = 0
    waits: Counter[str] = field(default_factory=Counter)

    def report(self, processes: int) -> dict[str, Any]:
        sessions = self.samples * processes or 1
        return {
            "callsPerSecond": round(self.calls / self.seconds, 1),
            "processCpuMsPerCall": round(self.process_seconds * 1000 / self.calls, 3),
            "serverCpuMsPerCall": round(self.server_seconds * 1000 / self.calls, 3),
            "callsPerCommit": round(self.calls / max(1, self.commits), 2),
            "callsPerFlush": round(self.calls / max(1, self.flushes), 2),
            "shareOfTime": {name: round(count / sessions, 3) for name, count in self.waits.most_common(5)},
        }


def measure_journals(
    rounds: int, load: Load, *, commit_ms: float = 0.0, processes: Sequence[int] = PROCESSES
) -> dict[str, Any]:
    """`commit_ms` is what a commit takes longer, as with a distant synchronous standby. Commits share that time."""
    server = postgres.Server()
    try:
        server.stop()
        server.settings = ("max_connections=200", "listen_addresses=", "fsync=on")
        if commit_ms:
            server.settings += (f"commit_delay={int(commit_ms * 1000)}", "commit_siblings=0")
        server.start()
        url = server.url(server.create_migrated())
        with members(url, max(processes)) as pipes:
            places = asyncio.run(prepare(url, max(processes)))
            run(server, url, pipes, places, replace(load, seconds=WARM_SECONDS))
            found = {(count, shape): list[Round]() for count in processes for shape in SHAPES}
            for turn in range(rounds):
                for count in processes:
                    for shape in SHAPES[:: 1 if turn % 2 else -1]:
                        chosen = places[:1] * count if shape == "one" else places[:count]
                        found[count, shape].append(run(server, url, pipes[:count], chosen, load))
            problems = asyncio.run(verify(url, places))
    finally:
        server.remove()
    return {"load": psutil.getloadavg()[0], "problems": problems, "processes": summarize(found, processes)}


def summarize(found: dict[tuple[int, str], list[Round]], processes: Sequence[int]) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for count in processes:
        shapes = {shape: total(found[count, shape]).report(count) for shape in SHAPES}
        pairs = zip(found[count, "many"], found[count, "one"], strict=True)
        ratios = [(many.calls / many.seconds) / (one.calls / one.seconds) for many, one in pairs]
        report[str(count)] = {
            **shapes,
            "manyOverOne": {"median": round(statistics.median(ratios), 2), "all": [round(one, 2) for one in ratios]},
        }
    return report


def total(rounds: Sequence[Round]) -> Round:
    whole = Round()
    for one in rounds:
        for name, value in vars(one).items():
            setattr(whole, name, getattr(whole, name) + value)
    return whole


def run(server: postgres.Server, url: str, pipes: Sequence[Pipe], places: Sequence[Tenancy], load: Load) -> Round:
    assert server.process is not None
    found, root = Round(), server.process.pid
    with psycopg.connect(url, autocommit=True) as watcher:
        flushes, before, began = count_flushes(watcher), cpu_seconds(root), time.perf_counter()
        for pipe, place in zip(pipes, places, strict=True):
            pipe.send((place, load.seconds, load.at_once, load.calls))
        while not all(pipe.poll() for pipe in pipes):
            found.waits.update(f"{kind}:{name}" if name else kind for kind, name in watcher.execute(WAITS))
            found.samples += 1
            time.sleep(SAMPLE_SECONDS)
        found.seconds, found.server_seconds = time.perf_counter() - began, cpu_seconds(root) - before
        for pipe in pipes:
            calls, commits, spent = pipe.recv()
            found.calls, found.commits = found.calls + calls, found.commits + commits
            found.process_seconds += spent
        found.flushes = count_flushes(watcher) - flushes
    return found


def count_flushes(watcher: psycopg.Connection) -> int:
    """Sessions report theirs up to a second late."""
    time.sleep(REPORT_SECONDS)
    row = watcher.execute(FLUSHES).fetchone()
    assert row is not None
    return int(row[0])


async def prepare(url: str, count: int) -> list[Tenancy]:
    """The workspace of the first start and others beside it."""
    database = await PostgresServer(url).open()
    try:
        first = await database.write(tenancy.provision)
        others = [
            await database.write(lambda c, n=n: workspaces.create(c, first.organization.id, f"w{n}"))  # type: ignore[misc]
            for n in range(1, count)
        ]
        return [first, *(replace(first, workspace=one) for one in others)]
    finally:
        await database.close()


async def verify(url: str, places: Sequence[Tenancy]) -> list[str]:
    database = await PostgresServer(url).open()
    try:
        ids = [place.workspace.id for place in places]
        reports = [await database.scan(lambda c, w=one: event_chain.verify(c, w)) for one in ids]  # type: ignore[misc]
        return [report.problem for report in reports if report.problem]
    finally:
        await database.close()


@contextmanager
def members(url: str, count: int) -> Iterator[list[Pipe]]:
    """Processes that journal when a pipe says so, and end with it."""
    context = multiprocessing.get_context("spawn")
    pairs = [context.Pipe() for _ in range(count)]
    started = [context.Process(target=serve, args=(url, theirs), daemon=True) for _, theirs in pairs]
    for process, (_, theirs) in zip(started, pairs, strict=True):
        process.start()
        theirs.close()
    try:
        yield [ours for ours, _ in pairs]
    finally:
        for ours, _ in pairs:
            ours.close()
        for process in started:
            process.join(60)


def serve(url: str, pipe: Pipe) -> None:
    asyncio.run(_serve(url, pipe))


async def _serve(url: str, pipe: Pipe) -> None:
    database, commits = await PostgresServer(url).open(), Counter[str]()
    lane.note_commit = lambda began, jobs: commits.update(["all"])  # type: ignore[assignment]
    try:
        while True:
            commits.clear()
            place, seconds, at_once, most = await asyncio.to_thread(pipe.recv)
            began, ends = time.process_time(), time.monotonic() + seconds
            counts = await asyncio.gather(*(journal_until(database, place, ends, most) for _ in range(at_once)))
            pipe.send((sum(counts), commits.total(), time.process_time() - began))
    except EOFError:
        await database.close()


async def journal_until(database: Database, local: Tenancy, ends: float, most: int) -> int:
    """One execution after another, of `most` calls each. An answer travels with the next call, or with the end."""
    total = 0
    while time.monotonic() < ends:
        execution, seq = replace(an_execution(local), status="running"), 0
        journal = Journal(database, execution)
        journal.create()
        while seq < most and time.monotonic() < ends:
            seq += 1
            journal.propose([a_call(execution, seq)], [], 0)
            await journal.durable()
            journal.answer([replace(a_call(execution, seq), state="succeeded", result="1", done_seq=seq, done_ms=1)])
        await journal.finish("completed", "1", None, 1)
        total += seq
    return total
