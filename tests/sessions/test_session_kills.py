"""Whatever is killed, nothing is left behind, nothing that was seen is lost, and the session can go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.processes import is_alive
from tests.support.sessions import Session, following


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "daemon", EXECUTOR_SESSION_LIMIT="2", EXECUTOR_SESSION_IDLE_SECONDS="600")
    (tmp_path / "daemon").mkdir()
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def processes_in(folder: Path) -> list[int]:
    """Processes that work in a folder: the agent and what it started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if (entry / "cwd").resolve() == folder:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_after_kill_9_of_the_daemon_its_processes_are_gone_and_the_session_goes_on(daemon: Daemon, work: Path) -> None:
    session = Session(daemon, work)
    session.prompt("before")
    task = session.send({"say": "seen by someone"}, {"run": "setsid sleep 600 & true"}, {"hang": True})
    with following(session) as follower:
        wait_for(lambda: any(one["kind"] == "tool_call" for one in follower.records().values()), "the tool call")
        seen = {one["id"]: one["text"] for one in follower.records().values()}
    queued = session.send("afterwards")
    pid = session.view()["pid"]
    daemon.kill()
    daemon.start()
    assert not is_alive(pid)
    wait_for(lambda: not processes_in(work) or session.task(queued)["status"] == "completed", "an empty folder")
    assert session.task(task)["status"] == "interrupted"
    assert session.end_of(queued)["status"] == "completed"
    kept = {one["id"]: one["text"] for one in session.messages()}
    assert all(kept[record].startswith(text) for record, text in seen.items())
    daemon.post(f"{session.path}/stop")
    assert wait_for(lambda: not processes_in(work), "no process in the folder")


def test_a_permission_that_was_open_when_the_daemon_died_is_never_granted(daemon: Daemon, work: Path) -> None:
    session = Session(daemon, work)
    session.send({"bash": "touch granted"})
    asked = session.asked()
    daemon.kill()
    daemon.start()
    assert daemon.get(f"/v1/interactions/{asked['id']}")["status"] == "cancelled"
    assert session.view()["status"] == "idle" and not (work / "granted").exists()


@pytest.mark.parametrize("victim", ["executor", "agent"])
def test_after_kill_9_of_an_executor_or_agent_only_its_task_has_failed(daemon: Daemon, work: Path, victim: str) -> None:
    session = Session(daemon, work)
    session.prompt("hello")
    task = session.send({"say": "x"}, {"hang": True})
    wait_for(lambda: session.view()["status"] == "running" and len(session.messages("text")) == 2, "the words")
    pid = session.view()["pid"]
    for one in [pid] if victim == "executor" else processes_in(work):
        os.kill(one, signal.SIGKILL)
    ended = session.end_of(task)
    assert ended["status"] == "failed" and ended["failure"]["code"] in ("executor_lost", "agent_failed")
    assert session.prompt("again")["status"] == "completed"
    daemon.post(f"{session.path}/stop")
    assert wait_for(lambda: not processes_in(work) and not is_alive(pid), "no process")
    assert list((daemon.state_dir / "sessions").rglob("*.sock")) == []


def test_a_daemon_that_stops_in_good_order_leaves_nothing_running(daemon: Daemon, work: Path) -> None:
    session = Session(daemon, work)
    task = session.send({"say": "x"}, {"hang": True})
    wait_for(lambda: session.messages("text"), "the words")
    pid = session.view()["pid"]
    daemon.stop()
    assert not is_alive(pid) and not processes_in(work)
    daemon.start()
    assert session.task(task)["status"] == "interrupted" and session.prompt("on")["status"] == "completed"


def test_sessions_beyond_the_limit_wait_for_a_process_and_idle_ones_make_room(daemon: Daemon, work: Path) -> None:
    first, second, third = (Session(daemon, work) for _ in range(3))
    running = [one.send({"say": "x"}, {"hang": True}) for one in (first, second)]
    wait_for(lambda: first.messages("text") and second.messages("text"), "two running tasks")
    waiting = third.send("third")
    assert third.view()["status"] == "queued" and third.view()["pid"] is None
    daemon.request("DELETE", f"{first.path}/tasks/{running[0]['id']}")
    assert third.end_of(waiting)["status"] == "completed"
    assert first.view()["pid"] is None  # its process made room
    daemon.request("DELETE", f"{second.path}/tasks/{running[1]['id']}")
    assert first.prompt("again")["status"] == "completed"
