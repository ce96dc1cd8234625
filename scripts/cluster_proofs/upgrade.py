"""Old and new version side by side, with executions that wait for approval: parked by one, continued by the other.

The new version is a build of this one with a migration more. Processes are replaced one by one; some of what waits is
approved at each step, on both replicas.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from cluster_proofs.latencies import connect_source
from tests.daemon.test_rolling_upgrade import build_next, restart
from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.ledger import effects, running_ledger

CODE = """
const tag = %r;
await tools.ledger.charges.charge({key: `${tag}:before`});
const sent = await tools.ledger.transfers.transfer({key: `${tag}:approved`});
await tools.ledger.charges.charge({key: `${tag}:after`});
return [tag, sent.key];
"""
STEPS = 6
BACK = "back"  # parked by the new version, continued by the old one
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Parked:
    tag: str
    execution_id: str
    interaction_id: str


class Rollout:
    def __init__(self, cluster: Cluster, next_version: dict[str, str]) -> None:
        self.cluster = cluster
        self.next_version = next_version
        self.problems: list[str] = []
        self.steps: dict[str, int] = {}
        self._turns = itertools.cycle(cluster.apis)

    def park(self, name: str, count: int) -> list[Parked]:
        def submit(number: int) -> Parked:
            tag = f"{name}{number}"
            found = next(self._turns).post("/v1/executions", {"code": CODE % tag, "wait": 120})
            assert found["status"] == "paused", found
            return Parked(tag, found["executionId"], found["interactions"][0]["id"])

        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(submit, range(count)))

    def approve(self, step: str, parked: list[Parked]) -> None:
        def settle(one: Parked) -> None:
            next(self._turns).post(f"/v1/interactions/{one.interaction_id}/approve")
            ended = next(self._turns).get(f"/v1/executions/{one.execution_id}?wait=120")
            if ended.get("result") != [one.tag, f"{one.tag}:approved"]:
                self.problems.append(f"{one.tag}: {ended['status']} {ended.get('error')}")

        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(settle, parked))
        self.steps[step] = len(parked)

    def renew(self, member: Any) -> None:
        restart(self.cluster, member, **self.next_version)

    def run(self, shares: Iterator[list[Parked]], count: int) -> None:
        (first_api, second_api), (first, second) = self.cluster.apis, self.cluster.workers
        self.approve("old workers, new schema", next(shares))
        self.renew(first)
        self.approve("an old and a new worker", next(shares))
        second.stop()
        self.approve("a new worker, old replicas", next(shares))
        back = self.park(BACK, count)
        self.cluster.start_member(second)
        first.stop()
        self.approve("parked by the new version, continued by the old one", back)
        self.cluster.start_member(first)
        self.renew(second_api)
        self.approve("an old and a new replica", next(shares))
        self.renew(second)
        self.approve("new workers, an old and a new replica", next(shares))
        self.renew(first_api)
        self.approve("everything new", next(shares))


def prove_upgrade(root: Path, count: int) -> dict[str, object]:
    server = postgres.Server()
    more = {"EXECUTOR_APPROVAL_LIMIT_ACTOR": "1000000"}
    cluster = Cluster(root, server, apis=2, workers=2, lease=15, **more)
    try:
        with running_ledger(root / "effects") as address:
            cluster.start()
            connect_source(cluster.apis[0], address)
            rollout = Rollout(cluster, {"PYTHONPATH": str(build_next(root / "next"))})
            parked = rollout.park("x", count)
            migrated = cluster.run("db", "migrate", **rollout.next_version)
            assert migrated.returncode == 0, migrated.stderr
            rollout.run((parked[n::STEPS] for n in range(STEPS)), max(1, count // STEPS))
            return {"load": psutil.getloadavg()[0], **report(rollout, root / "effects")}
    finally:
        cluster.stop()
        server.remove()


def report(rollout: Rollout, file: Path) -> dict[str, object]:
    """Each effect of each execution must have happened once; each must give the same when it is replayed."""
    cluster, total = rollout.cluster, sum(rollout.steps.values())
    counts = collections.Counter(key for _, key in effects(file))
    wrong = {key: times for key, times in counts.items() if times != 1}
    ids = [row[0] for row in cluster.query("SELECT id FROM executions")]
    replays = [cluster.apis[0].post(f"/v1/executions/{one}/replay")["matches"] for one in ids]
    verified = cluster.run("audit", "verify", **rollout.next_version).returncode == 0
    return {
        "isWhole": verified and all(replays) and not (rollout.problems or wrong) and len(counts) == 3 * total,
        "executions": total,
        "steps": rollout.steps,
        "problems": rollout.problems,
        "effects": len(counts),
        "effectsExpected": 3 * total,
        "doubled": wrong,
        "replaysThatDiffer": replays.count(False),
        "recovered": cluster.query("SELECT count(*) FROM events WHERE type = 'execution.recovered'")[0][0],
        "auditIsWhole": verified,
    }
