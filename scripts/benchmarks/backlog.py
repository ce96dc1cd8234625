"""Many executions that wait: what each costs, what another actor notices of them, and how long stopping takes.

Each size has a daemon of its own. Its operator submits executions that sleep for two seconds (`timer`), or that need an
approval, which are then all given (`human`). Meanwhile another actor, an agent, runs `1+1` again and again.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import processes, report
from benchmarks.measures import Rows
from benchmarks.ours import Ours, bearer
from benchmarks.series import Series, Unit
from benchmarks.wire import Http, Mcp

SIZES, QUICK = (500, 2_000, 8_000, 20_000), (100, 400)
SLEEP = "await new Promise((resolve) => setTimeout(resolve, 2000)); return 1"
LONG_SLEEP = "await new Promise((resolve) => setTimeout(resolve, 600000)); return 1"
SUBMITTERS = 8
DRAIN_SECONDS = 3_600.0
BAR = 50
COUNTED = 10_000  # the status counts no further


class Probe:
    """An actor who notices things: `1+1` over MCP and the health check, by turns, until it is closed."""

    def __init__(self, subject: Ours) -> None:
        self.executions: list[float] = []
        self.health: list[float] = []
        self.memory = 0
        self._subject = subject
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        client = Mcp(self._subject.base_url, self._subject.headers(self._subject.home))
        plain = Http(self._subject.base_url, {})
        while not self._over.wait(0.5):
            self.executions.append(taken(lambda: self._subject.execute(client, "return 1+1", 2)))
            self.health.append(taken(lambda: plain.request("GET", "/healthz")))
            self.memory = max(self.memory, processes.memory_bytes(self._subject.pid))

    def close(self) -> None:
        self._over.set()
        self._thread.join()


def taken(operation: Callable[[], object]) -> float:
    begin = time.perf_counter()
    operation()
    return (time.perf_counter() - begin) * 1000


def measure(folder: Path, address: str, sizes: Sequence[int], *, say: Callable[[str], None]) -> Rows:
    rows: Rows = {}
    for size in sizes:
        for kind in ("timer", "human"):
            say(f"backlog: {size:,} executions that wait for a {kind}")
            subject = Ours(folder / f"{kind}-{size}")
            subject.folder.mkdir(parents=True)
            subject.start()
            try:
                drain(rows, subject, kind, size, address)
                if kind == "timer":
                    stop(rows, subject, size)
            finally:
                subject.stop()
    return rows


def drain(rows: Rows, subject: Ours, kind: str, size: int, address: str) -> None:
    operator = subject.operator
    subject.connect(f"{address}/openapi.json")
    before, begin = processes.cpu_seconds(subject.pid), time.perf_counter()
    probe = Probe(subject)
    try:
        submit(subject, SLEEP if kind == "timer" else subject.write, size)
        submitted = time.perf_counter() - begin
        if kind == "human":
            until(lambda: count(operator, "paused") >= min(size, COUNTED), what="asking for every approval")
            parked = time.perf_counter() - begin
            approve_all(subject, operator)
            note(rows, f"{size:,} {kind}: all asked", "s", parked)
            note(rows, f"{size:,} {kind}: all approved", "s", time.perf_counter() - begin - parked)
        until(lambda: not unfinished(operator), what="draining")
    finally:
        probe.close()
    spent, wall = processes.cpu_seconds(subject.pid) - before, time.perf_counter() - begin
    note(rows, f"{size:,} {kind}: all submitted", "s", submitted)
    note(rows, f"{size:,} {kind}: all drained", "s", wall, spent * 1000 / size)
    seen: tuple[tuple[str, Unit, list[float]], ...] = (
        ("`1+1` of another actor", "ms", probe.executions),
        ("health check", "ms", probe.health),
        ("memory, at most", "MB", [probe.memory / 1e6]),
    )
    for label, unit, samples in seen:
        rows[f"{size:,} {kind}: {label}"] = Series(unit, samples or [0.0])


def stop(rows: Rows, subject: Ours, size: int) -> None:
    """With as many under way or queued; then start with what was left."""
    assert subject.process is not None
    submit(subject, LONG_SLEEP, size)
    note(rows, f"{size:,} timer: `executor down`", "s", taken(lambda: processes.end(subject.process)) / 1000)  # type: ignore[arg-type]
    note(rows, f"{size:,} timer: start with all unfinished", "s", taken(subject.start) / 1000)
    client = subject.client()
    note(
        rows,
        f"{size:,} timer: first `1+1` after that",
        "s",
        taken(lambda: subject.execute(client, "return 1+1", 2)) / 1000,
    )
    client.close()


def submit(subject: Ours, code: str, size: int) -> None:
    def some(amount: int) -> None:
        client = Http(subject.base_url, bearer(subject.home / "data" / "operator.token"))
        for _ in range(amount):
            client.json("POST", "/v1/executions", {"code": code, "wait": 0, "timeoutMs": 3_600_000})
        client.close()

    each(some, [size // SUBMITTERS + (n < size % SUBMITTERS) for n in range(SUBMITTERS)])


def approve_all(subject: Ours, operator: Http) -> None:
    waiting: list[str] = []
    before = ""
    while True:
        page = operator.json("GET", f"/v1/interactions?status=pending&limit=200{before}")
        waiting += [asked["id"] for asked in page["items"]]
        if not page.get("next"):
            break
        before = f"&before={page['next']}"

    def some(ids: list[str]) -> None:
        client = Http(subject.base_url, bearer(subject.home / "data" / "operator.token"))
        for one in ids:
            client.json("POST", f"/v1/interactions/{one}/approve", {})
        client.close()

    each(some, [waiting[n::SUBMITTERS] for n in range(SUBMITTERS)])


def each(work: Callable[[Any], None], parts: list[Any]) -> None:
    with ThreadPoolExecutor(SUBMITTERS) as pool:
        list(pool.map(work, parts))


def count(operator: Http, status: str) -> int:
    counts: dict[str, int] = operator.json("GET", "/v1/status")["executions"]
    return counts.get(status, 0)


def unfinished(operator: Http) -> int:
    return sum(count(operator, status) for status in ("running", "queued", "paused"))


def until(ready: Callable[[], bool], *, what: str) -> None:
    processes.wait_until(ready, limit=DRAIN_SECONDS, pause=0.25, what=what)


def note(rows: Rows, label: str, unit: Unit, value: float, cpu_ms: float | None = None) -> None:
    rows[label] = Series(unit, [value], cpu_ms)


def plot(results: report.Results, subject: str) -> str:
    """CPU of each execution against how many there are: level if the cost is constant."""
    found = {
        label.partition(": ")[0]: series[subject].cpu_ms or 0.0
        for label, series in results.items()
        if label.endswith(": all drained") and subject in series
    }
    if not found:
        return ""
    longest = max(found.values()) or 1.0
    lines = [f"{label:>14}  {'█' * max(1, round(BAR * cpu / longest))} {cpu:.1f} ms" for label, cpu in found.items()]
    steady = statistics.median(found.values())
    return "\n".join(["CPU of each waiting execution, by how many wait:", *lines, f"{'median':>14}  {steady:.1f} ms"])
