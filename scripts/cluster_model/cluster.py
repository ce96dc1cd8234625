"""A cluster as queues: clients, API replicas, workers and a PostgreSQL server."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from functools import partial

from cluster_model.queues import Chains, Clock, Lane, Processors

PAUSE = 15.0  # between two notifications of a process, as in storage/postgres/notices.py
SESSIONS = 16  # of the server that work for one act at the same time
WRITES = 2  # of an execution besides those of its calls: submit, finish


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU, for a call or for an act. `loop` is a worker's without its sandboxes."""

    loop: float
    sandbox: float
    api: float
    postgres: float
    hear_api: float
    hear_worker: float
    hear_postgres: float
    look_worker: float
    look_postgres: float
    notify_postgres: float
    transaction: float  # of a process, and of the server, besides its writes
    transaction_postgres: float
    idle: float  # of each process in each second, and of the server for it
    idle_postgres: float


@dataclass(frozen=True, slots=True)
class Shape:
    """`shared` is the speed of two processors that everything shares; 0 if each process has processors of its own."""

    workers: int
    apis: int
    at_once: int
    workspaces: int = 1
    calls: int = 5
    upstream: float = 0.0
    trip: float = 0.1
    flush: float = 0.0
    postgres_processors: int = 16
    sandboxes: int = 2
    places: int = 32
    shared: float = 0.0


class Process:
    def __init__(self, cluster: Cluster, part: str, loop: Processors, sandboxes: Processors) -> None:
        self.cluster, self.part, self.loop, self.sandboxes = cluster, part, loop, sandboxes
        shape, transaction = cluster.shape, cluster.costs.transaction
        prepare = partial(self.use, transaction)
        self.lane = Lane(
            cluster.clock, cluster.chains, shape.trip, shape.flush, prepare=prepare, serve=cluster.serve_writes
        )
        self.room = cluster.shape.places
        self._next_at = 0.0
        self._is_due = False
        self._queued = 0
        self._heard = 0.0

    def use(self, cpu: float) -> float:
        """After what it has heard since it last did something."""
        self.cluster.used[self.part] += cpu
        return self.loop.use(cpu + self.hear())

    def hear(self) -> float:
        heard, self._heard = self._heard, self.cluster.heard[self.part]
        return self._heard - heard

    def announce(self, queued: int) -> None:
        """At once, if the last one is some milliseconds ago; else with what follows."""
        self._queued += queued
        if not self._is_due:
            self._is_due = True
            self.cluster.clock.at(max(self.cluster.clock.now, self._next_at), self._send)

    def _send(self) -> None:
        queued, self._queued, self._is_due = self._queued, 0, False
        sent = self.cluster.notify(queued)
        self._next_at = max(sent, self.cluster.clock.now + PAUSE)


class Cluster:
    def __init__(self, costs: Costs, shape: Shape, seed: int = 1) -> None:
        self.costs, self.shape, self.clock, self.chance = costs, shape, Clock(), random.Random(seed)
        host = Processors(self.clock, 2, shape.shared) if shape.shared else None
        self.server = host or Processors(self.clock, shape.postgres_processors)
        self.chains = Chains(self.clock)
        self.heard = {"api": 0.0, "worker": 0.0}  # by each of them, in CPU
        self.apis = [self._process("api", host) for _ in range(shape.apis)]
        self.workers = [self._process("worker", host) for _ in range(shape.workers)]
        self.queue: deque[int] = deque()
        self._is_look_due, self._looks_until = False, 0.0
        self.calls = self.notices = self.transactions = 0
        self.used = dict.fromkeys(("api", "worker", "postgres"), 0.0)

    def _process(self, part: str, host: Processors | None) -> Process:
        loop = host or Processors(self.clock, 1)
        return Process(self, part, loop, host or Processors(self.clock, self.shape.sandboxes))

    def run(self, milliseconds: float, most: int = 1_500_000) -> None:
        """The first quarter warms up."""
        for number in range(self.shape.at_once):
            submit = partial(self._submit, number % self.shape.workspaces)
            self.clock.at(self.chance.uniform(0, milliseconds / 8), submit)
        self.clock.run(milliseconds / 4, most // 4)
        self.reset()
        self.clock.run(milliseconds, most)
        seconds = (self.clock.now - self.chains.begun) / 1000
        for one in (*self.apis, *self.workers):
            one.loop.use(one.hear())
            self.spend(one.part, one.loop, self.costs.idle * seconds)
            self.spend("postgres", self.server, self.costs.idle_postgres * seconds)

    def reset(self) -> None:
        self.calls = self.notices = self.transactions = 0
        self.used = dict.fromkeys(self.used, 0.0)
        for process in (*self.apis, *self.workers):
            process.hear()
        for one in (self.server, self.chains, *(process.loop for process in (*self.apis, *self.workers))):
            one.reset()

    def spend(self, part: str, processors: Processors, cpu: float) -> float:
        self.used[part] += cpu
        return processors.use(cpu)

    def serve_writes(self, cpu: float) -> float:
        self.transactions += 1
        return self.spend("postgres", self.server, cpu + self.costs.transaction_postgres)

    # -- notifications ------------------------------------------------------------------------------------------------

    def notify(self, queued: int) -> float:
        """Everyone hears it. When the sender has the answer."""
        costs, hearing = self.costs, len(self.apis) + len(self.workers)
        self.notices += 1
        sent = self.spend("postgres", self.server, costs.notify_postgres)
        self._spread(hearing * costs.hear_postgres)
        each = {"api": costs.hear_api, "worker": costs.hear_worker}
        for part, number in (("api", len(self.apis)), ("worker", len(self.workers))):
            self.heard[part] += each[part]
            self.used[part] += each[part] * number
        if queued and not self._is_look_due:
            self._is_look_due = True
            self.clock.at(max(sent, self._looks_until), self._look)
        return sent

    def _spread(self, cpu: float) -> float:
        """Sessions of the server work at the same time."""
        return max(self.spend("postgres", self.server, cpu / SESSIONS) for _ in range(SESSIONS))

    def _look(self) -> None:
        """Everyone with room looks for work. What is announced meanwhile is looked for afterwards."""
        self._is_look_due = False
        looking = sum(one.room > 0 for one in self.workers)
        self.heard["worker"] += self.costs.look_worker * looking / len(self.workers)
        self.used["worker"] += self.costs.look_worker * looking
        done = self._spread(self.costs.look_postgres * looking)
        self._looks_until = done + 2.5 * self.shape.trip
        self.clock.at(self._looks_until, self._claim)

    def _claim(self) -> None:
        ready = [one for one in self.workers if one.room > 0]
        self.chance.shuffle(ready)
        for one in ready:
            while self.queue and one.room > 0:
                one.room -= 1
                self._call(one, self.queue.popleft(), self.shape.calls)
            if not self.queue:
                return

    # -- an execution -------------------------------------------------------------------------------------------------

    def _submit(self, workspace: int) -> None:
        api = self.chance.choice(self.apis)
        done = api.use(self.costs.api * self.shape.calls / 2)
        self.clock.at(done, lambda: self._write(api, workspace, lambda: self._enqueue(api, workspace)))

    def _enqueue(self, api: Process, workspace: int) -> None:
        self.queue.append(workspace)
        api.announce(1)

    def _write(self, process: Process, workspace: int, then) -> None:  # type: ignore[no-untyped-def]
        cpu = self.costs.postgres * self.shape.calls / (self.shape.calls + WRITES)
        process.lane.write(cpu, workspace, then)

    def _call(self, worker: Process, workspace: int, left: int) -> None:
        if not left:
            self._write(worker, workspace, lambda: self._finish(worker, workspace))
            return
        ran = self.spend("worker", worker.sandboxes, self.costs.sandbox)
        handled = max(ran, worker.use(self.costs.loop))
        self.clock.at(handled, lambda: self._write(worker, workspace, lambda: self._sent(worker, workspace, left)))

    def _sent(self, worker: Process, workspace: int, left: int) -> None:
        worker.announce(0)

        def answer() -> None:
            self.calls += 1
            self._call(worker, workspace, left - 1)

        taken = self.chance.expovariate(1 / self.shape.upstream) if self.shape.upstream else 0.0
        self.clock.at(self.clock.now + taken, answer)

    def _finish(self, worker: Process, workspace: int) -> None:
        worker.room += 1
        worker.announce(0)
        api = self.chance.choice(self.apis)
        done = api.use(self.costs.api * self.shape.calls / 2)
        self.clock.at(done, lambda: self._submit(workspace))
        if self.queue:
            self._claim()
