"""Faults of processes, of the database and of the network between them."""

from __future__ import annotations

import collections
import random
import signal
import time
from collections.abc import Sequence

from tests.support import postgres
from tests.support.cluster import Cluster, is_ready, signal_to
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.failover import Pair

WEIGHTS = {
    "kill worker": 8,
    "kill api": 3,
    "freeze worker": 4,
    "freeze api": 1,
    "stop worker": 2,
    "restart": 1,
    "crash": 1,
}
FAILOVER = {"fail over": 3}  # with a standby
CUTS = {"cut worker": 4, "cut api": 1}  # with a network
BACK_SECONDS = 240.0


class Faults:
    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.counts: collections.Counter[str] = collections.Counter()
        self._weights = {
            **WEIGHTS,
            **(FAILOVER if isinstance(cluster.server, Pair) else {}),
            **(CUTS if cluster.network is not None else {}),
        }

    def strike(self) -> None:
        fault = self.chance.choices(list(self._weights), list(self._weights.values()))[0]
        kind, _, whom = fault.partition(" ")
        members = self.cluster.workers if whom == "worker" else self.cluster.apis
        if kind in ("restart", "crash", "fail"):
            self._strike_server(kind)
        else:
            self._strike_process(kind, self.chance.choice(members))
        self.counts[fault] += 1

    def _strike_server(self, kind: str) -> None:
        server = self.cluster.server
        if isinstance(server, Pair) and kind == "fail":
            server.fail_over(self.chance.uniform(0, 2))
            server.rebuild_standby()
            return
        server.stop(*([postgres.CRASH] if kind == "crash" else []))
        time.sleep(self.chance.uniform(0, 2))
        server.start()

    def _strike_process(self, kind: str, member: Daemon) -> None:
        if kind == "freeze":
            self.cluster.freeze(member, self._duration())
        elif kind == "cut":
            self._cut(member)
        else:
            member.stop() if kind == "stop" else member.kill()
            self.cluster.start_member(member)
        wait_for(lambda: is_ready(member), "it is back", seconds=BACK_SECONDS)

    def _cut(self, member: Daemon) -> None:
        """Between it and the database only: what it calls can still be reached."""
        network = self.cluster.network
        assert network is not None
        for port in self._ports():
            network.cut(member.host, port)
        time.sleep(self._duration())
        for port in self._ports():
            network.restore(member.host, port)

    def _ports(self) -> Sequence[int]:
        server = self.cluster.server
        return [one.port for one in (server.primary, server.standby)] if isinstance(server, Pair) else [server.port]

    def _duration(self) -> float:
        """Longer than a lease, or not quite."""
        return self.cluster.lease * self.chance.choice((0.8, 1.5, 2.5))

    def end(self) -> None:
        for member in (*self.cluster.workers, *self.cluster.apis):
            signal_to(member, signal.SIGCONT)
