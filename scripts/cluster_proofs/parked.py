"""Executions that wait for a decision, as many as you like: one is parked for real, and its rows are copied.

The copies are complete for everything but the audit log: their events are no part of its chain.
"""

from __future__ import annotations

import statistics
import time

from cluster_proofs import costs
from cluster_proofs.latencies import TRANSFER, approve, summarize
from executor.storage.tables.core import metadata
from tests.support.cluster import Cluster

TABLES = ("executions", "calls", "interactions", "events")
SPREAD = "SELECT execution_id, id FROM interactions WHERE status = 'pending' ORDER BY md5(id) LIMIT {}"
SIZE = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname IN ('executions', 'calls', 'interactions', 'events')"  # noqa: E501


def park(cluster: Cluster, count: int) -> dict[str, float]:
    """Copies of one. How many rows and bytes each takes, with indexes."""
    paused = cluster.apis[0].post("/v1/executions", {"code": TRANSFER % "parked", "wait": 60})
    original = paused["executionId"]
    before = float(cluster.query(SIZE)[0][0])
    rows = sum(copy_rows(cluster, table, original, count) for table in TABLES)
    cluster.query("ANALYZE")
    return {"rowsEach": rows, "bytesEach": (float(cluster.query(SIZE)[0][0]) - before) / count}


def copy_rows(cluster: Cluster, table: str, original: str, count: int) -> int:
    """How many rows of the table one execution has. Its id is replaced wherever it is written."""
    names = [column.name for column in metadata.tables[table].columns if (table, column.name) != ("events", "id")]
    owner = "id" if table == "executions" else "execution_id"
    end = "lpad(to_hex(n), 6, '0')"
    renamed = f"left('{original}', -6) || {end}"
    texts = {name: f"replace({name}, '{original}', {renamed})" for name in ("binding", "prompt", "data")}
    keys = {owner: renamed, **({"id": f"left(id, -6) || {end}"} if table == "interactions" else {})}
    values = ", ".join({**texts, **keys}.get(name, name) for name in names)
    columns = ", ".join(names)
    source = f"FROM {table}, generate_series(1, {count}) n WHERE {owner} = '{original}'"
    cluster.query(f"INSERT INTO {table} ({columns}) SELECT {values} {source}")
    return int(cluster.query(f"SELECT count(*) FROM {table} WHERE {owner} = '{original}'")[0][0])  # noqa: S608 - own names


def measure_parked(cluster: Cluster, count: int, times: int = 15) -> dict[str, object]:
    api, members = cluster.apis[1], (cluster.apis[1], cluster.workers[0])
    before = [costs.memory_mb(member) for member in members]
    sizes = park(cluster, count)
    began = time.perf_counter()
    for member in members:
        member.stop()
        cluster.start_member(member)
    restarted = time.perf_counter() - began
    after = [costs.memory_mb(member) for member in members]
    approve_one(cluster)  # the first one warms up
    taken, statements, transactions = zip(*(approve_one(cluster) for _ in range(times)), strict=True)
    began = time.perf_counter()
    assert len(api.get("/v1/interactions?status=pending&limit=50")["items"]) == 50
    return {
        "parked": count,
        **sizes,
        "memoryMbOfApiAndWorkerBefore": before,
        "memoryMbOfApiAndWorkerAfter": after,
        "restartOfBothSeconds": restarted,
        "approveToCompletedMs": summarize(list(taken)),
        "statementsToApproveAndComplete": statistics.median(statements),
        "transactionsToApproveAndComplete": statistics.median(transactions),
        "firstPageOfApprovalsMs": (time.perf_counter() - began) * 1000,
    }


def approve_one(cluster: Cluster) -> tuple[float, float, float]:
    [(execution_id, interaction_id)] = cluster.query(SPREAD.format(1))
    before = costs.read(cluster)
    taken = approve(cluster, execution_id, interaction_id)
    used = costs.read(cluster).since(before)
    return taken, used.statements, used.transactions
