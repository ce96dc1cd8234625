"""Terminals under a session's isolation. The daemon gets the descriptor; this process keeps none."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import secrets
import struct
import termios
from pathlib import Path
from typing import Any

from executor.errors import InvalidRequest, NotFound
from executor.sessions.host.daemon_link import DaemonLink
from executor.sessions.isolation.place import Place, Requirements
from executor.sessions.isolation.process import Process
from executor.sessions.isolation.relays import Relays
from executor.sessions.protocol.host_settings import HostSettings
from executor.sessions.protocol.messages import SpawnedTerminal
from executor.sessions.protocol.peer import WithDescriptor

SHELLS = ("/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/fish", "/usr/bin/bash", "/usr/bin/zsh")
MAX_TERMINALS = 8
GRACE_SECONDS = 1.0


class Terminals:
    def __init__(self, settings: HostSettings, link: DaemonLink) -> None:
        self._settings, self._link = settings, link
        self._open: dict[str, Process] = {}
        self._watchers: set[asyncio.Task[None]] = set()

    async def spawn(self, params: dict[str, Any]) -> WithDescriptor:
        if len(self._open) >= MAX_TERMINALS:
            raise InvalidRequest(f"a session has at most {MAX_TERMINALS} terminals", hint="close one first")
        shell, env = params.get("shell") or SHELLS[0], params.get("env") or {}
        if shell not in SHELLS:
            raise InvalidRequest(f"{str(shell)[:100]!r} is not a shell", hint=f"choose one of {', '.join(SHELLS)}")
        if not isinstance(env, dict) or not all(isinstance(part, str) for pair in env.items() for part in pair):
            raise InvalidRequest("env must be an object of texts")
        place = _place(self._settings, str(params.get("cwd") or ""))
        relays = place.make_relays({})  # no ports lead out of it
        ours, theirs = pty.openpty()
        try:
            _resize(ours, params.get("cols"), params.get("rows"))
            inside = {"TERM": "xterm-256color", "SHELL": shell, **env}
            process = await place.start([shell, "-i"], inside, (theirs, theirs, theirs), relays, terminal=True)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        identifier = f"term_{secrets.token_hex(8)}"
        self._open[identifier] = process
        watcher = asyncio.create_task(self._watch(identifier, process, relays))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        answer: SpawnedTerminal = {"terminal_id": identifier, "pty_pid": process.pid}
        return WithDescriptor(answer, ours)

    async def terminate(self, params: dict[str, Any]) -> dict[str, bool]:
        process = self._open.get(str(params.get("terminal_id")))
        if process is None:
            raise NotFound(f"there is no terminal {str(params.get('terminal_id'))[:100]!r}")
        _, ending = await process.stop(GRACE_SECONDS)
        return {"absent": ending.absent}

    async def close(self) -> bool:
        endings = await asyncio.gather(*(process.stop(0) for process in list(self._open.values())))
        return all(ending.absent for _, ending in endings)

    async def _watch(self, identifier: str, process: Process, relays: Relays) -> None:
        ending = await asyncio.shield(process.ending)
        self._open.pop(identifier, None)
        await relays.close()
        await self._link.terminal_ended(identifier, ending.code)


def _place(settings: HostSettings, cwd: str) -> Place:
    if not cwd:
        raise InvalidRequest("cwd must be a directory")
    state = Path(settings["state_directory"])
    return Place(settings["isolation"], cwd, state, Requirements(), settings.get("hidden", []))


def _resize(descriptor: int, columns: object, rows: object) -> None:
    def size(value: object, default: int) -> int:
        return value if isinstance(value, int) and 0 < value < 10_000 else default

    packed = struct.pack("HHHH", size(rows, 24), size(columns, 80), 0, 0)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, packed)
