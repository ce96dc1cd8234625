"""Executor processes: prepared before they are needed, noticed when they hang, and nothing issued for none."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from executor.model.ids import new_id, now_ms
from executor.model.sessions.session import Session as StoredSession
from executor.sessions.processes import heartbeat
from executor.sessions.processes.agent_keys import ensure_agent
from executor.sessions.processes.launch import Folders, Launcher
from executor.sessions.processes.prepared import PreparedProcesses
from executor.storage.identity import tenancy
from executor.storage.sessions import sessions
from executor.storage.tables.access import api_keys
from executor.storage.tables.sessions import session_tokens
from tests.sessions.database import open_database
from tests.sessions.test_session_kills import processes_in
from tests.support.conditions import until, wait_for
from tests.support.daemon import Daemon
from tests.support.processes import is_alive
from tests.support.sessions import Session

SILENT = 2


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "daemon").mkdir()
    daemon = Daemon(tmp_path / "daemon", EXECUTOR_SESSION_SILENT_SECONDS=str(SILENT), EXECUTOR_SESSION_WARM="1")
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def hosts_of(daemon: Daemon) -> set[int]:
    """Executor processes of a daemon, whatever they do."""
    assert daemon.process is not None
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == daemon.process.pid and b"session-host" in (entry / "cmdline").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def test_a_frozen_executor_process_is_noticed_and_ended_with_its_agent(daemon: Daemon, work: Path) -> None:
    session = Session(daemon, work)
    task = session.send({"say": "x"}, {"hang": True})
    wait_for(lambda: session.messages("text"))
    pid = session.view()["pid"]
    os.kill(pid, signal.SIGSTOP)
    ended = session.end_of(task)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "executor_lost")
    assert f"neither answered nor done anything for {SILENT} s" in ended["failure"]["message"]
    wait_for(lambda: not is_alive(pid) and not processes_in(work))
    assert session.prompt("again")["status"] == "completed"


def test_a_session_gets_a_prepared_process_and_another_one_takes_its_place(daemon: Daemon, work: Path) -> None:
    session = Session(daemon, work)
    [prepared] = wait_for(lambda: hosts_of(daemon))
    assert session.prompt("hello")["status"] == "completed"
    assert session.view()["pid"] == prepared
    both = wait_for(lambda: len(found := hosts_of(daemon)) == 2 and found)
    assert (daemon.state_dir / "sessions" / session.id / "executor.log").exists()
    daemon.kill()
    wait_for(lambda: not any(map(is_alive, both)))
    daemon.start()
    assert session.prompt("again")["status"] == "completed"


async def test_prepared_processes_that_no_one_needs_are_ended(tmp_path: Path) -> None:
    prepared = PreparedProcesses(2, tmp_path / "prepared", idle_seconds=1)
    prepared.fill()
    pids = await until(lambda: len(prepared.pids) == 2 and prepared.pids)
    await until(lambda: not any(map(is_alive, pids)))
    assert prepared.take() is None
    await prepared.close()
    assert not any((tmp_path / "prepared").iterdir())


async def test_a_process_that_works_is_not_lost_however_long_it_says_nothing(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "while True: sum(range(100000))")
    pings: list[float] = []

    async def ping(*_: Any, **__: Any) -> None:
        pings.append(0)
        raise TimeoutError

    reasons: list[str] = []

    class Process:
        process = SimpleNamespace(pid=child.pid)
        peer = SimpleNamespace(call=ping, close=reasons.append)

        @property
        def is_alive(self) -> bool:
            return not reasons

    process: Any = Process()
    watching = asyncio.create_task(heartbeat.watch(process, 2.0))
    try:
        await until(lambda: len(pings) > 3 * heartbeat.PINGS)
        assert not reasons
        child.send_signal(signal.SIGSTOP)
        await until(lambda: reasons)
    finally:
        watching.cancel()
        child.kill()
        await child.wait()


async def test_a_token_and_a_key_are_void_if_the_models_of_a_session_can_not_be_opened(tmp_path: Path) -> None:
    database = open_database(tmp_path / "database")
    place = await database.write(tenancy.provision)

    class NoModels:
        async def open(self, session: StoredSession) -> Any:
            raise OSError("no socket")

    class NoClones:
        async def ensure(self, session: StoredSession, transcript: Any) -> StoredSession:
            return session

    def store(c: Any) -> StoredSession:
        session = StoredSession(
            new_id("ses"), place.workspace.id, place.operator.id, ensure_agent(c, place.operator, "fake").id, "fake",
            "idle", "simple", "default", str(tmp_path),
        )  # fmt: skip
        sessions.insert(c, session)
        return session

    session = await database.write(store)
    folders = Folders(tmp_path / "data", tmp_path / "sessions", tmp_path / "agents")
    none: Any = None
    clones: Any = NoClones()
    prepared = PreparedProcesses(0, tmp_path, 1)
    launcher = Launcher(database, none, NoModels(), folders, "", {}, prepared, 60, clones, None)
    with pytest.raises(OSError, match="no socket"):
        await launcher.launch(session, SimpleNamespace(transcript=None))  # type: ignore[arg-type]  # it gets no further
    tokens = await database.read(lambda c: c.execute(session_tokens.select()).all())
    assert tokens and all(one.revoked_at is not None for one in tokens)
    keys = await database.read(lambda c: c.execute(api_keys.select()).all())
    assert keys and all(one.expires_at <= now_ms() for one in keys)
    await database.close()
