"""Point-in-time restore of PostgreSQL, as docs/backup.md describes it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import postgres
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon

ARCHIVE = "test ! -f {0}/archive/%f && cp %p {0}/archive/%f"


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    """That archives its log."""
    made = postgres.Server()
    archive = made.folder / "archive"
    archive.mkdir(mode=0o777)
    archive.chmod(0o777)
    made.execute("ALTER SYSTEM SET archive_mode = on")
    made.execute(f"ALTER SYSTEM SET archive_command = '{ARCHIVE.format(made.folder)}'")
    made.stop()
    made.start()
    yield made
    made.remove()


def run(daemon: Daemon, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*daemon.command[:3], *arguments]
    return subprocess.run(command, env=daemon.environ, capture_output=True, text=True, timeout=240, check=False)


def results(daemon: Daemon) -> set[int]:
    ids = [item["executionId"] for item in daemon.get("/v1/executions?limit=100")["items"]]
    return {daemon.get(f"/v1/executions/{one}")["result"] for one in ids}


def test_a_database_is_restored_to_a_moment_and_its_audit_log_is_whole(tmp_path: Path, server: postgres.Server) -> None:
    name = server.create_migrated()
    daemon = Daemon(tmp_path, EXECUTOR_DATABASE_URL=server.url(name))
    daemon.start()
    try:
        daemon.post("/v1/executions", {"code": "return 1", "wait": 60})
        server.back_up("backup")
        daemon.post("/v1/executions", {"code": "return 2", "wait": 60})
        [(moment,)] = server.execute("SELECT clock_timestamp()")
        daemon.post("/v1/executions", {"code": "return 3", "wait": 60})
        assert results(daemon) == {1, 2, 3}
    finally:
        daemon.stop()
    [(segment,)] = server.execute("SELECT pg_walfile_name(pg_switch_wal())")
    wait_for(lambda: (server.folder / "archive" / segment).exists(), "the log is archived")
    server.restore(
        "backup",
        f"restore_command = 'cp {server.folder}/archive/%f %p'",
        f"recovery_target_time = '{moment.isoformat()}'",
        "recovery_target_action = promote",
    )
    wait_for(lambda: server.execute("SELECT pg_is_in_recovery()") == [(False,)], "the server takes writes")
    checked = run(daemon, "db", "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    refused = run(daemon, "up", "--foreground")
    assert refused.returncode != 0 and "--restored" in refused.stderr
    daemon.command.append("--restored")
    daemon.start()
    try:
        assert results(daemon) == {1, 2}
        verified = run(daemon, "audit", "verify")
        assert verified.returncode == 0, verified.stdout + verified.stderr
        assert daemon.post("/v1/executions", {"code": "return 4", "wait": 60})["result"] == 4
    finally:
        daemon.stop()
