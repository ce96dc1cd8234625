"""The Python SDK: `run("return 1+1")` through a daemon and embedded, and what a program pays before the first one.

CPU is that of this process and everything under it, the daemon and the sandbox workers included.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import processes
from benchmarks.measures import Rows, milliseconds
from benchmarks.ours import Ours
from benchmarks.series import Series
from executor import AsyncExecutor, Executor

CODE = "return 1+1"


def measure(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Rows:
    amount = 50 if quick else 500
    folder.mkdir(parents=True, exist_ok=True)
    say("sdk: import")
    rows: Rows = {"SDK, import": measure_imports(3 if quick else 10)}
    subject = Ours(folder)
    subject.start()
    try:
        token = (subject.home / "data" / "operator.token").read_text().strip()
        say("sdk: through a daemon")
        with Executor(subject.base_url, token) as executor:
            rows["SDK, run 1+1 through a daemon"] = measure_runs(executor, amount)
        rows["SDK, run 1+1 through a daemon, awaited"] = asyncio.run(
            measure_awaited(AsyncExecutor(subject.base_url, token), amount)
        )
    finally:
        subject.stop()
    say("sdk: embedded")
    began = time.perf_counter()
    with Executor.embedded() as executor:
        rows["SDK, opening an embedded one"] = Series("ms", [(time.perf_counter() - began) * 1000])
        rows["SDK, run 1+1 embedded, in memory"] = measure_runs(executor, amount)
    with Executor.embedded(folder / "embedded") as executor:
        rows["SDK, run 1+1 embedded, in a directory"] = measure_runs(executor, amount)
    return rows


def measure_runs(executor: Executor, amount: int) -> Series:
    run(executor)  # connects, and starts what runs it
    before = processes.cpu_seconds(os.getpid())
    samples = [milliseconds(lambda: run(executor)) for _ in range(amount)]
    return Series("ms", samples, (processes.cpu_seconds(os.getpid()) - before) * 1000)


def run(executor: Executor) -> None:
    if executor.run(CODE).result != 2:
        raise AssertionError(f"`{CODE}` did not return 2")


async def measure_awaited(executor: AsyncExecutor, amount: int) -> Series:
    series = Series("ms")
    async with executor:
        await executor.run(CODE)
        before = processes.cpu_seconds(os.getpid())
        for _ in range(amount):
            began = time.perf_counter()
            await executor.run(CODE)
            series.samples.append((time.perf_counter() - began) * 1000)
    series.cpu_ms = (processes.cpu_seconds(os.getpid()) - before) * 1000
    return series


def measure_imports(amount: int) -> Series:
    """`from executor import Executor`, without the start of Python itself."""
    code = "import time; t = time.process_time(); from executor import Executor; print(time.process_time() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(amount)]
    return Series("ms", [float(one.stdout) * 1000 for one in runs])
