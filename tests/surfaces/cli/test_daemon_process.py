"""The daemon's life as the CLI sees it."""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from executor.daemon import lock
from executor.surfaces.cli import exit_codes
from tests.daemon.test_lock import holding_process
from tests.support.conditions import wait_for
from tests.surfaces.cli.conftest import Cli


def daemons_of(cli: Cli) -> list[int]:
    wanted = str(cli.data_dir)
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if "--foreground" in (process.info["cmdline"] or ()):
            try:
                if process.environ().get("EXECUTOR_DATA_DIR") == wanted and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
            except psutil.Error:
                continue
    return found


def test_status_never_starts_it_and_tells_that_it_does_not_run(cli: Cli) -> None:
    done = cli("status", "--json")
    assert done.code == exit_codes.UNREACHABLE
    assert done.json["running"] is False
    assert cli("status").code == exit_codes.UNREACHABLE
    assert not cli.data_dir.exists()


def test_up_starts_it_status_shows_it_and_down_stops_it(own: Cli) -> None:
    started = own("up", "--json").json
    assert started["started"] is True
    status = own("status", "--json").json
    assert (status["running"], status["pid"]) == (True, started["pid"])
    assert status["address"] == started["address"]
    again = own("up", "--json").json
    assert (again["started"], again["pid"]) == (False, started["pid"])
    assert own("down", "--json").json == {"stopped": True, "pid": started["pid"]}
    assert not psutil.pid_exists(started["pid"]) or psutil.Process(started["pid"]).status() == psutil.STATUS_ZOMBIE
    assert own("status").code == exit_codes.UNREACHABLE
    assert own("down", "--json").json == {"stopped": False, "pid": None}


def test_its_files_are_for_the_owner_alone(own: Cli) -> None:
    assert own("up").code == 0
    for path in (own.data_dir, *own.data_dir.rglob("*")):
        assert not path.stat().st_mode & 0o077, path


def test_of_twenty_started_at_once_exactly_one_stays(own: Cli) -> None:
    many = [own.start("up", "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(20)]
    told = [json.loads(process.communicate(timeout=120)[0]) for process in many]
    assert {process.returncode for process in many} == {0}
    assert len({each["pid"] for each in told}) == 1
    wait_for(lambda: len(daemons_of(own)) == 1)


def test_a_daemon_killed_while_starting_blocks_nothing(own: Cli) -> None:
    with own.start("up", stderr=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        wait_for(lambda: bool(lock.holder(own.data_dir / "daemon.lock")))
        pid = lock.holder(own.data_dir / "daemon.lock")
        assert pid
        os.kill(pid, signal.SIGKILL)
        _, said = first.communicate(timeout=60)
    assert first.returncode in (exit_codes.COMPLETED, exit_codes.UNREACHABLE)
    if first.returncode:
        assert "died while starting" in said
    assert own("up").code == exit_codes.COMPLETED


def test_after_kill_9_the_next_command_starts_a_new_one(own: Cli) -> None:
    assert own("up").code == 0
    pid = own.daemon["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: lock.holder(own.data_dir / "daemon.lock") is None)
    assert own("status").code == exit_codes.UNREACHABLE
    assert own("executions", "list", "--json").code == exit_codes.COMPLETED
    assert own.daemon["pid"] != pid


def test_a_taken_port_is_reported_with_its_number(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = cli("up", "--json", EXECUTOR_PORT=port)
    assert done.code == exit_codes.UNREACHABLE
    assert done.json["error"]["code"] == "port_taken"
    assert port in done.json["error"]["message"]
    assert "EXECUTOR_PORT" in done.json["error"]["hint"]


def test_a_database_of_a_newer_version_is_reported(own: Cli) -> None:
    import sqlite3

    assert own("up").code == 0
    assert own("down").code == 0
    with sqlite3.connect(own.data_dir / "executor.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    done = own("call", "--json", "return 1")
    assert done.code == exit_codes.UNREACHABLE
    assert done.json["error"]["code"] == "newer_database"
    assert done.json["executionId"] is None
    checks = {check["name"]: check for check in own("doctor", "--json").json["checks"]}
    assert checks["schema"]["status"] == "failure"


def test_a_damaged_database_is_reported(cli: Cli) -> None:
    cli.data_dir.mkdir(mode=0o700)
    (cli.data_dir / "executor.db").write_bytes(b"not a database at all" * 1000)
    done = cli("up", "--json")
    assert done.code == exit_codes.UNREACHABLE
    assert done.json["error"]["code"] == "storage_damaged"
    assert cli("doctor").code == exit_codes.FAILED


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/bin/mount").exists(), reason="needs to mount a read-only directory")
def test_a_read_only_data_directory_is_reported(cli: Cli) -> None:
    cli.data_dir.mkdir(mode=0o700)
    if subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "ro,mode=700", "none", cli.data_dir], check=False).returncode:
        pytest.skip("may not mount here")
    try:
        done = cli("up", "--json")
    finally:
        subprocess.run(["/bin/umount", cli.data_dir], check=True)
    assert done.code == exit_codes.UNREACHABLE
    assert done.json["error"]["code"] == "data_directory_unusable"
    assert "EXECUTOR_DATA_DIR" in done.json["error"]["hint"]


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/bin/mount").exists(), reason="needs to mount a small directory")
def test_a_full_data_directory_is_reported(cli: Cli) -> None:
    cli.data_dir.mkdir(mode=0o700)
    if subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", cli.data_dir], check=False
    ).returncode:
        pytest.skip("may not mount here")
    try:
        with (cli.data_dir / "daemon.log").open("wb") as filler, pytest.raises(OSError, match="space"):
            filler.write(bytes(10_000_000))
            filler.flush()
        done = cli("up", "--json")
    finally:
        subprocess.run(["/bin/umount", cli.data_dir], check=True)
    assert done.code == exit_codes.UNREACHABLE
    assert done.json["error"]["code"] == "storage_full"


def test_a_data_directory_locked_by_something_else_is_reported(cli: Cli) -> None:
    cli.data_dir.mkdir(mode=0o700)
    with holding_process(cli.data_dir / "daemon.lock") as other:
        done = cli("up", "--foreground")
        assert done.code == exit_codes.UNREACHABLE
        assert str(other.pid) in done.err
        assert cli("status", "--json").json["state"] == "starting"


class Stranger(http.server.BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(str(self.headers))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET  # noqa: N815 - the standard library's name

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def stranger() -> Iterator[tuple[int, list[str]]]:
    seen: list[str] = []
    handler = type("Handler", (Stranger,), {"seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], seen
        server.shutdown()


def test_a_stranger_on_the_port_never_sees_a_token(own: Cli, stranger: tuple[int, list[str]]) -> None:
    """The daemon was killed, its record lies there, and somebody else took its port; even its pid is alive again."""
    port, seen = stranger
    assert own("up").code == 0
    record = own.daemon
    assert own("down").code == 0
    for pid in (record["pid"], os.getpid()):
        (own.state_dir / "daemon.json").write_text(json.dumps({**record, "port": port, "pid": pid}))
        assert own("status").code == exit_codes.UNREACHABLE
        assert own("call", "return 1", EXECUTOR_PORT=str(port)).code == exit_codes.UNREACHABLE
    assert seen == []


def test_down_signals_no_one_who_merely_has_the_number(own: Cli) -> None:
    assert own("up").code == 0
    record = own.daemon
    assert own("down").code == 0
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        (own.state_dir / "daemon.json").write_text(json.dumps({**record, "pid": bystander.pid}))
        (own.state_dir / "daemon.pid").write_text(f"{bystander.pid}\n")
        assert own("down", "--json").json["stopped"] is False
        assert bystander.poll() is None
        bystander.kill()


def test_two_data_directories_can_not_share_a_state_directory(own: Cli, tmp_path: Path) -> None:
    assert own("up").code == 0
    other = {"EXECUTOR_DATA_DIR": str(tmp_path / "other"), "EXECUTOR_STATE_DIR": str(own.state_dir)}
    done = own("up", **other)
    assert done.code == exit_codes.UNREACHABLE
    assert "EXECUTOR_STATE_DIR" in done.err
    assert own("status").code == exit_codes.COMPLETED


def test_in_the_foreground_it_runs_until_it_is_asked_to_stop(own: Cli) -> None:
    with own.start("up", "--foreground", stderr=subprocess.PIPE) as process:
        wait_for(lambda: (own.state_dir / "daemon.json").exists())
        assert own.daemon["pid"] == process.pid
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
    assert process.returncode == exit_codes.COMPLETED
    assert "listening on http://127.0.0.1:" in said
    assert not (own.state_dir / "daemon.json").exists()
    assert not (own.state_dir / "daemon.pid").exists()


def test_the_log_is_json_lines(own: Cli) -> None:
    assert own("up").code == 0
    assert own("down").code == 0
    lines = [json.loads(line) for line in (own.state_dir / "daemon.log").read_text().splitlines()]
    assert [line["event"] for line in lines if line["logger"] == "executor.daemon.main"] == [
        "daemon.starting",
        "daemon.ready",
        "daemon.stopping",
        "daemon.stopped",
    ]


def test_doctor_works_without_and_with_a_daemon(cli: Cli) -> None:
    before = cli("doctor", "--json")
    assert before.code == exit_codes.COMPLETED
    assert not cli.data_dir.exists()
    assert cli("up").code == 0
    after = cli("doctor", "--json").json
    names = {check["name"] for check in after["checks"]}
    assert {"python", "data directory", "disk space", "database", "schema", "daemon", "sandbox engine"} <= names
    assert all(set(check) == {"name", "status", "message", "hint"} for check in after["checks"])


def test_doctor_points_out_what_is_wrong(own: Cli) -> None:
    assert own("up").code == 0
    (own.data_dir / "operator.token").chmod(0o644)
    done = own("doctor", "--json", EXECUTOR_PROT="1")
    checks = {check["name"]: check for check in done.json["checks"]}
    assert done.code == exit_codes.FAILED
    assert (checks["operator.token"]["status"], checks["environment"]["status"]) == ("failure", "warning")
    assert "chmod 600" in checks["operator.token"]["hint"]
    assert "EXECUTOR_PROT" in checks["environment"]["message"]


def test_a_command_given_while_the_daemon_stops_gets_the_next_one(own: Cli) -> None:
    assert own("up").code == 0
    pid = own.daemon["pid"]
    os.kill(pid, signal.SIGTERM)
    done = own("call", "return 1")
    assert (done.code, done.out) == (exit_codes.COMPLETED, "1\n"), done.err
    assert own.daemon["pid"] != pid
