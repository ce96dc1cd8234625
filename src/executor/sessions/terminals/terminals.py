"""The terminals of all sessions: who may open, watch, write to and end them, and when no one is left."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from executor.dataclass import dataclass
from executor.errors import Conflict, DaemonStopping, Forbidden, InvalidRequest, NotFound
from executor.model.identity.actor import Actor
from executor.model.ids import new_id
from executor.model.sessions.session import Session
from executor.sessions.access import check_manager, check_owner, check_starter, find
from executor.sessions.permissions.agent_tools import TERMINAL
from executor.sessions.processes.conversation import SpawnedTerminal
from executor.sessions.processes.launch import Folders, private_folder
from executor.sessions.processes.process import Failed
from executor.sessions.tasks.runner import Runner
from executor.sessions.terminals.cast_file import Recording
from executor.sessions.terminals.emulator.emulator import MAX_COLUMNS, MAX_ROWS, MIN_SIZE
from executor.sessions.terminals.terminal import Terminal, Writing
from executor.sessions.terminals.tickets import Tickets
from executor.sessions.terminals.watcher import Watcher
from executor.storage.database import Database
from executor.storage.executions import events

MOST_TERMINALS = 8
LAST_WORDS_SECONDS = 2.0  # between the end of the output and that of the process, whichever is first
_ID = re.compile(r"term_[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a terminal is kept that no one has attached to yet, and one that everyone has left."""

    attach_seconds: float = 60.0
    detached_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class RecordingFile:
    terminal_id: str
    size: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class _Opened:
    terminal: Terminal
    runner: Runner
    spawned: SpawnedTerminal


class Terminals:
    def __init__(
        self,
        database: Database,
        runner_of: Callable[[Session], Awaitable[Runner]],
        folders: Folders,
        check_policies: Callable[[Actor, str, Session], Awaitable[None]],
        patience: Patience | None = None,
    ) -> None:
        self._database = database
        self._runner_of = runner_of
        self._folders = folders
        self._check_policies = check_policies
        self._patience = patience or Patience()
        self._open: dict[str, _Opened] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._opening: dict[str, int] = {}
        self._spawning: set[asyncio.Task[Terminal]] = set()
        self._is_closing = False
        self.tickets = Tickets()

    async def open(self, by: Actor, session_id: str, size: tuple[int, int], *, record: bool) -> Terminal:
        session = await find(self._database, by, session_id)
        check_owner(by, session)
        check_starter(by, session.isolation, has_repository=bool(session.repository), has_cwd=not session.repository)
        check_size(size)
        await self._check_policies(by, TERMINAL, session)
        if session.status == "stopped":
            raise Conflict(f"session {session_id} is stopped", hint=f"run `executor sessions resume {session_id}`")
        under_way = self._opening.get(session_id, 0)
        if len(self._of(session_id)) + under_way >= MOST_TERMINALS:
            raise Conflict(f"a session has at most {MOST_TERMINALS} terminals", hint="end one first")
        self._opening[session_id] = under_way + 1
        try:
            return await self._spawn_unless_closing(by, session, size, record)
        finally:
            self._opening[session_id] -= 1
            if not self._opening[session_id]:
                del self._opening[session_id]

    async def _spawn_unless_closing(self, by: Actor, session: Session, size: tuple[int, int], record: bool) -> Terminal:
        """In a task of its own, so that `close` can end it wherever it is."""
        if self._is_closing:
            raise stopping()
        spawning = asyncio.create_task(self._spawn(by, session, size, record))
        self._spawning.add(spawning)
        try:
            return await spawning
        except asyncio.CancelledError:
            if self._is_closing:
                raise stopping() from None
            raise
        finally:
            self._spawning.discard(spawning)

    async def _spawn(self, by: Actor, session: Session, size: tuple[int, int], record: bool) -> Terminal:
        id = new_id("term")
        runner = await self._runner_of(session)
        recording = Recording(self._recordings(session.id) / f"{id}.cast", *size) if record else None
        try:
            spawned = await runner.open_terminal(size)
        except BaseException:
            if recording is not None:
                recording.discard()
            raise
        terminal = Terminal(id, session.id, spawned.descriptor, size, by, recording)
        opened = self._open[id] = _Opened(terminal, runner, spawned)
        watching = asyncio.create_task(self._watch(opened, session))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        data = {"sessionId": session.id, "terminalId": id, "cols": size[0], "rows": size[1], "recorded": record}
        await self._record(session.workspace_id, "agent_session.terminal_opened", data, by)
        return terminal

    async def list_open(self, by: Actor, session_id: str) -> list[Terminal]:
        await find(self._database, by, session_id)
        return self._of(session_id)

    async def find(self, by: Actor, session_id: str, terminal_id: str) -> tuple[Session, Terminal]:
        session = await find(self._database, by, session_id)
        opened = self._open.get(terminal_id)
        terminal = opened.terminal if opened else None
        if terminal is None or terminal.session_id != session_id or terminal.ending is not None:
            raise NotFound(f"there is no terminal {terminal_id[:100]!r}", hint="it may have ended; open another one")
        return session, terminal

    async def issue_ticket(self, by: Actor, session_id: str, terminal_id: str) -> str:
        await self.find(by, session_id, terminal_id)
        return self.tickets.issue(by.id, terminal_id)

    async def end(self, by: Actor, session_id: str, terminal_id: str) -> None:
        session, terminal = await self.find(by, session_id, terminal_id)
        check_manager(by, session)
        await self._end(self._open[terminal.id], f"ended by {by.name}")

    # -- watching and writing -----------------------------------------------------------------------------------------

    async def attach(
        self, by: Actor, session_id: str, terminal_id: str, ticket: str, size: tuple[int, int] | None, writing: Writing
    ) -> tuple[Terminal, Watcher]:
        self.tickets.redeem(ticket, by.id, terminal_id)
        session, terminal = await self.find(by, session_id, terminal_id)
        watcher = Watcher(by)
        terminal.attach(watcher)
        may_write = by.id == session.actor_id and by.kind == "human" and by.may("prompt")
        try:
            if writing == "take_over":
                await self.take_over(by, terminal, watcher, size)
            elif writing == "if_free" and terminal.writer is None and may_write:
                write_at(terminal, watcher, size)  # at once, so that no one else takes it meanwhile
        except BaseException:
            terminal.detach(watcher)
            raise
        return terminal, watcher

    async def take_over(self, by: Actor, terminal: Terminal, watcher: Watcher, size: tuple[int, int] | None) -> None:
        session = await find(self._database, by, terminal.session_id)
        check_owner(by, session)
        was_free = terminal.writer is None
        write_at(terminal, watcher, size)
        if not was_free:
            data = {"sessionId": session.id, "terminalId": terminal.id}
            await self._record(session.workspace_id, "agent_session.terminal_taken_over", data, by)

    def resize(self, terminal: Terminal, watcher: Watcher, size: tuple[int, int]) -> None:
        check_writer(terminal, watcher)
        check_size(size)
        terminal.resize(size)

    async def write(self, terminal: Terminal, watcher: Watcher, data: bytes) -> None:
        check_writer(terminal, watcher)
        await terminal.write(data)

    # -- recordings ---------------------------------------------------------------------------------------------------

    async def list_recordings(self, by: Actor, session_id: str) -> list[RecordingFile]:
        await find(self._database, by, session_id)
        folder = self._folders.sessions / session_id / "terminals"

        def read() -> list[RecordingFile]:
            found = sorted(folder.glob("term_*.cast")) if folder.is_dir() else []
            stats = [(path.stem, path.stat()) for path in found]
            return [RecordingFile(name, stat.st_size, int(stat.st_mtime * 1000)) for name, stat in stats]

        return await asyncio.to_thread(read)

    async def find_recording(self, by: Actor, session_id: str, terminal_id: str) -> Path:
        await find(self._database, by, session_id)
        path = self._folders.sessions / session_id / "terminals" / f"{terminal_id}.cast"
        if not _ID.fullmatch(terminal_id) or not await asyncio.to_thread(path.is_file):
            raise NotFound(
                f"there is no recording of {terminal_id[:100]!r}", hint="a terminal is recorded if `record` was set"
            )
        return path

    def _recordings(self, session_id: str) -> Path:
        return private_folder(self._folders.of(session_id) / "terminals")

    # -- the end ------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """None is opened from now on, and one that is just being opened ends too."""
        self._is_closing = True
        spawning = list(self._spawning)
        for one in spawning:
            one.cancel()
        await asyncio.gather(*spawning, return_exceptions=True)
        for task in self._watching:
            task.cancel()
        for opened in self._open.values():
            opened.terminal.finish(None, "the daemon stopped")
        self._open.clear()

    async def _watch(self, opened: _Opened, session: Session) -> None:
        """Until it has ended: with its shell, with its process, or because no one is there."""
        terminal, spawned = opened.terminal, opened.spawned
        both: set[asyncio.Future[Any]] = {spawned.exit, terminal.output_ended}
        try:
            while not any(one.done() for one in both):
                await asyncio.wait(both, timeout=self._glance, return_when=asyncio.FIRST_COMPLETED)
                if self._is_left(terminal) and not terminal.ended_by:
                    await self._end(opened, "no one was attached")
            await asyncio.wait(both, timeout=LAST_WORDS_SECONDS)
            if not spawned.exit.done():  # the shell closed its terminal and lives on, or takes long to end
                with suppress(*Failed):
                    await spawned.end()
                await asyncio.wait({spawned.exit}, timeout=LAST_WORDS_SECONDS)
        finally:
            code, reason = spawned.exit.result() if spawned.exit.done() else (None, "its process ended")
            terminal.finish(code, reason)
            self._open.pop(terminal.id, None)
            opened.runner.forget_terminal()
        why = terminal.ending.reason if terminal.ending else reason
        data = {"sessionId": session.id, "terminalId": terminal.id, "code": code, "reason": why}
        await self._record(session.workspace_id, "agent_session.terminal_ended", data, None)

    @property
    def _glance(self) -> float:
        return min(self._patience.attach_seconds, self._patience.detached_seconds, 10.0) / 2

    def _is_left(self, terminal: Terminal) -> bool:
        if terminal.watchers:
            return False
        patience = self._patience
        limit = patience.detached_seconds if terminal.was_watched else patience.attach_seconds
        return asyncio.get_running_loop().time() - terminal.last_seen > limit

    async def _end(self, opened: _Opened, reason: str) -> None:
        opened.terminal.ended_by = reason
        with suppress(*Failed):
            await opened.spawned.end()

    def _of(self, session_id: str) -> list[Terminal]:
        found = (one.terminal for one in self._open.values())
        return [one for one in found if one.session_id == session_id and one.ending is None]

    async def _record(self, workspace_id: str, type: str, data: dict[str, Any], by: Actor | None) -> None:
        await self._database.write(lambda c: events.append(c, workspace_id, type, data, by=by))


def stopping() -> DaemonStopping:
    return DaemonStopping("the daemon is stopping", hint="open the terminal again when it runs")


def write_at(terminal: Terminal, watcher: Watcher, size: tuple[int, int] | None) -> None:
    if size is not None:
        check_size(size)
    terminal.take_over(watcher, size)


def check_size(size: tuple[int, int]) -> None:
    columns, rows = size
    if not (MIN_SIZE <= columns <= MAX_COLUMNS and MIN_SIZE <= rows <= MAX_ROWS):
        raise InvalidRequest(
            f"a terminal can't have {columns} columns and {rows} rows",
            hint=f"use {MIN_SIZE} to {MAX_COLUMNS} columns and {MIN_SIZE} to {MAX_ROWS} rows",
        )


def check_writer(terminal: Terminal, watcher: Watcher) -> None:
    if terminal.writer is not watcher:
        raise Forbidden("this connection only watches", hint="take the terminal over first")
