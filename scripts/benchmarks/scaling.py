"""How cost grows with what is asked of one daemon: clients at once, calls of an execution, the size of a result. And
whether its memory grows with the executions that it has run."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from benchmarks import processes
from benchmarks.growth import BARS
from benchmarks.measures import Rows, milliseconds, timed
from benchmarks.series import Series
from benchmarks.subject import Subject
from benchmarks.wire import Mcp, WireError

Say = Callable[[str], None]
CLIENTS = (1, 4, 16, 64, 256)
CALLS = (1, 10, 100, 1_000)
KILOBYTES = (1, 16, 256, 1_024, 8_000)
SEQUENTIAL = "let sum = 0; for (let i = 0; i < {}; i++) sum += READ; return sum;"
PARALLEL = (
    "const all = await Promise.all(Array.from({{length: {}}}, async (_, i) => READ));"
    "return all.reduce((sum, one) => sum + one, 0);"
)
EXECUTIONS = 50_000
WORKERS = 16


def measure(subject: Subject, *, quick: bool, say: Say) -> Rows:
    rows: Rows = {}
    for amount in CLIENTS:
        say(f"scaling: {amount} clients")
        rows[f"scaling: 1+1 by clients, {amount:,}"] = by_clients(subject, amount, 256 if quick else 1_024)
    client = subject.client()
    for label, code in (("sequential", SEQUENTIAL), ("parallel", PARALLEL)):
        for amount in CALLS:
            say(f"scaling: {amount} calls, {label}")
            execute = partial(subject.execute, client, code.format(amount).replace("READ", subject.read))
            read = partial(execute, sum(range(amount)))
            rows[f"scaling: {label} calls in one execution, {amount:,}"] = timed(subject, read, 2 if quick else 5)
    for size in KILOBYTES:
        say(f"scaling: a result of {size} kB")
        rows[f"scaling: result in kB, {size:,}"] = timed(
            subject, partial(return_text, client, size), 3 if quick else 10
        )
    client.close()
    return rows


def return_text(client: Mcp, kilobytes: int) -> None:
    """What is large becomes an artifact, so only that it went well is looked at."""
    answer = client.call("execute", {"code": f"return 'x'.repeat({kilobytes * 1000 - 2})"})
    if answer.get("isError"):
        raise WireError(f"a result of {kilobytes} kB gave {str(answer)[:500]}")


def by_clients(subject: Subject, amount: int, total: int) -> Series:
    clients = [subject.client() for _ in range(amount)]

    def several(client: Mcp) -> list[float]:
        return [milliseconds(lambda: subject.execute(client, "return 1+1", 2)) for _ in range(max(1, total // amount))]

    with ThreadPoolExecutor(amount) as pool:
        list(pool.map(lambda client: subject.execute(client, "return 1+1", 2), clients))
        before = processes.cpu_seconds(subject.pid)
        samples = [sample for part in pool.map(several, clients) for sample in part]
        spent = (processes.cpu_seconds(subject.pid) - before) * 1000
    for client in clients:
        client.close()
    return Series("ms", samples, spent)


def endure(subject: Subject, *, quick: bool, say: Say) -> Rows:
    """Memory after each tenth of many executions, by several clients."""
    total = EXECUTIONS // 25 if quick else EXECUTIONS
    rows: Rows = {}
    for tenth in range(1, 11):
        begin = time.perf_counter()
        by_clients(subject, WORKERS, total // 10)
        settled = processes.settled_memory_bytes(subject.pid)
        say(f"endurance: {tenth * total // 10:,} executions, {time.perf_counter() - begin:.0f} s")
        rows[f"endurance: memory after executions, {tenth * total // 10:,}"] = Series("MB", [settled / 1e6])
    return rows


def plot(rows: Rows) -> str:
    """For each row a bar for every size, as high as its share of the largest: CPU per operation, or memory."""
    groups: dict[str, dict[str, float]] = {}
    for label, series in rows.items():
        if label.startswith(("scaling: ", "endurance: ")):
            name, _, size = label.partition(": ")[2].rpartition(", ")
            groups.setdefault(name, {})[size] = series.cpu_per_operation or series.median
    lines = []
    for name, costs in groups.items():
        highest = max(costs.values()) or 1
        bars = "".join(BARS[round(cost / highest * (len(BARS) - 1))] for cost in costs.values())
        lines.append(f"{name:36} {bars:10}  {'  '.join(f'{size}: {cost:,.2f}' for size, cost in costs.items())}")
    return "\n".join(["CPU in ms per operation, memory in MB", *lines]) if lines else ""
