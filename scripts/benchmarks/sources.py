"""What adding a source costs: seconds of CPU, memory, and what everything else feels of it meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import documents
from benchmarks.measures import Rows
from benchmarks.report import Results, as_table, number
from benchmarks.series import Series

Say = Callable[[str], None]
ROUNDS = 3


@dataclass(frozen=True)
class Subject:
    """`cpu_seconds` is how many storing, and indexing for the first search, may take together."""

    label: str
    document: Callable[[], Path]
    cpu_seconds: float
    memory_mb: float = 300.0


SUBJECTS = (
    Subject("GitHub's document", documents.github, 0.6),
    Subject("a document of 15,000 operations", documents.made, 3.0),
)


def measure(*, quick: bool, say: Say) -> Rows:
    rows: Rows = {}
    with documents.serve() as address:
        for subject in SUBJECTS:
            try:
                path = subject.document()
            except documents.Unavailable as reason:
                say(f"index: skipped {subject.label}: {reason}")
                continue
            for round in range(1 if quick else ROUNDS):
                say(f"index: {subject.label}, round {round + 1}")
                collect(rows, subject.label, indexed(f"{address}/{path.name}"))
            watch(rows, subject.label, indexed(f"{address}/{path.name}", "watch"))
    return rows


def indexed(location: str, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.indexing", location, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"indexing {location} failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def collect(rows: Rows, label: str, found: dict[str, Any]) -> None:
    def note(what: str, series: Series) -> None:
        rows.setdefault(f"index {label}: {what}", Series()).extend(series)

    note("stored", Series("ms", [found["wall"] * 1000], found["cpu"] * 1000))
    note("first search", Series("ms", [found["search_wall"] * 1000], found["search_cpu"] * 1000))
    note("peak memory of its process", Series("MB", [found["child_mb"]]))
    note("peak growth of the daemon", Series("MB", [found["growth_mb"]]))


def watch(rows: Rows, label: str, found: dict[str, Any]) -> None:
    late = [beat * 1000 for beat in found["beats"]]
    took = [write * 1000 for write in found["writes"]]
    rows[f"index {label}: event loop late"] = Series("ms", late)
    rows[f"index {label}: event loop late at most"] = Series("ms", [max(late)])
    rows[f"index {label}: a small write meanwhile"] = Series("ms", took)
    rows[f"index {label}: a small write at most"] = Series("ms", [max(took)])


def aims(results: Results, name: str) -> str:
    """Each aim with what was measured; below 100 % it is met. Empty if nothing was indexed."""
    lines = [line for subject in SUBJECTS for line in aims_of(subject, results, name)]
    return as_table([["aim", "at most", "measured", "share"], *lines]) if lines else ""


def aims_of(subject: Subject, results: Results, name: str) -> Iterator[list[str]]:
    def series(what: str) -> Series | None:
        return results.get(f"index {subject.label}: {what}", {}).get(name)

    parts = [one.cpu_per_operation for what in ("stored", "first search") if (one := series(what)) is not None]
    if not parts:
        return
    yield aim(f"{subject.label}, CPU", subject.cpu_seconds, sum(part or 0.0 for part in parts) / 1000, "s")
    for what in ("peak memory of its process", "peak growth of the daemon"):
        memory = series(what)
        if memory is not None:
            yield aim(f"{subject.label}, {what}", subject.memory_mb, max(memory.samples), "MB")


def aim(label: str, limit: float, measured: float, unit: str) -> list[str]:
    return [label, f"{number(limit)} {unit}", f"{number(measured)} {unit}", f"{measured / limit:.0%}"]
