"""What a cluster costs: latency, throughput and CPU with one and two workers, and what it does when idle."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.daemon import Daemon
from tests.support.ledger import running_ledger

CALLS = 5
CODE = "for (let i = 0; i < 5; i++) await tools.ledger.charges.charge({key: `%s-${i}`}); return 'done'"
APPROVED = "await tools.ledger.transfers.transfer({key: '%s'}); return 'sent'"
COMMITS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
IDLE_SECONDS = 20.0


def measure(root: Path, executions: int) -> dict[str, object]:
    server = postgres.Server()
    cluster = Cluster(root, server, apis=2, workers=2, lease=15)
    try:
        with running_ledger(root / "effects") as address:
            cluster.start(workers=1)
            api = cluster.apis[0]
            api.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "ledger"})
            api.post("/v1/policies", {"pattern": "ledger.charges.*", "action": "allow"})
            report: dict[str, object] = {"load": psutil.getloadavg()[0]}
            run(cluster, "warm", 20)
            report["submitToResultMs"] = latency(api)
            report["approveToCompletedOnAnotherReplicaMs"] = approvals(cluster)
            report["oneWorker"] = run(cluster, "one", executions)
            cluster.start_member(cluster.workers[1])
            run(cluster, "warm2", 20)
            report["twoWorkers"] = run(cluster, "two", executions)
            report["idleTransactionsPerSecondOfFourProcesses"] = idle(cluster)
            return report
    finally:
        cluster.stop()
        server.remove()


def latency(api: Daemon, times: int = 40) -> dict[str, float]:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        assert api.post("/v1/executions", {"code": "return 1", "wait": 60})["result"] == 1
        taken.append((time.perf_counter() - began) * 1000)
    return {"p50": statistics.median(taken), "p90": sorted(taken)[int(times * 0.9)]}


def approvals(cluster: Cluster, times: int = 20) -> dict[str, float]:
    first, second = cluster.apis
    taken = []
    for number in range(times):
        paused = first.post("/v1/executions", {"code": APPROVED % f"a{number}", "wait": 60})
        began = time.perf_counter()
        second.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve")
        ended = first.get(f"/v1/executions/{paused['executionId']}?wait=60")
        assert ended["status"] == "completed", ended
        taken.append((time.perf_counter() - began) * 1000)
    return {"p50": statistics.median(taken), "p90": sorted(taken)[int(times * 0.9)]}


def run(cluster: Cluster, name: str, count: int) -> dict[str, float]:
    before, began = cpu_seconds(cluster), time.perf_counter()

    def submit(number: int) -> None:
        api = cluster.apis[number % 2]
        ended = api.post("/v1/executions", {"code": CODE % f"{name}{number}", "wait": 120})
        assert ended["result"] == "done", ended

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(submit, range(count)))
    seconds, after = time.perf_counter() - began, cpu_seconds(cluster)
    calls = count * CALLS
    cost = {f"{part}CpuMsPerCall": (after[part] - before[part]) * 1000 / calls for part in before}
    return {"executionsPerSecond": count / seconds, "callsPerSecond": calls / seconds, **cost}


def cpu_seconds(cluster: Cluster) -> dict[str, float]:
    assert cluster.server.process is not None
    return {
        "api": sum(tree_seconds(member) for member in cluster.apis),
        "worker": sum(tree_seconds(member) for member in cluster.workers),
        "postgres": process_seconds(psutil.Process(cluster.server.process.pid)),
    }


def tree_seconds(member: Daemon) -> float:
    return process_seconds(psutil.Process(member.process.pid)) if member.process is not None else 0.0


def process_seconds(process: psutil.Process) -> float:
    """With its children, also of those that have ended."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        try:
            times = one.cpu_times()
            total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


def idle(cluster: Cluster) -> float:
    before = cluster.query(COMMITS)[0][0]
    time.sleep(IDLE_SECONDS)
    return float(cluster.query(COMMITS)[0][0] - before) / IDLE_SECONDS
