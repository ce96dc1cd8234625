"""A worker that can't read the database while it sends a call: the code is not told of it, another attempt is made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.conditions import wait_for

LARGE = "return 'x'.repeat(100_000)"
READ = "return (await tools.executor.artifacts.read({id: '%s'})).value.length"
BLOCKED = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    " AND application_name LIKE 'executor%' AND query LIKE '%artifacts%'"
)
ATTEMPTS = 2  # of a read: with the connection that it had, and with a new one


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, postgres.server(), apis=1, workers=1, lease=15)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def break_reads(cluster: Cluster, times: int) -> None:
    for _ in range(times):
        [pid, *_] = wait_for(lambda: [row[0] for row in cluster.query(BLOCKED)], "a read waits")
        cluster.query(f"SELECT pg_terminate_backend({pid}, 60000)")


def test_a_read_of_the_database_that_fails_while_a_call_is_sent_is_no_answer_to_it(cluster: Cluster) -> None:
    api = cluster.apis[0]
    with psycopg.connect(postgres.server().url(cluster.name)) as session:
        large = api.post("/v1/executions", {"code": LARGE, "wait": 60, "result": "preview"})
        session.execute("LOCK TABLE artifacts IN ACCESS EXCLUSIVE MODE")
        reading = api.post("/v1/executions", {"code": READ % large["artifact"]["id"], "wait": 0})["executionId"]
        break_reads(cluster, ATTEMPTS)
        session.rollback()
    ended = api.get(f"/v1/executions/{reading}?wait=120")
    assert (ended["status"], ended.get("result"), ended.get("error")) == ("completed", 100_000, None)
