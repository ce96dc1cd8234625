"""The daemon on PostgreSQL: it runs, asks, and survives being killed and a restart of the server."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.test_chaos import CODE, Human, judge, wait_for_all
from tests.sources.mcp.conftest import REAL
from tests.support import postgres
from tests.support.cluster import Follower
from tests.support.conditions import wait_for
from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.ledger import effects, running_ledger

COMMAND = [sys.executable, REAL, "stdio"]
PASSWORD = "canary-6f1e@/:#"
JOINED = (
    "INSERT INTO workers (id, host, role, place, version, lease_seconds, started_at, seen_at)"
    " VALUES ('proc_other', 'elsewhere', 'up', '', '0', 300, now(), now())"
)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    """Of its own, since it is stopped and started."""
    made = postgres.Server()
    made.execute(f"CREATE ROLE executor LOGIN PASSWORD '{PASSWORD}'")
    yield made
    made.remove()


@pytest.fixture(scope="module")
def url(server: postgres.Server) -> str:
    name = server.create()
    server.execute("GRANT ALL ON SCHEMA public TO executor", name)
    return server.url(name, "executor", PASSWORD)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    file = tmp_path_factory.mktemp("upstream") / "effects"
    with running_ledger(file, milliseconds=15) as address:
        yield address, file


def run(daemon: Daemon, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*daemon.command[:3], *arguments]
    variables = {**daemon.environ, **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, url: str, upstream: tuple[str, Path]) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_DATABASE_URL=url)
    refused = run(daemon, "up", "--foreground")
    assert refused.returncode == 5 and "executor db migrate" in refused.stderr, refused.stderr
    assert run(daemon, "db", "migrate").stdout.strip() == "migrated"
    assert run(daemon, "db", "migrate").stdout.strip() == "nothing to do"
    start(daemon)
    try:
        daemon.post("/v1/sources", {"location": f"{upstream[0]}/openapi.json", "namespace": "ledger"})
        daemon.post("/v1/policies", {"pattern": "ledger.entries.*", "action": "allow"})
        daemon.post("/v1/policies", {"pattern": "ledger.charges.*", "action": "allow"})
        yield daemon
    finally:
        daemon.stop()


def start(daemon: Daemon) -> None:
    """Until it is open: it answers before that."""
    daemon.start()
    wait_for(lambda: answers(daemon))


def answers(daemon: Daemon) -> bool:
    assert daemon.process is not None and daemon.process.poll() is None, daemon.log.read_text()[-2000:]
    try:
        return bool(daemon.get("/v1/status"))
    except (*DOWN, Refused):
        return False


def submit(daemon: Daemon, tag: str) -> str:
    answer = daemon.post("/v1/executions", {"code": CODE % tag, "runtime": "typescript", "wait": 0})
    return str(answer["executionId"])


def outcome(daemon: Daemon, execution_id: str) -> Any:
    return daemon.get(f"/v1/executions/{execution_id}")


def test_code_runs_and_a_person_decides(daemon: Daemon) -> None:
    assert daemon.get("/v1/status")["database"].startswith("PostgreSQL ")
    ran = daemon.post("/v1/executions", {"code": "console.log('hi'); return [1, 'é🦀'.length]", "wait": 120})
    assert (ran["status"], ran["result"], ran["logs"][0]["text"]) == ("completed", [1, 3], "hi")
    code = "return (await tools.ledger.transfers.transfer({key: 'approved-1'})).key"
    asked = daemon.post("/v1/executions", {"code": code, "wait": 120})
    assert asked["status"] == "paused"
    [interaction] = asked["interactions"]
    daemon.post(f"/v1/interactions/{interaction['id']}/approve", {})
    wait_for(lambda: outcome(daemon, asked["executionId"])["status"] == "completed")
    with pytest.raises(Refused) as refused:
        daemon.post(f"/v1/interactions/{interaction['id']}/deny", {})
    assert refused.value.status == 409


def test_a_browser_signs_in_once(daemon: Daemon) -> None:
    token = daemon.post("/v1/auth/links")["url"].partition("#")[2]
    assert daemon.post("/v1/auth/sign-in", {"token": token})["role"] == "owner"
    with pytest.raises(Refused) as refused:
        daemon.post("/v1/auth/sign-in", {"token": token})
    assert refused.value.status == 401


def test_code_with_nul_is_a_wrong_request_and_not_an_error_of_ours(daemon: Daemon) -> None:
    with pytest.raises(Refused) as refused:
        daemon.post("/v1/executions", {"code": "return 1 // \0", "wait": 60})
    assert refused.value.status in (400, 422), refused.value.problem
    called = daemon.post("/v1/executions", {"code": "return await tools['a\\0b'].c({})", "wait": 60})
    assert (called["status"], called["error"]["code"]) != ("failed", "internal"), called


def test_kills_and_restarts_of_the_server_lose_nothing_and_double_nothing(
    daemon: Daemon, upstream: tuple[str, Path], server: postgres.Server
) -> None:
    human = Human(daemon)
    human.thread.start()
    accepted: dict[str, str] = {}
    strikes = collections.deque(["kill", "restart", "kill", "crash"])
    while strikes:
        for number in range(3):
            tag = f"{len(strikes)}.{number}"
            accepted[submit(daemon, tag)] = tag
        time.sleep(0.2 * len(strikes))  # somewhere in the middle of them
        strike = strikes.popleft()
        if strike == "kill":
            daemon.kill()
            start(daemon)
        else:
            server.stop(*([postgres.CRASH] if strike == "crash" else []))
            server.start()
            wait_for(lambda: answers(daemon))
    wait_for_all(daemon, set(accepted))
    human.ended.set()
    human.thread.join()
    judge(daemon, accepted, upstream[1], human)
    assert run(daemon, "audit", "verify").returncode == 0


AWAY = """
await tools.ledger.entries.addEntry({key: "before"});
await tools.ledger.slow.wait({ms: 2000});
await tools.ledger.entries.addEntry({key: "after"});
return "done"
"""


def test_a_run_whose_database_goes_away_continues_when_it_is_back(
    daemon: Daemon, upstream: tuple[str, Path], server: postgres.Server
) -> None:
    """For longer than a write waits. What was sent is not sent again, and who follows misses nothing."""
    logged = len(daemon.log.read_text())
    follower = Follower([daemon], daemon.token)
    execution_id = str(daemon.post("/v1/executions", {"code": AWAY, "wait": 0})["executionId"])
    wait_for(lambda: ("entries", "before") in effects(upstream[1]) and follower.ids)
    wait_for(lambda: has_sent(daemon, execution_id, "ledger.slow.wait"), "its next call is under way")
    server.stop(postgres.CRASH)
    try:
        wait_for(lambda: "can't be written" in daemon.log.read_text()[logged:], "a write has given up")
        with pytest.raises((*DOWN, Refused)):
            outcome(daemon, execution_id)
    finally:
        server.start()
    wait_for(lambda: answers(daemon))
    wait_for(lambda: outcome(daemon, execution_id)["status"] not in ("queued", "running"), "it has ended")
    ended = outcome(daemon, execution_id)
    assert (ended["status"], ended["result"]) == ("completed", "done"), ended
    sent = collections.Counter(key for _, key in effects(upstream[1]))
    assert (sent["before"], sent["after"]) == (1, 1)
    known = [one["id"] for one in daemon.get(f"/v1/executions/{execution_id}/events?limit=500")["items"]]
    wait_for(lambda: known[-1] in follower.ids, "the stream has its end")
    follower.ended.set()
    assert set(known) <= set(follower.ids)
    assert follower.ids == sorted(set(follower.ids))
    assert follower.cuts == 0  # it is the same stream as before


def has_sent(daemon: Daemon, execution_id: str, path: str) -> bool:
    found = daemon.get(f"/v1/executions/{execution_id}/events?limit=500")["items"]
    return any(one["type"].startswith("call.") and path in json.dumps(one["data"]) for one in found)


def test_the_doctor_looks_at_the_server_and_shows_no_password(daemon: Daemon, url: str) -> None:
    checked = run(daemon, "doctor")
    assert checked.returncode == 0, checked.stdout
    for name in ("database", "database rights", "database latency", "database clock", "schema"):
        assert f"ok       {name}: " in checked.stdout, checked.stdout
    assert "warning  database durability: fsync is off" in checked.stdout
    wrong = run(daemon, "db", "check", EXECUTOR_DATABASE_URL=url.replace("executor", "nobody_there", 1))
    assert wrong.returncode == 1 and "FAILURE  database: PostgreSQL refused the user or the password" in wrong.stdout
    shown = checked.stdout + checked.stderr + wrong.stdout + wrong.stderr + daemon.log.read_text()
    shown += "".join(path.read_text() for path in daemon.state_dir.glob("*.log*"))
    assert "canary-6f1e" not in shown and "canary-6f1e" not in str(daemon.get("/v1/doctor"))


def test_a_command_is_refused_beside_other_processes_and_an_older_one_is_warned_about(
    daemon: Daemon, url: str, server: postgres.Server
) -> None:
    """Alone on the database it is like any other daemon."""
    name = url.rpartition("/")[2].partition("?")[0]
    alone = daemon.post("/v1/sources", {"command": COMMAND, "namespace": "alone", "consent": True})
    assert "warning" not in daemon.get("/v1/sources/alone")
    server.execute(JOINED, name)
    try:
        with pytest.raises(Refused) as refused:
            daemon.post("/v1/sources", {"command": ["npx", "-y", "a b"], "options": {"env": ["KEY"]}, "consent": True})
        assert refused.value.problem["code"] == "command_not_shared"
        assert "`executor mcp-host --env KEY -- npx -y 'a b'`" in str(refused.value.problem["hint"])
        with pytest.raises(Refused, match="command_not_shared"):
            daemon.request("PATCH", f"/v1/sources/{alone['id']}", {"command": ["other"], "consent": True})
        assert "each process" in daemon.get("/v1/sources/alone")["warning"]
        daemon.post(f"/v1/sources/{alone['id']}/refresh")
        assert "each process starts the commands of alone for itself" in run(daemon, "doctor").stdout
    finally:
        server.execute("DELETE FROM workers WHERE id = 'proc_other'", name)
    assert "shared commands" not in run(daemon, "doctor").stdout
    daemon.request("DELETE", f"/v1/sources/{alone['id']}")


def test_an_installation_moves_from_sqlite_with_everything_it_has(tmp_path: Path, server: postgres.Server) -> None:
    moved = Daemon(tmp_path)
    start(moved)
    try:
        ran = moved.post("/v1/executions", {"code": "return 'before'", "wait": 120})
        target = {"EXECUTOR_DATABASE_URL": server.url(server.create())}
        in_use = run(moved, "db", "copy", **target)
        assert in_use.returncode == 5 and "in use" in in_use.stderr, in_use.stderr
        moved.stop()
        assert run(moved, "db", "migrate", **target).returncode == 0
        refused = run(moved, "up", "--foreground", **target)
        assert refused.returncode == 5 and "executor db copy" in refused.stderr, refused.stderr
        copied = run(moved, "db", "copy", "--json", **target)
        assert copied.returncode == 0, copied.stderr
        assert json.loads(copied.stdout)["tables"]["executions"] == 1
        moved.environ |= target
        start(moved)
        assert outcome(moved, ran["executionId"])["result"] == "before"
        assert run(moved, "audit", "verify").returncode == 0
    finally:
        moved.stop()
    back = run(moved, "up", "--foreground", EXECUTOR_DATABASE_URL="")
    assert back.returncode == 5 and "last ran with another database, PostgreSQL " in back.stderr, back.stderr
    assert "EXECUTOR_DATABASE_URL" in back.stderr and "up --restored" in back.stderr


def test_a_database_that_does_not_exist_is_named_with_its_server(tmp_path: Path, server: postgres.Server) -> None:
    absent = server.url("nodb")
    refused = run(Daemon(tmp_path), "db", "migrate", EXECUTOR_DATABASE_URL=absent)
    assert refused.returncode != 0 and "does not exist: PostgreSQL " in refused.stderr, refused.stderr
    assert "/nodb" in refused.stderr and "createdb executor" not in refused.stderr
