"""A database that is lost, emptied, damaged, older or somebody else's is noticed at the start and never overwritten."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.surfaces.api.daemon_server import running_daemon

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped installation with some history, and an older copy of its database as a backup would be."""
    root = tmp_path_factory.mktemp("installation")
    daemon = Daemon(root)
    daemon.start()
    for number in range(20):
        daemon.post("/v1/executions", {"code": f"return {number}", "wait": 30})
    live, backup = sqlite3.connect(daemon.data_dir / "executor.db"), sqlite3.connect(root / "backup.db")
    with closing(live), closing(backup):
        live.backup(backup)
    daemon.post("/v1/executions", {"code": "return 'after the backup'", "wait": 30})
    daemon.stop()
    return root


@pytest.fixture
def daemon(installation: Path, tmp_path: Path) -> Iterator[Daemon]:
    shutil.copytree(installation / "data", tmp_path / "data")
    made = Daemon(tmp_path)
    yield made
    made.stop()


def database(daemon: Daemon) -> Path:
    return daemon.data_dir / "executor.db"


def up(daemon: Daemon, *words: str) -> Any:
    """What `executor up --json` says; None for the error when it started."""
    command = [sys.executable, "-m", "executor", "up", *words, "--json"]
    done = subprocess.run(command, env=daemon.environ, capture_output=True, text=True, timeout=120, check=False)
    told = json.loads(done.stdout)
    assert "sqlalche" not in done.stdout + done.stderr
    assert (done.returncode == 0) == ("error" not in told)
    return told.get("error")


def down(daemon: Daemon) -> None:
    subprocess.run([sys.executable, "-m", "executor", "down"], env=daemon.environ, check=True, capture_output=True)


def digest(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and "state" not in path.parts)
    passing = ("executor.db-wal", "executor.db-shm")  # readers make them; no data is in them after a clean stop
    kept = (path for path in files if not path.name.startswith("daemon.") and path.name not in passing)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


def remove(path: Path) -> None:
    path.unlink()


def truncated_to_nothing(path: Path) -> None:
    path.write_bytes(b"")


def replaced_by_an_empty_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as c:
        c.execute("CREATE TABLE unrelated (id)")
    c.close()


def emptied_of_every_row(path: Path) -> None:
    with sqlite3.connect(path) as c:
        for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if name != "alembic_version":
                c.execute(f"DELETE FROM {name}")  # noqa: S608
    c.close()


@pytest.mark.parametrize("lost", [remove, truncated_to_nothing, replaced_by_an_empty_database, emptied_of_every_row])
def test_a_lost_or_emptied_database_never_becomes_a_new_installation(daemon: Daemon, lost: Damage) -> None:
    lost(database(daemon))
    before = digest(daemon.data_dir)
    error = up(daemon)
    assert error["code"] == "database_missing"
    assert "--new" in error["hint"]
    assert digest(daemon.data_dir) == before


def test_a_lost_database_is_noticed_without_a_record_too(daemon: Daemon) -> None:
    (daemon.data_dir / "installation.json").unlink()
    database(daemon).write_bytes(b"")
    assert up(daemon)["code"] == "database_missing"


def test_beginning_with_an_empty_database_takes_an_explicit_word(daemon: Daemon) -> None:
    database(daemon).unlink()
    assert up(daemon)["code"] == "database_missing"
    assert up(daemon, "--new") is None
    assert daemon.get("/v1/executions")["items"] == []
    down(daemon)


def test_beginning_again_never_overwrites_a_database(daemon: Daemon) -> None:
    before = digest(daemon.data_dir)
    assert up(daemon, "--new")["code"] == "invalid_request"
    assert digest(daemon.data_dir) == before


def first_header_bytes(path: Path) -> None:
    _overwrite(path, 0, b"another format\0\0")


def half_of_the_file(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 8192 * 4096)


def a_table(path: Path) -> None:
    _overwrite(path, _root(path, "executions") * 4096 - 4096, b"\xff" * 4096)


def an_index(path: Path) -> None:
    """As if the rows were not there: a list by this index would answer that there are no executions."""
    _overwrite(path, _root(path, "ix_executions_workspace_id_status_id") * 4096 - 4096 + 3, b"\x00\x00")


def one_letter_in_an_index(path: Path) -> None:
    data = path.read_bytes()
    at = data.index(b"exec_", (_root(path, "ix_executions_workspace_id_status_id") - 1) * 4096)
    _overwrite(path, at, b"eXec_")


def _root(path: Path, name: str) -> int:
    with sqlite3.connect(path) as c:
        root: int = c.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
    c.close()
    return root


def _overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize("damage", [first_header_bytes, half_of_the_file, a_table, an_index, one_letter_in_an_index])
def test_a_damaged_database_is_refused_and_left_as_it_is(daemon: Daemon, damage: Damage) -> None:
    damage(database(daemon))
    before = digest(daemon.data_dir)
    error = up(daemon)
    assert error["code"] == "storage_damaged"
    assert "backup" in error["hint"]
    assert digest(daemon.data_dir) == before


def test_an_older_copy_is_refused_until_someone_says_that_it_was_restored(installation: Path, daemon: Daemon) -> None:
    shutil.copy(installation / "backup.db", database(daemon))
    error = up(daemon)
    assert error["code"] == "database_unexpected"
    assert "older" in error["message"]
    assert up(daemon, "--restored") is None
    assert len(daemon.get("/v1/executions")["items"]) == 20
    down(daemon)


def test_a_lost_write_ahead_log_is_noticed(daemon: Daemon) -> None:
    daemon.start()
    daemon.post("/v1/executions", {"code": "return 1", "wait": 30})
    daemon.kill()
    (daemon.data_dir / "executor.db-wal").unlink()
    assert up(daemon)["code"] == "database_unexpected"


def test_the_database_of_another_installation_is_refused(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with running_daemon(tmp_path / "other"):
        pass
    shutil.copy(tmp_path / "other" / "executor.db", database(daemon))
    error = up(daemon)
    assert error["code"] == "database_unexpected"
    assert "another installation" in error["message"]


def test_a_killed_daemon_starts_again_with_its_own_database(daemon: Daemon) -> None:
    daemon.start()
    daemon.post("/v1/executions", {"code": "return 1", "wait": 30})
    daemon.kill()
    daemon.start()
    assert len(daemon.get("/v1/executions?limit=500")["items"]) == 22


def test_damage_met_while_running_is_reported_as_such_and_nothing_more_is_written(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as live:
        for number in range(20):
            live.execute(f"return {number}")
        with sqlite3.connect(tmp_path / "executor.db") as c:
            c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        c.close()
        for name in ("executions", "ix_executions_workspace_id_status_id"):
            _overwrite(tmp_path / "executor.db", _root(tmp_path / "executor.db", name) * 4096 - 4096, b"\xff" * 4096)
        live.executor.database.engine.dispose()
        answer = live.get("/v1/executions?status=completed")
        assert (answer.status, answer.json["code"]) == (503, "storage_damaged")
        assert live.post("/v1/executions", {"code": "return 1"}).json["code"] == "storage_damaged"
