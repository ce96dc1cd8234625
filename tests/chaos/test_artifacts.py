"""`kill -9` while large results are being kept: each is there once and whole, or not yet."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.ledger import running_ledger

CODE = """
const parts = [];
for (let i = 0; i < 4; i++) parts.push((await tools.ledger.big.big({bytes: 300000 + i})).data.length);
return {parts, text: Array.from({length: 60000}, (_, i) => i)};
"""
LARGE = 4 + 1  # results of calls, and the execution's own


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running_ledger(tmp_path / "effects") as address:
        daemon = Daemon(tmp_path)
        daemon.start()
        try:
            daemon.add_source({"location": f"{address}/openapi.json", "namespace": "ledger"})
            yield daemon
        finally:
            daemon.stop()


def test_a_kill_leaves_every_artifact_whole_and_none_twice(daemon: Daemon) -> None:
    ids: list[str] = []
    for delay in (0.05, 0.15, 0.4):
        ids += [daemon.post("/v1/executions", {"code": CODE, "wait": 0})["executionId"] for _ in range(2)]
        time.sleep(delay)
        daemon.kill()
        check_whole(daemon.data_dir / "executor.db")
        daemon.start()
    for execution_id in ids:
        view = daemon.request("GET", f"/v1/executions/{execution_id}?wait=60", timeout=90)
        assert view["status"] == "completed", view["error"]
        assert view["result"] == {"parts": [300_000 + i for i in range(4)], "text": list(range(60_000))}
        kept: list[Any] = daemon.get(f"/v1/artifacts?execution={execution_id}")["items"]
        assert sorted(one["call"] or 0 for one in kept) == list(range(LARGE))
        assert daemon.post(f"/v1/executions/{execution_id}/replay")["matches"]
    check_whole(daemon.data_dir / "executor.db")


def check_whole(path: Path) -> None:
    """Every artifact has its content, every content belongs to an artifact, and is what its digest says."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        known = set(database.execute("select execution_id, digest from artifacts"))
        found: dict[tuple[str, str], bytes] = {}
        for execution_id, digest, data in database.execute(
            "select execution_id, digest, data from chunks order by execution_id, digest, seq"
        ):
            found[execution_id, digest] = found.get((execution_id, digest), b"") + data
    database.close()
    assert found.keys() == known
    assert all(hashlib.sha256(data).hexdigest() == digest for (_, digest), data in found.items())
