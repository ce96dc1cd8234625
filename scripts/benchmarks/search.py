"""What searching costs with 1,000, 15,000 and 100,000 tools connected: time, building, reading back, memory.

The tools are made up, of words that APIs use, so that nothing has to be fetched. Each size has a process of its own,
for the growth of its memory is part of the answer.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measures import Rows
from benchmarks.series import Series

SIZES = (1_000, 15_000, 100_000)
TOOLS_PER_SOURCE = 250
VERBS = {"get": "GET", "list": "GET", "create": "POST", "update": "PATCH", "delete": "DELETE", "cancel": "POST"}
WORDS = """
    account address alert archive article asset backup balance batch board branch bucket budget build campaign
    card cart catalog channel charge check cluster comment commit contact coupon customer dashboard database
    dataset deal deployment device discount dispute document domain droplet endpoint environment event export
    feature file firewall flag folder form function gateway group host image import instance integration inventory
    invite invoice issue item job key label lead ledger license link list listing location log message metric
    milestone model module network node note notification offer order organization package page payment payout
    permission person pipeline plan playlist pod policy post price product profile project promotion provider pull
    quota quote reaction record refund region registry release reminder replica report repository request resource
    review role route rule schedule schema secret segment server service session setting shipment snapshot source
    space stage statement status store subscription survey tag task tax team template tenant ticket token topic
    track transaction transfer trigger user vault vendor version view volume wallet webhook widget workflow
    workspace zone
"""
THINGS = WORDS.split()
NATURAL = (
    "please {verb} the {one} of my {other} for me",
    "I would like to {verb} a {one} that belongs to another {other}, which of them is it and how do I do that today",
    "which {one}s are there in the {other}",
)


def measure(*, quick: bool, say: Callable[[str], None]) -> Rows:
    rows: Rows = {}
    for size in SIZES[:2] if quick else SIZES:
        say(f"search: {size:,} tools")
        command = [sys.executable, "-m", "benchmarks.search", str(size), "200" if quick else "1000"]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        label = f"{size:,} tools"
        rows |= {
            f"search, {label}": Series("ms", told["wall"], sum(told["cpu"])),
            f"search, {label}, CPU": Series("ms", told["cpu"]),
            f"index {label}": Series("ms", [told["build"]], told["build_cpu"]),
            f"read the index of {label} back": Series("ms", [told["load"]], told["load_cpu"]),
            f"memory of the index of {label}": Series("MB", [told["memory"]]),
        }
    return rows


def made_up(size: int) -> list[list[Any]]:
    """Tools by source, always the same for the same size."""
    from executor.catalog.search.index.entry import Entry

    choice = random.Random(7)
    sources = []
    for number in range(0, size, TOOLS_PER_SOURCE):
        name = f"{choice.choice(THINGS)}{number // TOOLS_PER_SOURCE}"
        sources.append([tool(Entry, choice, name, at) for at in range(min(TOOLS_PER_SOURCE, size - number))])
    return sources


def tool(entry: Any, choice: random.Random, namespace: str, number: int) -> Any:
    one, other, third = (choice.choice(THINGS) for _ in range(3))
    verb = choice.choice(list(VERBS))
    route = f"{VERBS[verb]} /v1/{other}s/{{{other}_id}}/{one}s"
    text = f"{verb.title()} the {one} of a {other}.\n\nNeeds the right to {verb} a {third}. " + " ".join(
        choice.choices(THINGS, k=25)
    )
    parameters = (f"{other}_id", one, *choice.choices(THINGS, k=5))
    effect = "read" if verb in ("get", "list") else "write"
    path = f"{namespace}.{other}.{verb}{one.title()}{number}"
    return entry(path, text, effect, (other,), route=route, parameters=parameters)


def queries(sources: list[list[Any]], amount: int) -> list[str]:
    """Two of three as an agent puts it, the others as people do."""
    choice = random.Random(3)
    found = []
    for number in range(amount):
        source = choice.choice(sources)[0].path.partition(".")[0]
        words = {"verb": choice.choice(list(VERBS)), "one": choice.choice(THINGS), "other": choice.choice(THINGS)}
        plain = "{verb} {one} {other}".format(**words)
        if number % 3 == 2:
            found.append(NATURAL[number % len(NATURAL)].format(**words))
        else:
            found.append(f"{source} {plain}" if number % 2 else plain)
    return found


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """The value, and milliseconds: by the clock, and of this process."""
    started, cpu = time.perf_counter(), time.process_time()
    value = work()
    return value, (time.perf_counter() - started) * 1000, (time.process_time() - cpu) * 1000


def main(size: int, amount: int) -> None:
    import psutil  # of the development packages, which the other measurements do without

    from executor.catalog.search.index.index import Index
    from executor.catalog.search.index.segment import build_segment
    from executor.catalog.search.index.segment_files import SegmentFiles
    from executor.catalog.search.ranking import search

    sources = made_up(size)
    asked = queries(sources, amount)
    with tempfile.TemporaryDirectory(prefix="executor-bench-") as folder:
        keep = SegmentFiles(Path(folder))
        _, build, build_cpu = timed(
            lambda: [keep.save(str(number), build_segment(entries)) for number, entries in enumerate(sources)]
        )
        names = [str(number) for number in range(len(sources))]
        sources.clear()
        before = psutil.Process().memory_info().rss
        index, load, load_cpu = timed(lambda: Index([one for name in names if (one := keep.load(name)) is not None]))
    search(index, asked[0])
    spent = [timed(lambda query=query: search(index, query))[1:] for query in asked]  # type: ignore[misc]
    memory = (psutil.Process().memory_info().rss - before) / 1e6
    print(
        json.dumps(
            {
                "wall": [wall for wall, _ in spent],
                "cpu": [cpu for _, cpu in spent],
                "build": build,
                "build_cpu": build_cpu,
                "load": load,
                "load_cpu": load_cpu,
                "memory": max(memory, index.size / 1e6),
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
