"""What a cluster costs: throughput and CPU by number of workers, latencies, idling, parked executions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from cluster_proofs import costs, latencies
from cluster_proofs.parked import measure_parked
from cluster_proofs.parts import measure_parts
from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.ledger import running_ledger

CALLS = 5
CODE = "for (let i = 0; i < 5; i++) await tools.ledger.charges.charge({key: `%s-${i}`}); return 'done'"
AT_ONCE = 16
IDLE_SECONDS = 20.0
TIMES = 40


def measure(root: Path, executions: int, workers: Sequence[int], parked: int) -> dict[str, object]:
    server = postgres.Server()
    costs.prepare(server)
    more = {"EXECUTOR_APPROVAL_LIMIT_ACTOR": "1000000"}
    cluster = Cluster(root, server, apis=2, workers=max(workers), lease=15, **more)
    try:
        with running_ledger(root / "effects") as address:
            cluster.query("CREATE EXTENSION pg_stat_statements")
            cluster.start(workers=1)
            latencies.connect_source(cluster.apis[0], address)
            run(cluster, "warm", 20)
            report: dict[str, object] = {"loadBefore": psutil.getloadavg()[0]}
            report |= measure_latencies(cluster, root, address)
            report["byWorkers"] = [measure_workers(cluster, count, executions) for count in workers]
            report["idle"] = idle(cluster)
            report["parts"] = measure_parts(cluster)
            if parked:
                report["parked"] = measure_parked(cluster, parked)
            return report | {"loadAfter": psutil.getloadavg()[0]}
    finally:
        cluster.stop()
        server.remove()


def measure_latencies(cluster: Cluster, root: Path, address: str) -> dict[str, object]:
    api = cluster.apis[0]

    def query(statement: str) -> int:
        return int(cluster.query(statement)[0][0])

    with latencies.running_alone(root / "alone", address) as (alone, query_alone):
        latencies.submit_to_start(alone, query_alone, "warm", 10)
        local = latencies.submit_to_start(alone, query_alone, "alone", TIMES)
    return {
        "submitToStartMs": latencies.submit_to_start(api, query, "start", TIMES),
        "submitToStartOnSQLiteMs": local,
        "submitToResultMs": latencies.submit_to_result(api, TIMES),
        "approveToCompletedOnAnotherReplicaMs": latencies.approve_to_completed(cluster, TIMES),
        "notifyMs": latencies.notification(cluster, 200),
        "eventOnAnotherReplicaMs": latencies.event_elsewhere(cluster, TIMES),
    }


def measure_workers(cluster: Cluster, count: int, executions: int) -> dict[str, float]:
    for worker in cluster.workers[:count]:
        if worker.process is None:
            cluster.start_member(worker)
    run(cluster, f"warm{count}-", 10 * count)
    return {"workers": count, **run(cluster, f"n{count}-", executions)}


def run(cluster: Cluster, name: str, count: int) -> dict[str, float]:
    before, began = costs.read(cluster), time.perf_counter()

    def submit(number: int) -> None:
        api = cluster.apis[number % 2]
        ended = api.post("/v1/executions", {"code": CODE % f"{name}{number}", "wait": 120})
        assert ended["result"] == "done", ended

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(submit, range(count)))
    seconds, used = time.perf_counter() - began, costs.read(cluster).since(before)
    calls = count * CALLS
    return {
        "executionsPerSecond": count / seconds,
        "callsPerSecond": calls / seconds,
        "workerCpuMsPerCall": used.worker * 1000 / calls,
        "workerCpuMsPerCallWithoutSandboxes": used.loop * 1000 / calls,
        "apiCpuMsPerCall": used.api * 1000 / calls,
        "postgresCpuMsPerCall": used.postgres * 1000 / calls,
        "cpuMsPerCall": used.cpu * 1000 / calls,
        "processorsUsed": used.cpu / seconds,
        "statementsPerCall": used.statements / calls,
        "transactionsPerCall": used.transactions / calls,
        "notificationsPerCall": used.notices / calls,
        "logBytesPerCall": used.log_bytes / calls,
    }


def idle(cluster: Cluster) -> dict[str, float]:
    """For each process."""
    members = [one for one in (*cluster.apis, *cluster.workers) if one.process is not None]
    before = costs.read(cluster)
    time.sleep(IDLE_SECONDS)
    used, share = costs.read(cluster).since(before), IDLE_SECONDS * len(members)
    return {
        "processes": len(members),
        "transactionsPerSecondEach": used.transactions / share,
        "statementsPerSecondEach": used.statements / share,
        "cpuMsPerSecondEach": (used.api + used.worker) * 1000 / share,
        "postgresCpuMsPerSecondEach": used.postgres * 1000 / share,
        "connectionsEach": costs.connections(cluster) / len(members),
        "memoryMbOfApi": costs.memory_mb(cluster.apis[0]),
        "memoryMbOfWorker": costs.memory_mb(cluster.workers[0]),
    }
