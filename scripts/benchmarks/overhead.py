"""What a tool call costs beyond the HTTP request that it makes: the same 100 reads, directly and by submitted code.

Both are taken by turns, and each turn gives one ratio, so that a change of the machine's load meets both.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks import direct, processes
from benchmarks.measures import CALLS, EXPECTED, PARALLEL, SEQUENTIAL, Rows
from benchmarks.series import Series
from benchmarks.subject import Subject

WAYS = {"sequential": SEQUENTIAL, "parallel": PARALLEL}


def measure(subject: Subject, address: str, amount: int) -> Rows:
    rows: Rows = {}
    client = subject.client()
    for way, code in WAYS.items():
        code = code.replace("READ", subject.read)
        subject.execute(client, code, EXPECTED)
        for _ in range(amount):
            alone = asyncio.run(direct.measure(address, 1))[f"{CALLS} direct HTTP requests, {way}"]
            before, start = processes.cpu_seconds(subject.pid), time.perf_counter()
            subject.execute(client, code, EXPECTED)
            wall = (time.perf_counter() - start) * 1000
            spent = (processes.cpu_seconds(subject.pid) - before) * 1000
            note(rows, f"one tool call of {CALLS}, {way}", "ms", wall / CALLS, spent / CALLS)
            note(rows, f"one direct request of {CALLS}, {way}", "ms", alone.median / CALLS, (alone.cpu_ms or 0) / CALLS)
            note(rows, f"tool call ÷ direct request, {way}, wall time", "x", wall / alone.median)
            if alone.cpu_ms:
                note(rows, f"tool call ÷ direct request, {way}, CPU", "x", spent / alone.cpu_ms)
    client.close()
    return rows


def note(rows: Rows, label: str, unit: str, sample: float, cpu_ms: float | None = None) -> None:
    series = rows.setdefault(label, Series())
    series.extend(Series("x" if unit == "x" else "ms", [sample], cpu_ms))
