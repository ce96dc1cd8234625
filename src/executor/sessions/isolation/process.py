"""A program under a supervisor, as the executor process sees it: started, signalled, and proven to be gone."""

from __future__ import annotations

import array
import asyncio
import json
import os
import secrets
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from executor.errors import IsolationUnavailable
from executor.sessions.isolation.limits import ControlGroup
from executor.sessions.isolation.unix_user import UnixUser, python_for

SUPERVISOR = Path(__file__).with_name("supervisor.py")
MARK = "EXECUTOR_SESSION_MARK"
START_SECONDS = 30.0
KILL_SECONDS = 75.0


@dataclass(frozen=True)
class Program:
    """What to start. `descriptors` become 0, 1, 2 and so on; they stay open here."""

    command: Sequence[str]
    env: dict[str, str]
    cwd: str
    descriptors: Sequence[int]
    rlimits: dict[str, int] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    directories: Sequence[str] = ()
    files: dict[str, str] = field(default_factory=dict)
    absent: Sequence[str] = ()  # names in `cwd`: if one is there, nothing is started
    terminal: bool = False
    no_new_privileges: bool = True
    private: bool = False
    niceness: int = 5  # below the supervisor, which has to get its turn to end them


@dataclass(frozen=True)
class Ending:
    """`code` is negative for a signal, None if it is unknown. `absent`: it was checked that no process is left."""

    code: int | None
    limit: str
    absent: bool


class Process:
    """`ending` is done when nothing of the program is left, or when nothing more can be done about it."""

    def __init__(self, user: UnixUser, group: ControlGroup | None) -> None:
        self._user, self._group = user, group
        self._mark = secrets.token_hex(16)
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        with theirs:
            self._supervisor = _start_supervisor(user, theirs)
        self.pid = 0
        self._code: int | None = None
        self._limit = ""
        self._task: asyncio.Task[Ending] | None = None

    @classmethod
    async def start(cls, program: Program, user: UnixUser, group: ControlGroup | None = None) -> Process:
        process = cls(user, group)
        try:
            await process._begin(program)
        except BaseException:
            process._abandon()
            raise
        return process

    @property
    def ending(self) -> asyncio.Task[Ending]:
        assert self._task is not None  # noqa: S101 - set by `start`, the only way to get one
        return self._task

    async def stop(self, grace: float) -> tuple[Literal["terminated", "killed"], Ending]:
        """SIGTERM to everything, then SIGKILL to what is left after `grace` seconds."""
        how: Literal["terminated", "killed"] = "terminated"
        if grace > 0:
            self._say(b"TERM\n")
            await asyncio.wait([self.ending], timeout=grace)
        if not self.ending.done():
            how = "killed"
            self._say(b"KILL\n")
            await asyncio.wait([self.ending], timeout=KILL_SECONDS)
        if not self.ending.done():  # the supervisor is stuck, or stopped by a signal
            _kill(self._supervisor)
        return how, await asyncio.shield(self.ending)

    async def _begin(self, program: Program) -> None:
        if self._group:
            self._group.add(self._supervisor.pid)
        order = {
            "command": list(program.command),
            "env": {**program.env, MARK: self._mark},
            "cwd": program.cwd,
            "rlimits": program.rlimits,
            "limits": program.limits,
            "directories": list(program.directories),
            "files": program.files,
            "absent": list(program.absent),
            "terminal": program.terminal,
            "no_new_privileges": program.no_new_privileges,
            "private": program.private,
            "niceness": program.niceness,
        }
        await self._send_order(order, program.descriptors)
        events = _Events(self._control)
        try:
            async with asyncio.timeout(START_SECONDS):
                first = await events.next()
        except TimeoutError:
            raise IsolationUnavailable(f"starting {program.command[0]} took longer than {START_SECONDS:g} s") from None
        if first.get("event") == "present":
            raise IsolationUnavailable(
                f"the agent would load {first['name']} from {program.cwd}, which may run commands or change its "
                "permissions",
                hint="use isolation `sandbox`, which hides it, or remove it",
            )
        if first.get("event") != "started":
            reason = first.get("message", "its supervisor ended")
            raise IsolationUnavailable(f"can't start {program.command[0]} as {self._user.name!r}: {reason}")
        self.pid = int(first["pid"])
        self._task = asyncio.create_task(self._follow(events))

    async def _send_order(self, order: dict[str, Any], descriptors: Sequence[int]) -> None:
        data = json.dumps(order).encode() + b"\n"
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self._control.sendmsg([data], rights)
        await asyncio.get_running_loop().sock_sendall(self._control, data[sent:])

    async def _follow(self, events: _Events) -> Ending:
        absent = False
        while event := await events.next():
            if event["event"] == "exited":
                self._code = event["code"]
            elif event["event"] == "limit":
                self._limit = event["which"]
            elif event["event"] == "absent":
                absent = not event["left"]
                break
        self._control.close()
        await asyncio.to_thread(_reap, self._supervisor)
        if not absent:
            absent = await self._sweep()
        if self._group:
            self._group.kill()
            await asyncio.to_thread(self._group.remove)
        return Ending(self._code, self._limit, absent)

    async def _sweep(self) -> bool:
        """The supervisor itself was killed. What it left still carries the mark."""
        if self._group:
            self._group.kill()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            sweeper = _start_supervisor(self._user, theirs)
        with ours:
            await asyncio.get_running_loop().sock_sendall(
                ours, json.dumps({"sweep": f"{MARK}={self._mark}"}).encode() + b"\n"
            )
            answer = await _Events(ours).next()
        await asyncio.to_thread(_reap, sweeper)
        return bool(answer) and not answer["left"]

    def _say(self, word: bytes) -> None:
        try:
            self._control.send(word)
        except OSError:
            return  # it has ended meanwhile, as `ending` will show

    def _abandon(self) -> None:
        self._control.close()
        _reap(self._supervisor)
        if self._group:
            self._group.remove()


class _Events:
    """Lines of JSON from a supervisor; an empty one when it is gone."""

    def __init__(self, control: socket.socket) -> None:
        self._control, self._data = control, b""

    async def next(self) -> dict[str, Any]:
        while b"\n" not in self._data:
            try:
                chunk = await asyncio.get_running_loop().sock_recv(self._control, 65536)
            except OSError:
                return {}
            if not chunk:
                return {}
            self._data += chunk
        line, _, self._data = self._data.partition(b"\n")
        event: dict[str, Any] = json.loads(line)
        return event


def _start_supervisor(user: UnixUser, control: socket.socket) -> subprocess.Popen[bytes]:
    """Its source is an argument, because another user may be unable to read this package's files."""
    source = SUPERVISOR.read_text()
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [*user.command_prefix(), python_for(user), "-I", "-S", "-c", source],
        stdin=control, stdout=subprocess.DEVNULL, cwd="/", env={"PATH": os.defpath},
        **user.start_options(),
    )  # fmt: skip


def _reap(supervisor: subprocess.Popen[bytes]) -> None:
    try:
        supervisor.wait(KILL_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(supervisor)
        with suppress(subprocess.TimeoutExpired):
            supervisor.wait(KILL_SECONDS)


def _kill(supervisor: subprocess.Popen[bytes]) -> None:
    """Behind `sudo` it belongs to root. Then it ends with what it supervises: when its socket closes."""
    with suppress(PermissionError):
        supervisor.kill()
