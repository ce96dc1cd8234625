"""Real processes that share a PostgreSQL database: API replicas and workers, each with a data directory of its own."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import pgbouncer, postgres
from tests.support.conditions import wait_for
from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.failover import Pair
from tests.support.network import Network

SHARED = ("operator.token", "agent.token", "secret.key")


class Cluster:
    def __init__(
        self,
        root: Path,
        server: postgres.Server | Pair,
        *,
        apis: int,
        workers: int,
        lease: int,
        pooler: Path | None = None,
        network: Network | None = None,
        **more: str,
    ) -> None:
        """`pooler` is the folder of a PgBouncer. With a `network`, each process has a machine of its own."""
        self.root = root
        self.server = server
        self.name = server.create()
        self.lease = lease
        self.network = network
        url = server.client_url(self.name)
        urls = {"EXECUTOR_DATABASE_URL": url}
        if pooler is not None:
            urls = {"EXECUTOR_DATABASE_URL": pgbouncer.url(pooler, self.name), "EXECUTOR_DATABASE_DIRECT_URL": url}
        self._variables = {**urls, "EXECUTOR_LEASE_SECONDS": str(lease), **more}
        self.apis = [self._member("serve", number) for number in range(apis)]
        self.workers = [self._member("worker", number) for number in range(workers)]
        migrated = self.run("db", "migrate")
        assert migrated.returncode == 0, migrated.stderr

    def _member(self, role: str, number: int) -> Daemon:
        root = self.root / f"{role}-{number}"
        (root / "data").mkdir(parents=True, mode=0o700)
        member = Daemon(root, **self._variables)
        member.command = [sys.executable, "-m", "executor", role]
        if self.network is not None:
            machine = self.network.add_machine()
            member.host = member.environ["EXECUTOR_HOST"] = machine.address
            member.command = [*machine.prefix, *member.command]
        return member

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "executor", *arguments]
        environ = {**self.apis[0].environ, **variables}
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)

    def start(self, *, workers: int | None = None) -> None:
        """The first one alone: it makes the tokens that the others are given."""
        for member in (*self.apis, *self.workers[:workers]):
            self.start_member(member)

    def start_member(self, member: Daemon) -> None:
        first = self.apis[0]
        for name in SHARED if member is not first else ():
            if (first.data_dir / name).exists():
                shutil.copy(first.data_dir / name, member.data_dir / name)
        member.start()
        wait_for(lambda: is_ready(member), f"{member.data_dir.parent.name} is ready")

    def stop(self) -> None:
        for member in (*self.workers, *self.apis):
            if member.process is not None and member.process.poll() is None:
                member.process.send_signal(signal.SIGCONT)
                member.process.terminate()
        for member in (*self.workers, *self.apis):
            if member.process is not None:
                try:
                    member.process.wait(60)
                except subprocess.TimeoutExpired:
                    member.process.kill()

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, self.name)

    def freeze(self, member: Daemon, seconds: float) -> None:
        signal_to(member, signal.SIGSTOP)
        time.sleep(seconds)
        signal_to(member, signal.SIGCONT)


def signal_to(member: Daemon, number: int) -> None:
    assert member.process is not None
    os.kill(member.process.pid, number)


def is_ready(member: Daemon) -> bool:
    assert member.process is not None and member.process.poll() is None, member.log.read_text()[-3000:]
    try:
        with urllib.request.urlopen(f"{member.url}/readyz", timeout=5):
            return True
    except (*DOWN, urllib.error.HTTPError):
        return False


class AnyReplica(Daemon):
    """Each request goes to another replica, and to the next one if that is down."""

    def __init__(self, replicas: list[Daemon], chance: random.Random) -> None:
        self._replicas = replicas
        self._chance = chance

    def request(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        ends = time.monotonic() + 120
        while True:
            replica = self._chance.choice(self._replicas)
            try:
                return replica.request(method, path, body, **more)
            except DOWN:
                if method != "GET" or time.monotonic() > ends:
                    raise
            except Refused as error:
                if error.status != 503 or method != "GET" or time.monotonic() > ends:
                    raise
            time.sleep(0.1)


class Follower:
    """Follows every event of the workspace as a stream, from another replica each time it is cut off."""

    def __init__(self, replicas: list[Daemon], token: Callable[[], str]) -> None:
        self._replicas = replicas
        self._token = token
        self.ids: list[int] = []
        self.cuts = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        number = 0
        while not self.ended.is_set():
            try:
                self._read(self._replicas[number % len(self._replicas)])
            except (*DOWN, OSError, ValueError):
                self.ended.wait(0.2)
            number += 1
            self.cuts = number

    def _read(self, replica: Daemon) -> None:
        connection = http.client.HTTPConnection(replica.host, replica.port, timeout=60)
        headers = {"Authorization": f"Bearer {self._token()}", "Accept": "text/event-stream"}
        try:
            connection.request("GET", f"/v1/events?after={self.ids[-1] if self.ids else 0}", headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise ValueError(answer.status)
            while not self.ended.is_set():
                line = answer.readline()
                if not line:
                    return
                if line.startswith(b"id:"):
                    self.ids.append(int(line[3:]))
                elif line.startswith(b"data:") and not self.ids:
                    json.loads(line[5:])
        finally:
            connection.close()
