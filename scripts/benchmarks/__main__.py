"""`scripts/bench`: starts what is measured on loopback in a temporary folder, measures, prints a table."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks import (
    backlog,
    checking,
    connected_tools,
    describe,
    direct,
    growth,
    guard,
    languages,
    large,
    listeners,
    mcp_sources,
    overhead,
    processes,
    report,
    roads,
    runtimes,
    scaling,
    sdk,
    search,
    sessions,
    sources,
    telemetry,
    web,
)
from benchmarks.measures import MEASURES, Measure, Rows, parked_memory, warm_up
from benchmarks.ours import Ours
from benchmarks.peer import PACKAGE, Peer
from benchmarks.series import Series
from benchmarks.subject import Subject

DIRECT, OVERHEAD, MCP, INDEX, DESCRIBE, LANGUAGES = "direct", "overhead", "mcp", "index", "describe", "languages"
CHECKING = "checking"
LARGE = "large"
SEARCH = "search"
WEB = "web"
BACKLOG, GROWTH, LISTENERS = "backlog", "growth", "listeners"
SESSIONS, SDK, TELEMETRY, ROADS = "sessions", "sdk", "telemetry", "roads"
SCALING, ENDURANCE = "scaling", "endurance"
# These are not taken of a subject alone.
APART = (
    DIRECT, OVERHEAD, MCP, INDEX, DESCRIBE, LANGUAGES, LARGE, CHECKING, SEARCH, WEB, BACKLOG, GROWTH, LISTENERS,
    SESSIONS, SDK, TELEMETRY, ROADS, SCALING, ENDURANCE,
)  # fmt: skip


def arguments() -> argparse.Namespace:
    names = [measure.name for measure in MEASURES] + [*APART]
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measures this checkout's speed and memory.")
    parser.add_argument("--peer", action="store_true", help=f"also measure the npm package {PACKAGE}, in the same run")
    parser.add_argument("--quick", action="store_true", help="fewer operations")
    parser.add_argument(
        "--full", action="store_true", help="also park 10,000 executions, queue 20,000, and grow to 1,000,000"
    )
    parser.add_argument("--only", action="append", choices=names, help="measure only this; may be repeated")
    parser.add_argument("--guard", action="store_true", help="compare CPU per operation with the committed baseline")
    parser.add_argument("--update", action="store_true", help="with --guard: make this run the baseline")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args()


def prepared(folder: Path, *, with_peer: bool) -> list[Subject]:
    subjects: list[Subject] = [Ours(folder / "executor")]
    if with_peer:
        say(f"installing {PACKAGE} into a temporary folder")
        peer = Peer(folder / "peer")
        peer.install()
        subjects.append(peer)
    for subject in subjects:
        subject.folder.mkdir(exist_ok=True)
    return subjects


def measured(measure: Measure, subjects: Sequence[Subject], options: argparse.Namespace) -> report.Results:
    results: report.Results = {}
    amount = measure.quick if options.quick else measure.amount
    for number in range(measure.rounds):
        for subject in subjects:
            say(f"{measure.name}: {subject.name}, round {number + 1} of {measure.rounds}")
            collect(results, subject.name, measure.run(subject, amount))
    return results


def collect(results: report.Results, subject: str, rows: Rows) -> None:
    for label, series in rows.items():
        results.setdefault(label, {}).setdefault(subject, Series()).extend(series)


def run(options: argparse.Namespace, folder: Path) -> report.Results:
    results: report.Results = {}
    wanted = options.only or [measure.name for measure in MEASURES] + [*APART]
    if INDEX in wanted:
        collect(results, Ours.name, sources.measure(quick=options.quick, say=say))
    if SEARCH in wanted:
        collect(results, Ours.name, search.measure(quick=options.quick, say=say))
    if DESCRIBE in wanted:
        collect(results, Ours.name, describe.measure(quick=options.quick, say=say))
    if CHECKING in wanted:
        collect(results, Ours.name, checking.measure(quick=options.quick, say=say))
    if WEB in wanted:
        collect(results, Ours.name, web.measure(folder / "web", quick=options.quick, say=say))
    if SESSIONS in wanted:
        collect(results, Ours.name, sessions.measure(folder / "sessions", quick=options.quick, say=say))
    if SDK in wanted:
        collect(results, Ours.name, sdk.measure(folder / "sdk", quick=options.quick, say=say))
    if ROADS in wanted:
        collect(results, Ours.name, roads.measure(folder / "roads", quick=options.quick, say=say))
    if set(wanted) <= {INDEX, DESCRIBE, CHECKING, SEARCH, WEB, SESSIONS, SDK, ROADS}:
        return results
    with ExitStack() as stack:
        address = stack.enter_context(processes.listening([sys.executable, "-m", "benchmarks.upstream"]))
        if BACKLOG in wanted:
            sizes = (
                backlog.QUICK if options.quick else backlog.SIZES if options.full or options.only else backlog.SIZES[:2]
            )
            collect(results, Ours.name, backlog.measure(folder / "backlog", address, sizes, say=say))
        if GROWTH in wanted:
            grown = growth.measure(folder / "growth", address, quick=options.quick, full=options.full, say=say)
            collect(results, Ours.name, grown)
        if LISTENERS in wanted:
            collect(results, Ours.name, listeners.measure(folder / "listeners", quick=options.quick, say=say))
        if TELEMETRY in wanted:
            found = telemetry.measure(folder / "telemetry", address, quick=options.quick, say=say)
            collect(results, Ours.name, found)
        if set(wanted) <= {
            INDEX,
            DESCRIBE,
            CHECKING,
            SEARCH,
            WEB,
            SESSIONS,
            SDK,
            ROADS,
            BACKLOG,
            GROWTH,
            LISTENERS,
            TELEMETRY,
        }:
            return results
        subjects = prepared(folder, with_peer=options.peer)
        for subject in subjects:
            stack.callback(subject.stop)
            subject.start()
            subject.connect(f"{address}/openapi.json")
        for measure in MEASURES:
            if measure.name in wanted:
                if measure.warm:
                    warm_up(subjects)
                results |= measured(measure, subjects, options)
        if DIRECT in wanted:
            collect(results, Ours.name, asyncio.run(direct.measure(address, 5 if options.quick else 20)))
        if OVERHEAD in wanted:
            say("overhead: tool calls and direct requests by turns")
            warm_up(subjects[:1])
            collect(results, Ours.name, overhead.measure(subjects[0], address, 5 if options.quick else 20))
        if LANGUAGES in wanted:
            say("languages: TypeScript and Python by turns")
            warm_up(subjects[:1])
            collect(results, Ours.name, languages.measure(subjects[0], 40 if options.quick else 200))
            say("languages: the other runtimes by turns")
            collect(results, Ours.name, runtimes.measure(folder / "runtimes", 4 if options.quick else 20))
        if LARGE in wanted:
            say("large: a result of 5 MB")
            collect(results, Ours.name, large.measure(subjects[0], 3 if options.quick else 10))
        if SCALING in wanted:
            warm_up(subjects[:1])
            collect(results, Ours.name, scaling.measure(subjects[0], quick=options.quick, say=say))
            collect(results, Ours.name, connected_tools.measure(folder / "tools", quick=options.quick, say=say))
        if ENDURANCE in wanted:
            brief = options.quick or not (options.full or options.only)
            collect(results, Ours.name, scaling.endure(subjects[0], quick=brief, say=say))
        if MCP in wanted:
            say("mcp: pooled sources, and the SDK's client")
            collect(results, Ours.name, asyncio.run(mcp_sources.measure(100, 1 if options.quick else 3)))
        if options.full:
            say("parking 10,000 executions")
            collect(results, Ours.name, parked_memory(subjects[0], 10_000))
    return results


def run_guard(folder: Path, *, update: bool) -> None:
    """Ends with status 1 if anything has become dearer."""
    (subject,) = prepared(folder, with_peer=False)
    with ExitStack() as stack:
        address = stack.enter_context(processes.listening([sys.executable, "-m", "benchmarks.upstream"]))
        stack.callback(subject.stop)
        subject.start()
        subject.connect(f"{address}/openapi.json")
        found = guard.measure(subject, say)
    if update:
        guard.save(found)
    table, dearer = guard.compare(found)
    print(table)
    if dearer:
        sys.exit("dearer than the baseline:\n" + "\n".join(dearer))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    with tempfile.TemporaryDirectory(prefix="executor-bench-") as folder:
        if options.guard:
            run_guard(Path(folder), update=options.update)
            return
        results = run(options, Path(folder))
    if options.json:
        print(json.dumps(report.as_json(results), indent=2))
    else:
        print(report.table(results, Ours.name, Peer.name if options.peer else None))
        ours = {label: series[Ours.name] for label, series in results.items() if Ours.name in series}
        plots = backlog.plot(results, Ours.name), growth.plot(ours), scaling.plot(ours)
        for remark in filter(None, (sources.aims(results, Ours.name), web.aims(results, Ours.name), *plots)):
            print(f"\n{remark}")


if __name__ == "__main__":
    main()
