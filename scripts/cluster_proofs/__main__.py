"""`scripts/prove-cluster`: API replicas, workers and a PostgreSQL server of their own, struck again and again.

Every execution makes reads, writes, writes with an idempotency key, parallel branches and a call that needs approval,
against a service that writes down each effect. People decide on any replica, and each replica has a follower of every
event.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster_proofs.decisions import prove_decisions
from cluster_proofs.faults import Faults
from cluster_proofs.journals import Load, measure_journals
from cluster_proofs.measure import measure
from cluster_proofs.skew import skew_clocks
from cluster_proofs.upgrade import prove_upgrade
from tests.chaos.test_chaos import CODE, Human, judge, statuses
from tests.support import pgbouncer, postgres
from tests.support.cluster import AnyReplica, Cluster, Follower
from tests.support.conditions import wait_for
from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.failover import Pair
from tests.support.ledger import running_ledger
from tests.support.network import HERE, Network

ISOLATED = "CLUSTER_PROOFS_ISOLATED"


def submit(api: Daemon, tag: str) -> str | None:
    """With a key, so that one whose answer was lost is found again."""
    ends = time.monotonic() + 240
    while time.monotonic() < ends:
        try:
            body = {"code": CODE % tag, "wait": 0}
            return str(api.request("POST", "/v1/executions", body, key=f"key-{tag}")["executionId"])
        except (*DOWN, Refused) as error:
            if isinstance(error, Refused) and error.status not in (503, 500):
                raise
            time.sleep(0.2)
    return None


def wait_for_all(api: Daemon, ids: set[str], seconds: float) -> dict[str, str]:
    ends, states = time.monotonic() + seconds, dict[str, str]()
    while time.monotonic() < ends:
        states = statuses(api, ids)
        if set(states) == ids and all(status in ("completed", "failed") for status in states.values()):
            return states
        time.sleep(0.5)
    return states


@contextmanager
def running_cluster(root: Path, given: argparse.Namespace) -> Iterator[Cluster]:
    network = Network() if given.namespaces else None
    host = HERE if network else ""
    server = Pair(host=host) if given.standby else postgres.Server(host=host)
    with ExitStack() as stack:
        stack.callback(server.remove)
        if network is not None:
            stack.callback(network.remove)
        size = {"apis": given.apis, "workers": given.workers[-1], "lease": given.lease}
        if given.pgbouncer:
            size["pooler"] = stack.enter_context(pgbouncer.running_pgbouncer(server))
        cluster = Cluster(root, server, network=network, **size)
        stack.callback(cluster.stop)
        if given.skew:
            skew_clocks(cluster, given.skew)
        cluster.start()
        yield cluster


def prove(root: Path, given: argparse.Namespace) -> dict[str, object]:
    seed, apis, at_once = given.seed, given.apis, given.at_once
    chance, host = random.Random(seed), HERE if given.namespaces else "127.0.0.1"
    with ExitStack() as stack:
        address = stack.enter_context(running_ledger(root / "effects", milliseconds=15, host=host))
        cluster = stack.enter_context(running_cluster(root, given))
        api = AnyReplica(cluster.apis, random.Random(seed + 1))
        first = cluster.apis[0]
        first.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "ledger"})
        for noun in ("entries", "charges"):
            first.post("/v1/policies", {"pattern": f"ledger.{noun}.*", "action": "allow"})
        human = Human(api)
        human.thread.start()
        followers = [Follower(cluster.apis[n:] + cluster.apis[:n], first.token) for n in range(apis)]
        strikes, accepted = Faults(cluster, chance), dict[str, str]()
        while sum(strikes.counts.values()) < given.faults:
            states = statuses(api, set(accepted))
            unfinished = [one for one in accepted if states.get(one) not in ("completed", "failed")]
            for _ in range(at_once - len(unfinished)):
                tag = f"x{len(accepted)}"
                if execution_id := submit(api, tag):
                    accepted[execution_id] = tag
            time.sleep(chance.uniform(0.05, 1.0))
            strikes.strike()
            print(f"{sum(strikes.counts.values())} {dict(strikes.counts)}", file=sys.stderr, flush=True)
        strikes.end()
        states = wait_for_all(api, set(accepted), 300)
        lost = sorted(one for one in accepted if states.get(one) not in ("completed", "failed"))
        human.ended.set()
        human.thread.join()
        report = find_problem(api, accepted, root / "effects", human)
        newest = int(cluster.query("SELECT max(id) FROM events")[0][0])
        expected = [row[0] for row in cluster.query("SELECT id FROM events ORDER BY id") if row[0] <= newest]
        for follower in followers:
            wait_for(lambda f=follower: f.ids and f.ids[-1] >= newest, "followers have every event")  # type: ignore[misc]
            follower.ended.set()
        wrong = [sum(a != b for a, b in zip(f.ids, expected, strict=False)) for f in followers]
        verified = cluster.run("audit", "verify").returncode == 0
        return {
            "seed": seed,
            "faults": dict(strikes.counts),
            "executions": len(accepted),
            "lost": lost,
            "events": len(expected),
            "eventsOutOfPlace": wrong,
            "streamsCut": [follower.cuts for follower in followers],
            "auditIsWhole": verified,
            "attempts": cluster.query("SELECT count(*) FROM events WHERE type = 'execution.recovered'")[0][0],
            **report,
        }


def find_problem(api: Daemon, accepted: dict[str, str], effects: Path, human: Human) -> dict[str, object]:
    """Whether an effect was doubled, a result is wrong, or a replay differs: the first that was found."""
    try:
        return {"problem": "", **judge(api, accepted, effects, human)}
    except AssertionError as error:
        return {"problem": str(error)[:2_000] or "see the traceback"}


def read_counts(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-cluster", description=__doc__)
    parser.add_argument("--faults", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument(
        "--lease", type=int, default=5, help="seconds; frozen processes stand still for up to 2.5 of these"
    )
    parser.add_argument("--at-once", type=int, default=10, help="executions under way at a time")
    parser.add_argument("--apis", type=int, default=2)
    parser.add_argument(
        "--workers",
        type=read_counts,
        metavar="COUNT[,COUNT]",
        help="default: 3, or 1,2,4 with --measure",
    )
    parser.add_argument("--standby", action="store_true", help="a synchronous standby too, which is promoted")
    parser.add_argument(
        "--namespaces", action="store_true", help="each process in a network namespace; the network is cut (root only)"
    )
    parser.add_argument("--pgbouncer", action="store_true", help="through PgBouncer in transaction mode")
    parser.add_argument(
        "--skew",
        type=int,
        default=0,
        metavar="SECONDS",
        help="by which the clocks of two workers are wrong, either way",
    )
    parser.add_argument("--keep", action="store_true", help="leave the logs of the processes where they are")
    parser.add_argument(
        "--measure", type=int, metavar="EXECUTIONS", help="measure speed and cost instead, with so many"
    )
    parser.add_argument(
        "--parked", type=int, default=0, metavar="EXECUTIONS", help="measure with so many that wait for a decision too"
    )
    parser.add_argument(
        "--decisions", type=int, metavar="COUNT", help="only approve, deny and expire so many at once on 3 replicas"
    )
    parser.add_argument(
        "--journals", type=int, metavar="ROUNDS", help="only measure 1, 2 and 4 processes that journal in one workspace"
    )
    parser.add_argument(
        "--commit-ms", type=float, default=0.0, help="with --journals: by which the server's commits take longer"
    )
    parser.add_argument(
        "--upgrade", type=int, metavar="COUNT", help="only replace a version by the next one, with so many parked"
    )
    given = parser.parse_args()
    given.workers = given.workers or ([1, 2, 4] if given.measure else [3])
    if given.pgbouncer and (given.standby or given.namespaces):
        parser.error("--pgbouncer goes with neither --standby nor --namespaces")
    if given.namespaces and not os.environ.get(ISOLATED):
        command = ["unshare", "--net", sys.executable, "-m", "cluster_proofs", *sys.argv[1:]]
        os.execvpe("unshare", command, {**os.environ, ISOLATED: "1"})  # noqa: S606, S607 - itself
    root = Path(tempfile.mkdtemp(prefix="executor-cluster-"))
    if given.measure:
        print(json.dumps(measure(root, given.measure, given.workers, given.parked), indent=2))
        return 0
    if given.journals:
        load = Load(seconds=3.0, at_once=given.at_once, calls=5)
        print(json.dumps(measure_journals(given.journals, load, commit_ms=given.commit_ms), indent=2))
        return 0
    if given.decisions:
        print(json.dumps(prove_decisions(root, given.decisions, given.seed), indent=2))
        return 0
    if given.upgrade:
        upgraded = prove_upgrade(root, given.upgrade)
        print(json.dumps(upgraded, indent=2))
        return 0 if upgraded["isWhole"] else 1
    print(f"seed {given.seed}, logs in {root}", file=sys.stderr)
    report = prove(root, given)
    print(json.dumps(report, indent=2))
    whole = (
        not report["lost"] and not report["problem"] and not any(report["eventsOutOfPlace"]) and report["auditIsWhole"]
    )  # type: ignore[arg-type]
    if whole and not given.keep:
        import shutil

        shutil.rmtree(root, ignore_errors=True)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
