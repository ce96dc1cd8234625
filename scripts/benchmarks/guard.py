"""`scripts/bench --guard`: CPU time and fresh memory pages of an operation, compared with a committed baseline.

Milliseconds of one machine say nothing about another, and little about the same one when it is busy. So CPU time is
divided by that of a fixed reference work, done right before and after each round, and only this ratio is compared.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import processes
from benchmarks.measures import MEASURES, Measure, warm_up
from benchmarks.report import as_table
from benchmarks.subject import Subject

BASELINE = Path(__file__).with_name("baseline.json")
ROUNDS = 12
TOLERANCE = 1.15  # CPU; two runs of the same tree differ by less
PAGE_TOLERANCE = 1.3
PAGE_NOISE = 3
# Operations in a round. Short rounds, so that the reference work meets the same load.
GUARDED = {"execute": 40, "official": 20, "clients": 4, "sequential": 1, "parallel": 1, "approve": 6, "cli": 2}


@dataclass(frozen=True)
class Figure:
    """`cpu` is in reference works per operation; `pages` are those that the daemon and its workers first touched."""

    cpu: float
    pages: float


def do_reference_work() -> None:
    """Never change it: every baseline is counted in it."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, body TEXT)")
    for number in range(300):
        record = {"id": number, "name": f"thing {number}", "tags": [str(tag) for tag in range(20)]}
        text = json.dumps(record)
        seal = hashlib.sha256(text.encode()).hexdigest()
        database.execute("INSERT INTO t (name, body) VALUES (?, ?)", (seal, text))
        sorted(json.loads(text)["tags"], key=lambda tag: -int(tag))
    database.execute("SELECT count(*) FROM t WHERE body LIKE '%thing 2%'").fetchone()
    database.close()


def reference_ms() -> float:
    before = time.process_time()
    for _ in range(3):
        do_reference_work()
    return (time.process_time() - before) * 1000 / 3


def measure(subject: Subject, say: Callable[[str], None]) -> dict[str, Figure]:
    warm_up([subject])
    rounds: dict[str, list[Figure]] = {}
    for one in MEASURES:
        if one.name in GUARDED:
            say(f"guard: {one.name}")
            for _ in range(ROUNDS):
                for label, figure in measure_round(subject, one).items():
                    rounds.setdefault(label, []).append(figure)
    return {
        label: Figure(
            round(statistics.median(one.cpu for one in figures), 4),
            round(statistics.median(one.pages for one in figures), 1),
        )
        for label, figures in rounds.items()
    }


def measure_round(subject: Subject, one: Measure) -> dict[str, Figure]:
    before, pages = reference_ms(), processes.fresh_pages(subject.pid)
    rows = one.run(subject, GUARDED[one.name])
    pages = processes.fresh_pages(subject.pid) - pages
    reference = (before + reference_ms()) / 2
    return {
        label: Figure(series.cpu_per_operation / reference, pages / len(series.samples))
        for label, series in rows.items()
        if series.cpu_per_operation is not None
    }


def save(found: dict[str, Figure]) -> None:
    BASELINE.write_text(json.dumps({label: vars(one) for label, one in found.items()}, indent=2) + "\n")


def compare(found: dict[str, Figure]) -> tuple[str, list[str]]:
    """A table, and what has become dearer."""
    known = {label: Figure(**one) for label, one in json.loads(BASELINE.read_text()).items()}
    lines = [["figure", "CPU", "baseline", "change", "fresh pages", "baseline"]]
    dearer = []
    for label, one in found.items():
        was = known.get(label)
        if was is None:
            lines.append([label, f"{one.cpu:.3f}", "none", "", f"{one.pages:.0f}", "none"])
            continue
        change = f"{(one.cpu / was.cpu - 1) * 100:+.0f} %"
        lines.append([label, f"{one.cpu:.3f}", f"{was.cpu:.3f}", change, f"{one.pages:.0f}", f"{was.pages:.0f}"])
        if one.cpu > was.cpu * TOLERANCE:
            dearer.append(f"{label}: CPU {change}")
        if one.pages > was.pages * PAGE_TOLERANCE + PAGE_NOISE:
            dearer.append(f"{label}: {one.pages:.0f} fresh pages instead of {was.pages:.0f}")
    return as_table(lines), dearer
