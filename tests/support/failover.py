"""Two PostgreSQL servers: a primary, and a synchronous standby that takes over when it fails."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from tests.support import postgres
from tests.support.conditions import wait_for

FOLLOWS = "SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming'"


class Pair:
    """Used like one server. Its URL names both, and leads to the one that takes writes."""

    def __init__(self, *, host: str = "") -> None:
        self.primary = postgres.Server(host=host)
        self.standby = postgres.Server(self.primary, host=host, port=self.primary.port + 1)
        self._servers = [self.standby, self.primary]  # so that the first one takes no writes
        self.stop, self.start = self.primary.stop, self.primary.start
        self._wait_for_standby()

    def fail_over(self, seconds: float = 0.0) -> None:
        """The primary is gone without a word; after some seconds, the standby takes its place."""
        self.primary.stop(postgres.CRASH)
        time.sleep(seconds)
        self.standby.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.standby.execute("SELECT pg_promote(true, 60)")
        self.primary, self.standby = self.standby, self.primary
        self.stop, self.start = self.primary.stop, self.primary.start

    def rebuild_standby(self) -> None:
        """From the server that takes writes now, in the place of the one that failed."""
        self.standby.follow(self.primary)
        self._wait_for_standby()

    def _wait_for_standby(self) -> None:
        self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.execute("SELECT pg_reload_conf()")
        wait_for(lambda: self.primary.execute(FOLLOWS), "the standby follows")

    def remove(self) -> None:
        for server in (self.standby, self.primary):
            server.remove()

    def client_url(self, database: str) -> str:
        hosts = quote(",".join(one.host or str(one.folder) for one in self._servers), safe="")
        return f"postgresql://postgres@/{database}?host={hosts}&port={','.join(str(one.port) for one in self._servers)}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        return self.primary.execute(statement, database)

    def create(self) -> str:
        return self.primary.create()
