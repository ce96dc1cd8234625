"""`scripts/model-cluster`: what limits 10, 100 and 1,000 workers, simulated from measured costs.

First it simulates the clusters that were measured, with the costs of one worker, and prints prediction and measurement
side by side. Then it simulates larger ones, each process on processors of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster_model.cluster import Cluster, Costs, Shape

MEASURED = Path(__file__).with_name("measured.json")
MEASURED_AT_ONCE = 16
PARTS = ("worker", "api", "postgres")
ROUNDS = 3
SATURATED = 0.8


def read_costs(report: dict[str, Any]) -> Costs:
    """With what hearing and looking cost at one worker still in those of a call."""
    one, parts = report["byWorkers"][0], report["parts"]
    loop = one["workerCpuMsPerCallWithoutSandboxes"]
    return Costs(
        loop=loop,
        sandbox=one["workerCpuMsPerCall"] - loop,
        api=one["apiCpuMsPerCall"],
        postgres=one["postgresCpuMsPerCall"],
        hear_api=max(0.0, parts["hearApiMs"]),
        hear_worker=max(0.0, parts["hearWorkerMs"]),
        hear_postgres=max(0.0, parts["hearPostgresMs"]),
        look_worker=parts["lookWorkerMs"],
        look_postgres=parts["lookPostgresMs"],
        notify_postgres=parts["notifyPostgresMs"],
        transaction=parts["lookWorkerMs"] - parts["hearWorkerMs"],  # a look that finds nothing is little else
        transaction_postgres=parts["lookPostgresMs"] - max(0.0, parts["hearPostgresMs"]),
        idle=report["idle"]["cpuMsPerSecondEach"],
        idle_postgres=report["idle"]["postgresCpuMsPerSecondEach"],
    )


def simulate_measured(costs: Costs, point: dict[str, float]) -> dict[str, float]:
    """With the share of the two processors that the measurement got."""
    shape = Shape(int(point["workers"]), 2, MEASURED_AT_ONCE, shared=point["processorsUsed"] / 2)
    cluster = Cluster(costs, shape)
    cluster.run(20_000)
    seconds = (cluster.clock.now - cluster.chains.begun) / 1000
    used = {part: cluster.used[part] / cluster.calls for part in PARTS}
    return {**used, "callsPerSecond": cluster.calls / seconds}


def calibrate(costs: Costs, report: dict[str, Any]) -> Costs:
    """Take out of a call's costs what hearing and looking cost at one worker, so that both are counted once."""
    one = report["byWorkers"][0]
    base = costs
    for _ in range(ROUNDS):
        found = simulate_measured(base, one)
        base = replace(
            base,
            loop=max(0.05, base.loop - (found["worker"] - one["workerCpuMsPerCall"])),
            api=max(0.05, base.api - (found["api"] - one["apiCpuMsPerCall"])),
            postgres=max(0.05, base.postgres - (found["postgres"] - one["postgresCpuMsPerCall"])),
        )
    return base


def check(costs: Costs, report: dict[str, Any]) -> float:
    """Prints prediction and measurement. The largest error."""
    print("| workers | figure | predicted | measured | error |\n| --- | --- | --- | --- | --- |")
    worst = 0.0
    for point in report["byWorkers"]:
        found = simulate_measured(costs, point)
        names = {part: f"{part}CpuMsPerCall" for part in PARTS} | {"callsPerSecond": "callsPerSecond"}
        for part, name in names.items():
            error = found[part] / point[name] - 1
            if point is not report["byWorkers"][0]:
                worst = max(worst, abs(error))
            print(f"| {point['workers']} | {name} | {found[part]:.2f} | {point[name]:.2f} | {error:+.0%} |")
    return worst


def extrapolate(costs: Costs, workers: int, workspaces: int, given: argparse.Namespace, connections: float) -> None:
    shape = Shape(
        workers,
        max(2, round(workers * given.apis_per_worker)),
        workers * given.at_once,
        workspaces=workspaces,
        upstream=given.upstream,
        trip=given.round_trip,
        flush=given.flush,
        postgres_processors=given.postgres_processors,
    )
    cluster = Cluster(costs, shape)
    cluster.run(given.milliseconds)
    seconds = (cluster.clock.now - cluster.chains.begun) / 1000
    processes = shape.workers + shape.apis
    busy = find_busy(cluster)
    cells = [
        f"{workspaces:,}",
        f"{workers:,} + {shape.apis:,}",
        f"{cluster.calls / seconds:,.0f}",
        f"{cluster.notices / seconds:,.0f}",
        f"{processes * connections:,.0f}",
        *(f"{min(1.0, value):.0%}" for value in busy.values()),
        name_limit(busy),
    ]
    print(f"| {' | '.join(cells)} |")


def find_busy(cluster: Cluster) -> dict[str, float]:
    return {
        "PostgreSQL": cluster.server.utilization,
        "workers": max(one.loop.utilization for one in cluster.workers),
        "replicas": max(one.loop.utilization for one in cluster.apis),
        "audit logs": max(cluster.chains.utilization, cluster.chains.waiting(len(cluster.workers))),
    }


def name_limit(busy: dict[str, float]) -> str:
    name = max(busy, key=lambda one: busy[one])
    return name if busy[name] >= SATURATED else "the called services"


def read_counts(text: str) -> list[int]:
    counts = [int(word) for word in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError("each must be at least 1")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/model-cluster", description=__doc__)
    parser.add_argument("--measured", type=Path, default=MEASURED, help="output of `scripts/prove-cluster --measure`")
    parser.add_argument("--workers", type=read_counts, default=[10, 100, 1000], metavar="COUNT[,COUNT]")
    parser.add_argument("--apis-per-worker", type=float, default=0.5)
    parser.add_argument("--at-once", type=int, default=24, help="executions under way for each worker")
    parser.add_argument(
        "--workspaces", type=read_counts, default=[1, 100, 10_000], metavar="COUNT[,COUNT]", help="that share the work"
    )
    parser.add_argument("--upstream", type=float, default=100.0, help="milliseconds that a called service takes")
    parser.add_argument("--round-trip", type=float, default=0.5, help="milliseconds to PostgreSQL and back")
    parser.add_argument("--flush", type=float, default=1.0, help="milliseconds of a COMMIT, with the standby's")
    parser.add_argument("--postgres-processors", type=int, default=16)
    parser.add_argument("--milliseconds", type=float, default=8_000.0, help="simulated time")
    given = parser.parse_args()
    try:
        report = json.loads(given.measured.read_text())
        costs = calibrate(read_costs(report), report)
    except (OSError, ValueError, LookupError, TypeError) as error:
        parser.error(f"{given.measured} is not an output of `scripts/prove-cluster --measure`: {error!r}")
    worst = check(costs, report)
    print(f"\nLargest error with more workers than one: {worst:.0%}\n")
    print("| workspaces | workers + replicas | calls/s | notifications/s | connections | busy: ", end="")
    print("PostgreSQL | workers | replicas | audit logs | limit |\n|" + " --- |" * 10)
    for workspaces in given.workspaces:
        for workers in given.workers:
            extrapolate(costs, workers, workspaces, given, report["idle"]["connectionsEach"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
