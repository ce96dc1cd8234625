"""What processes and the server have used so far: CPU, memory, statements, transactions, log, connections."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import psutil

from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.daemon import Daemon

STATEMENTS = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()"  # noqa: E501
NOTICES = f"{STATEMENTS} WHERE query LIKE '%pg_notify%'"
TRANSACTIONS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
LOG = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'executor%'"
)
OWN = 4.0  # statements, each in a transaction, that reading these takes


@dataclass(frozen=True, slots=True)
class Costs:
    api: float
    worker: float
    loop: float  # of the workers without their sandboxes
    postgres: float
    statements: float
    transactions: float
    notices: float
    log_bytes: float

    def since(self, before: Costs) -> Costs:
        used = self.less(before, 1)
        return replace(used, statements=used.statements - OWN, transactions=used.transactions - OWN)

    def less(self, other: Costs, times: float) -> Costs:
        return Costs(*(getattr(self, one.name) - times * getattr(other, one.name) for one in fields(self)))

    @property
    def cpu(self) -> float:
        return self.api + self.worker + self.postgres


def prepare(server: postgres.Server) -> None:
    """Statements are counted from the next start on."""
    server.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    server.stop()
    server.start()


def read(cluster: Cluster) -> Costs:
    process = cluster.server.process
    assert process is not None
    return Costs(
        sum(map(tree_seconds, cluster.apis)),
        sum(map(tree_seconds, cluster.workers)),
        sum(map(own_seconds, cluster.workers)),
        process_seconds(psutil.Process(process.pid)),
        *(float(cluster.query(query)[0][0]) for query in (STATEMENTS, TRANSACTIONS, NOTICES, LOG)),
    )


def tree_seconds(member: Daemon) -> float:
    return process_seconds(psutil.Process(member.process.pid)) if member.process is not None else 0.0


def own_seconds(member: Daemon) -> float:
    return sum(psutil.Process(member.process.pid).cpu_times()[:2]) if member.process is not None else 0.0


def process_seconds(process: psutil.Process) -> float:
    """With its children, also of those that have ended."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        try:
            total += sum(one.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def memory_mb(member: Daemon) -> float:
    """Its own and its share of what it shares, with its children."""
    assert member.process is not None
    process = psutil.Process(member.process.pid)
    return float(sum(one.memory_full_info().pss for one in (process, *process.children(recursive=True)))) / 2**20


def connections(cluster: Cluster) -> float:
    return float(cluster.query(CONNECTIONS)[0][0])
