"""What single acts cost that every process of a cluster takes part in: to hear a notification, and to look for work."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from cluster_proofs import costs
from executor.model.event import QUEUED
from executor.storage.postgres.notices import CHANNEL
from tests.support.cluster import Cluster

TIMES = 1_000
PAUSE = 0.004  # seconds: each is heard alone
LONG_PAUSE = 0.03  # each is looked for alone
REST = 3.0
LISTENERS = 60


def measure_parts(cluster: Cluster) -> dict[str, float]:
    """In CPU milliseconds; for hearing, of one process that hears and of the server for it."""
    members = sum(one.process is not None for one in (*cluster.apis, *cluster.workers))
    running = sum(one.process is not None for one in cluster.workers)
    quiet = announce(cluster, "", TIMES)  # as an event of a call is announced
    queued = announce(cluster, QUEUED, TIMES // 4)
    with listening(cluster, LISTENERS):
        heard = announce(cluster, "", TIMES).postgres
    delivered = max(0.0, heard - quiet.postgres) / (TIMES * LISTENERS)
    return {
        "notifyPostgresMs": max(0.0, quiet.postgres / TIMES - members * delivered) * 1000,
        "hearPostgresMs": delivered * 1000,
        "hearApiMs": quiet.api * 1000 / (TIMES * len(cluster.apis)),
        "hearWorkerMs": quiet.worker * 1000 / (TIMES * running),
        "lookWorkerMs": queued.worker * 1000 / (TIMES // 4 * running),
        "lookPostgresMs": queued.postgres * 1000 / (TIMES // 4 * running),
    }


@contextmanager
def listening(cluster: Cluster, count: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(count):
            url = cluster.server.url(cluster.name)  # type: ignore[union-attr]
            session = stack.enter_context(psycopg.connect(url, autocommit=True))
            session.execute(f"LISTEN {CHANNEL}")
        yield


def announce(cluster: Cluster, type: str, times: int) -> costs.Costs:
    payload = json.dumps(["someone", [["none", "none", type, None]]])
    return cost_of(cluster, lambda: send(cluster, payload, times, LONG_PAUSE if type else PAUSE))


def send(cluster: Cluster, payload: str, times: int, pause: float) -> None:
    url = cluster.server.url(cluster.name)  # type: ignore[union-attr]
    with psycopg.connect(url, autocommit=True) as session:
        for _ in range(times):
            session.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
            time.sleep(pause)


def cost_of(cluster: Cluster, act: Callable[[], None]) -> costs.Costs:
    """Without what the processes do anyway in that time."""
    before = costs.read(cluster)
    time.sleep(REST)
    idle = costs.read(cluster).since(before)
    before, began = costs.read(cluster), time.perf_counter()
    act()
    time.sleep(0.5)
    used, share = costs.read(cluster).since(before), (time.perf_counter() - began) / REST
    return used.less(idle, share)
