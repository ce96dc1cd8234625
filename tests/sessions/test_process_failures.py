"""What an executor process leaves when something fails around it: nothing."""

from __future__ import annotations

import asyncio
import os
import pty
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from executor.daemon.wiring.sessions import Models
from executor.errors import SessionFailed, StorageError
from executor.model.ids import now_ms
from executor.model.sessions.session import Session
from executor.sessions.processes.conversation import Conversation
from executor.sessions.processes.launch import Folders, Launcher
from executor.sessions.processes.prepared import PreparedProcesses
from executor.sessions.processes.tokens import Issued
from executor.sessions.terminals.terminal import Terminal
from executor.sessions.terminals.terminals import Terminals
from executor.storage.tables.access import api_keys
from tests.sessions.tasks.stand_in import sessions_in

NONE: Any = None


class StandInModels:
    socket = egress = None
    is_closed = False

    async def open(self, session: Session) -> Any:
        return self

    async def close(self) -> None:
        self.is_closed = True


def conversation_of(database: Any, models: Any, session: Session) -> Conversation:
    issued = Issued("token", "digest", session.id, now_ms() + 60_000)
    runner: Any = SimpleNamespace(session=session, transcript=None, task=None)
    return Conversation(database, NONE, issued, models, runner, "")


async def test_models_and_keys_are_given_back_if_a_clone_can_not_be_measured(tmp_path: Path) -> None:
    async def ensure(session: Session, transcript: Any) -> Session:
        return session

    async def isolate(session: Session) -> Any:
        raise SessionFailed("du failed")

    async with sessions_in(tmp_path) as place:
        session, models = await place.start(), StandInModels()
        runner = await place.sessions._runner_of(session)
        clones: Any = SimpleNamespace(ensure=ensure, isolate=isolate)
        folders = Folders(tmp_path / "data", tmp_path / "sessions", tmp_path / "agents")
        prepared = PreparedProcesses(0, tmp_path, 1)
        launcher = Launcher(place.database, NONE, models, folders, "", {}, prepared, 60, clones, None)
        with pytest.raises(SessionFailed, match="du failed"):
            await launcher.launch(session, runner)
        assert models.is_closed
        keys = await place.database.read(lambda c: c.execute(api_keys.select()).all())
        assert keys and all(one.expires_at <= now_ms() for one in keys)


async def test_models_are_closed_if_the_proxy_for_other_hosts_can_not_be_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object) -> Path:
        raise SessionFailed("no socket")

    async def open_models(*_: object) -> Any:
        return opened

    opened = StandInModels()
    monkeypatch.setattr(Models, "_open_models", open_models)
    proxies = SimpleNamespace(egress=SimpleNamespace(open=refuse))
    executor: Any = SimpleNamespace(settings=SimpleNamespace(session_hosts=("pypi.org",)), session_proxies=proxies)
    session: Any = SimpleNamespace(id="s", workspace_id="w", actor_id="a", agent="claude-code", isolation="sandbox")
    with pytest.raises(SessionFailed, match="no socket"):
        await Models(executor, {}).open(session)
    assert opened.is_closed


async def test_a_process_is_ended_though_the_database_can_not_be_written(tmp_path: Path) -> None:
    ended: list[str] = []

    async def stop(token: str, reason: str) -> None:
        ended.append(reason)

    async with sessions_in(tmp_path) as place:
        session = await place.start()
    conversation = conversation_of(place.database, StandInModels(), session)
    process: Any = SimpleNamespace(stop=stop)
    conversation._process = process
    with pytest.raises(StorageError, match="closed"):
        await conversation.close("over")
    assert ended == ["over"]


async def test_the_code_of_a_shell_that_ends_as_it_is_spawned_is_known() -> None:
    ours, theirs = pty.openpty()
    session: Any = SimpleNamespace(id="s", workspace_id="w", cwd="/")

    async def spawn(method: str, params: dict[str, Any], timeout: float) -> tuple[Any, int]:
        await conversation._terminal_ended({"session_token": "token", "terminal_id": "term_1", "code": 7})
        return {"terminal_id": "term_1"}, ours

    conversation = conversation_of(None, None, session)
    conversation._issued = SimpleNamespace(token="token", matches=lambda shown: True)  # type: ignore[assignment]
    process: Any = SimpleNamespace(peer=SimpleNamespace(call_for_descriptor=spawn))
    conversation._process = process
    spawned = await conversation.spawn_terminal((80, 24))
    assert spawned.exit.done() and await spawned.exit == (7, "its shell exited")
    await conversation._terminal_ended({"session_token": "token", "terminal_id": "another", "code": 1})
    assert not conversation._early  # a process can't fill the memory of the daemon with them
    for descriptor in (ours, theirs):
        os.close(descriptor)


async def test_a_terminal_that_can_not_be_recorded_is_not_opened_and_one_that_is_not_opened_leaves_no_recording(
    tmp_path: Path,
) -> None:
    opened: list[tuple[int, int]] = []

    async def open_terminal(size: tuple[int, int]) -> Any:
        opened.append(size)
        raise SessionFailed("no process is free")

    async def runner_of(session: Session) -> Any:
        return SimpleNamespace(open_terminal=open_terminal)

    async def allow(*_: object) -> None:
        return

    async with sessions_in(tmp_path) as place:
        session = await place.start()
        folders = Folders(tmp_path / "data", tmp_path / "sessions", tmp_path / "agents")
        terminals = Terminals(place.database, runner_of, folders, allow)
        with pytest.raises(SessionFailed, match="no process is free"):
            await terminals.open(place.by, session.id, (80, 24), record=True)
        recordings = folders.of(session.id) / "terminals"
        assert opened == [(80, 24)] and not list(recordings.iterdir())
        recordings.rmdir()
        recordings.write_text("in the way")
        with pytest.raises(FileExistsError):
            await terminals.open(place.by, session.id, (80, 24), record=True)
        assert opened == [(80, 24)]


async def test_of_two_who_attach_at_once_to_a_free_terminal_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_runner(session: Session) -> Any:
        raise AssertionError

    async def allow(*_: object) -> None:
        return

    async with sessions_in(tmp_path) as place:
        session = await place.start()
        folders = Folders(tmp_path / "data", tmp_path / "sessions", tmp_path / "agents")
        terminals = Terminals(place.database, no_runner, folders, allow)
        ours, theirs = pty.openpty()
        terminal = Terminal("term_1", session.id, ours, (80, 24), place.by, None)
        opened: Any = SimpleNamespace(terminal=terminal)
        terminals._open[terminal.id] = opened
        tickets = [await terminals.issue_ticket(place.by, session.id, terminal.id) for _ in range(2)]
        attaching = (
            terminals.attach(place.by, session.id, terminal.id, ticket, (80, 24), "if_free") for ticket in tickets
        )
        taken, take_over = [], terminal.take_over
        monkeypatch.setattr(terminal, "take_over", lambda *given: (taken.append(given[0]), take_over(*given)))
        await asyncio.gather(*attaching)
        assert taken == [terminal.writer]
        terminal.finish(None, "over")
        os.close(theirs)
