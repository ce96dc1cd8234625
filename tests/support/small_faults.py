"""Faults that pass in a moment, so that a test can have many: a broken connection, a dead sandbox, a short freeze."""

from __future__ import annotations

import collections
import os
import random
import signal
import time

import psutil

from tests.support.cluster import Cluster

SESSIONS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'executor%'"
LONGEST = 0.4  # seconds, far below a lease


class SmallFaults:
    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self.counts: collections.Counter[str] = collections.Counter()

    def strike(self, times: int) -> None:
        acts = {"session": self._break_session, "sandbox": self._kill_sandbox, "freeze": self._freeze}
        for _ in range(times):
            time.sleep(self._chance.uniform(0, 0.1))
            name = self._chance.choice(list(acts))
            self.counts[name] += acts[name]()

    def _break_session(self) -> bool:
        """Of any process, whatever it is used for."""
        sessions = sorted(row[0] for row in self._cluster.query(SESSIONS))
        pid = self._chance.choice(sessions)
        return bool(self._cluster.query(f"SELECT pg_terminate_backend({pid})")[0][0])

    def _kill_sandbox(self) -> bool:
        worker = self._chance.choice(self._cluster.workers).process
        assert worker is not None
        children = psutil.Process(worker.pid).children()
        if children:
            os.kill(self._chance.choice(children).pid, signal.SIGKILL)
        return bool(children)

    def _freeze(self) -> bool:
        member = self._chance.choice([*self._cluster.workers, *self._cluster.apis])
        self._cluster.freeze(member, self._chance.uniform(0.05, LONGEST))
        return True
