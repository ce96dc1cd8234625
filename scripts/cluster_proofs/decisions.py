"""Approve, deny and expire the same interactions at once, on three replicas; each must have one outcome."""

from __future__ import annotations

import random
from pathlib import Path

import psutil

from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.decisions import contest
from tests.support.ledger import running_ledger


def prove_decisions(root: Path, count: int, seed: int) -> dict[str, object]:
    """Fails if one of them has two outcomes, or none."""
    server, effects = postgres.Server(), root / "effects"
    effects.touch()
    cluster = Cluster(root, server, apis=3, workers=1, lease=15)
    try:
        with running_ledger(effects) as address:
            cluster.start()
            cluster.apis[0].post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "ledger"})
            outcomes = contest(cluster, count, effects, random.Random(seed))
            return {"seed": seed, "interactions": count, "load": psutil.getloadavg()[0], **outcomes}
    finally:
        cluster.stop()
        server.remove()
