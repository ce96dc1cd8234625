"""One actor's load against everybody else: queues, connections, memory, clocks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from executor.execution import dispatch
from tests.support.busy_service import BusyService, write_modules
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.surfaces.api.daemon_server import running_daemon
from tests.surfaces.api.identities import agent

SLEEP = {
    "typescript": "await new Promise((resolve) => setTimeout(resolve, %d)); return 1",
    "python": "import asyncio\nawait asyncio.sleep(%d / 1000)\n1",
}
MANY = {
    "typescript": """
        const calls = [];
        for (let n = 0; n < %d; n++) calls.push(tools.%s({}).catch((error) => error.code));
        return (await Promise.all(calls)).length""",
    "python": """
import asyncio
async def call():
    try:
        return await tools.%s()
    except ToolError as error:
        return error.code
len(await asyncio.gather(*[call() for _ in range(%d)]))""",
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[BusyService]:
    server = BusyService()
    yield server
    server.go_on.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, upstream: BusyService) -> Iterator[Daemon]:
    root = tmp_path_factory.mktemp("load")
    modules = str(write_modules(root / "modules"))
    daemon = Daemon(root, EXECUTOR_WORKERS="1", EXECUTOR_SLOTS="8", PYTHONPATH=modules)
    daemon.start()
    try:
        daemon.post("/v1/sources", {"location": f"{upstream.url}/document", "namespace": "busy"})
        daemon.post("/v1/sources", {"location": "python:busy_functions", "namespace": "local", "consent": True})
        for pattern in ("busy.**", "local.**"):
            daemon.post("/v1/policies", {"pattern": pattern, "action": "allow"})
        yield daemon
    finally:
        upstream.go_on.set()
        daemon.stop()


def submit(daemon: Daemon, code: str, token: str = "", **options: Any) -> str:
    """As the operator, unless `token` is another's."""
    body = {"code": code, "wait": 0, "typecheck": "off", **options}
    return str(daemon.request("POST", "/v1/executions", body, token=token)["executionId"])


def run(daemon: Daemon, code: str, **options: Any) -> Any:
    """By another actor: the installation's agent."""
    body = {"code": code, "wait": 50, "typecheck": "off", **options}
    return daemon.request("POST", "/v1/executions", body, token=daemon.token("agent"), timeout=90)


def count_unfinished(daemon: Daemon) -> int:
    counts = daemon.get("/v1/status")["executions"]
    return sum(counts.get(status, 0) for status in ("queued", "running"))


def cpu_seconds(daemon: Daemon) -> float:
    assert daemon.process is not None
    main = psutil.Process(daemon.process.pid)
    return sum(one.cpu_times().user + one.cpu_times().system for one in (main, *main.children(recursive=True)))


# -- queues ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_long_queue_of_one_actor_does_not_keep_another_waiting(daemon: Daemon, language: str) -> None:
    waiting = [submit(daemon, SLEEP[language] % 600_000, language=language) for _ in range(150)]
    assert run(daemon, "return 1 + 1")["result"] == 2
    assert run(daemon, "1 + 1", language="python")["result"] == 2
    for execution_id in waiting:
        daemon.post(f"/v1/executions/{execution_id}/cancel")
    assert not count_unfinished(daemon)
    own = submit(daemon, "return 5")
    assert wait_for(lambda: daemon.get(f"/v1/executions/{own}").get("result")) == 5


def test_a_waiting_execution_costs_the_same_however_many_wait(daemon: Daemon) -> None:
    costs = []
    for size in (60, 240):
        before = cpu_seconds(daemon)
        for _ in range(size):
            submit(daemon, SLEEP["typescript"] % 300)
        wait_for(lambda: not count_unfinished(daemon))
        costs.append((cpu_seconds(daemon) - before) / size)
    assert costs[1] < 2.5 * costs[0], costs


def test_queued_executions_survive_a_stop_and_a_kill_and_end_once(daemon: Daemon, upstream: BusyService) -> None:
    sleep = "await new Promise((resolve) => setTimeout(resolve, 500)); return (await tools.busy.calls.fast({n: %d}))"
    ids = [submit(daemon, sleep % (1000 + n)) for n in range(130)]
    began = time.monotonic()
    daemon.stop()
    assert time.monotonic() - began < 60  # a generous limit: the benchmark measures it
    daemon.start()
    daemon.kill()
    daemon.start()
    wait_for(lambda: not count_unfinished(daemon))
    found = {one["executionId"]: one["status"] for one in daemon.get("/v1/executions?limit=200")["items"]}
    assert {found[one] for one in ids} == {"completed"}


def test_an_actor_can_have_only_so_many_and_others_are_served_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `LocalDispatch._check_room`, before anything is written."""
    monkeypatch.setattr(dispatch, "LIVE_RUNS", 3)
    with running_daemon(tmp_path, typecheck="off") as daemon:
        greedy, modest = agent(daemon, "greedy"), agent(daemon, "modest")
        waiting = {"code": SLEEP["typescript"] % 600_000, "wait": 0}
        assert [greedy.post("/v1/executions", waiting).status for _ in range(3)] == [201] * 3
        refused = greedy.post("/v1/executions", waiting)
        assert (refused.status, refused.json["code"]) == (503, "busy")
        assert "this actor already has 3 executions" in refused.json["detail"]
        assert modest.post("/v1/executions", {"code": "return 1"}).json["result"] == 1
        assert len(daemon.get("/v1/executions").json["items"]) == 4


# -- connections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize("namespace", ["busy.calls", "local"])
def test_calls_that_hang_do_not_keep_another_actor_from_the_same_source(
    daemon: Daemon, upstream: BusyService, language: str, namespace: str
) -> None:
    order = (f"{namespace}.hang", 200) if language == "python" else (200, f"{namespace}.hang")
    before = upstream.hanging
    greedy = submit(daemon, MANY[language] % order, language=language)
    if namespace == "busy.calls":
        wait_for(lambda: upstream.hanging - before >= 50)
        assert upstream.hanging - before == 50
    fast = f"return await tools.{namespace}.fast({{}})"
    assert run(daemon, fast)["status"] == "completed"
    assert not daemon.get(f"/v1/executions/{greedy}").get("result")
    daemon.post(f"/v1/executions/{greedy}/cancel")


def test_what_was_sent_is_said_truly(daemon: Daemon, upstream: BusyService) -> None:
    caught = "try { await tools.%s({}) } catch (error) { return [error.code, error.details.sent] }"
    answer = run(daemon, caught % "busy.calls.lost")
    assert "/lost" in upstream.paths and (answer["status"] == "paused" or answer["result"][1] is True)
    document = {**upstream.document(), "servers": [{"url": "http://127.0.0.1:9"}]}
    text = json.dumps(document)
    daemon.post("/v1/sources", {"document": text, "namespace": "away"})
    daemon.post("/v1/policies", {"pattern": "away.**", "action": "allow"})
    for name in ("lost", "fast"):
        assert run(daemon, caught % f"away.calls.{name}")["result"] == ["upstream_unreachable", False]


# -- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_large_answers_of_one_execution_take_bounded_memory(daemon: Daemon, language: str) -> None:
    """Sixty answers of 9.9 MB at once would be 594 MB."""
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status")
    Path(f"/proc/{daemon.process.pid}/clear_refs").write_text("5")  # the peak counts from now on
    before = psutil.Process(daemon.process.pid).memory_info().rss
    order = ("busy.calls.large", 60) if language == "python" else (60, "busy.calls.large")
    answer = run(daemon, MANY[language] % order, language=language)
    assert answer["result"] == 60, answer
    peak = next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    assert peak - before < 250_000_000


# -- clocks and replays ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("days", [-30, -0.1, 30])
def test_a_clock_that_was_set_neither_stretches_timers_nor_disorders_the_list(daemon: Daemon, days: float) -> None:
    before = [submit(daemon, code % 1500, language=language) for language, code in SLEEP.items()]
    daemon.kill()
    daemon.environ["TEST_CLOCK_OFFSET"] = str(days * 86_400)
    daemon.start()
    try:
        wait_for(lambda: not count_unfinished(daemon))
        after = submit(daemon, "return 1")
        newest = daemon.get("/v1/executions?limit=3")["items"]
        assert [one["executionId"] for one in newest] == [after, *reversed(before)]
        assert {one["status"] for one in newest[1:]} == {"completed"}
    finally:
        wait_for(lambda: not count_unfinished(daemon))
        daemon.kill()
        daemon.environ["TEST_CLOCK_OFFSET"] = "0"
        daemon.start()


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_the_replay_of_a_cancelled_execution_agrees_whenever_it_was_cancelled(daemon: Daemon, language: str) -> None:
    calls = {
        "typescript": "for (;;) await tools.busy.calls.fast({})",
        "python": "while True:\n    await tools.busy.calls.fast()",
    }
    for _ in range(4):
        execution_id = submit(daemon, calls[language], language=language)
        daemon.post(f"/v1/executions/{execution_id}/cancel")
        report = daemon.post(f"/v1/executions/{execution_id}/replay")
        assert report["matches"], report
