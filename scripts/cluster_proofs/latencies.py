"""How long it takes from one thing to the next, between processes."""

from __future__ import annotations

import http.client
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.support.cluster import Cluster
from tests.support.daemon import Daemon

CHARGE = "await tools.ledger.charges.charge({key: '%s'}); return 1"
TRANSFER = "await tools.ledger.transfers.transfer({key: '%s'}); return 'sent'"
FIRST_CALL = "SELECT created_at FROM calls WHERE execution_id = '%s' AND seq = (SELECT min(seq) FROM calls WHERE execution_id = '%s')"  # noqa: E501


def summarize(milliseconds: list[float]) -> dict[str, float]:
    taken = sorted(milliseconds)
    return {"p50": statistics.median(taken), "p90": taken[int(len(taken) * 0.9)], "best": taken[0]}


def connect_source(api: Daemon, address: str) -> None:
    api.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "ledger"})
    api.post("/v1/policies", {"pattern": "ledger.charges.*", "action": "allow"})


def submit_to_start(api: Daemon, query: Callable[[str], int], name: str, times: int) -> dict[str, float]:
    """From the request to the moment at which the first call was written down."""
    taken = []
    for number in range(times):
        began = time.time() * 1000
        done = api.post("/v1/executions", {"code": CHARGE % f"{name}{number}", "wait": 60})
        assert done["result"] == 1, done
        taken.append(query(FIRST_CALL % (done["executionId"], done["executionId"])) - began)
    return summarize(taken)


@contextmanager
def running_alone(root: Path, address: str) -> Iterator[tuple[Daemon, Callable[[str], int]]]:
    """`executor up` on SQLite, with dispatch in the one process."""
    root.mkdir()
    daemon = Daemon(root)
    daemon.start()
    try:
        connect_source(daemon, address)

        def query(statement: str) -> int:
            with sqlite3.connect(daemon.data_dir / "executor.db") as database:
                return int(database.execute(statement).fetchone()[0])

        yield daemon, query
    finally:
        daemon.stop()


def submit_to_result(api: Daemon, times: int) -> dict[str, float]:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        assert api.post("/v1/executions", {"code": "return 1", "wait": 60})["result"] == 1
        taken.append((time.perf_counter() - began) * 1000)
    return summarize(taken)


def approve_to_completed(cluster: Cluster, times: int) -> dict[str, float]:
    first, second = cluster.apis
    taken = []
    for number in range(times):
        paused = first.post("/v1/executions", {"code": TRANSFER % f"a{number}", "wait": 60})
        taken.append(approve(cluster, paused["executionId"], paused["interactions"][0]["id"]))
        assert second.get(f"/v1/executions/{paused['executionId']}")["result"] == "sent"
    return summarize(taken)


def approve(cluster: Cluster, execution_id: str, interaction_id: str) -> float:
    """On the second replica, until it has ended on the first."""
    first, second = cluster.apis
    began = time.perf_counter()
    second.post(f"/v1/interactions/{interaction_id}/approve")
    ended = first.get(f"/v1/executions/{execution_id}?wait=60")
    assert ended["status"] == "completed", ended
    return (time.perf_counter() - began) * 1000


def notification(cluster: Cluster, times: int) -> dict[str, float]:
    """Of PostgreSQL itself: from NOTIFY in one session to another."""
    url, taken = cluster.server.url(cluster.name), []  # type: ignore[union-attr]
    with psycopg.connect(url, autocommit=True) as listening, psycopg.connect(url, autocommit=True) as sending:
        listening.execute("LISTEN measured")
        for _ in range(times):
            began = time.perf_counter()
            sending.execute("NOTIFY measured")
            next(listening.notifies(timeout=60, stop_after=1))
            taken.append((time.perf_counter() - began) * 1000)
    return summarize(taken)


def event_elsewhere(cluster: Cluster, times: int) -> dict[str, float]:
    """From a change that one replica has answered to its event in a stream of another one."""
    first, second = cluster.apis
    newest = int(cluster.query("SELECT max(id) FROM events")[0][0])
    connection = http.client.HTTPConnection(second.host, second.port, timeout=60)
    headers = {"Authorization": f"Bearer {second.token()}", "Accept": "text/event-stream"}
    connection.request("GET", f"/v1/events?after={newest}", headers=headers)
    stream, taken = connection.getresponse(), []
    for number in range(times):
        made = first.post("/v1/policies", {"pattern": f"measured.n{number}", "action": "allow"})
        answered = time.perf_counter()
        while made["id"].encode() not in stream.readline():
            pass
        taken.append(max(0.0, time.perf_counter() - answered) * 1000)
    connection.close()
    return summarize(taken)
