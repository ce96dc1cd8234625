"""What a daemon is to an executor process, for tests: starts one, answers its requests, keeps what it reports."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from executor.sessions.protocol.channel import SocketChannel
from executor.sessions.protocol.host_settings import HostSettings, digest
from executor.sessions.protocol.peer import Peer
from tests.support.conditions import until

LIMIT = 120


def let_others_in(folder: Path) -> None:
    """Other users can reach it, though pytest keeps its folders to itself."""
    for one in (folder, *folder.parents):
        if one == Path(tempfile.gettempdir()):
            return
        one.chmod(0o755)


@dataclass
class Daemon:
    """`decisions` answers permission requests in order; when it is empty, the answer is yes."""

    path: Path
    token: str
    cwd: str
    child: asyncio.subprocess.Process
    log: Path
    messages: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)
    ended_terminals: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[Any] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    base_url: str = ""
    answer: asyncio.Event = field(default_factory=asyncio.Event)
    peer: Peer = field(init=False)

    async def connect(self) -> Peer:
        handlers = {
            "get_api_key": self._get_api_key,
            "request_permission": self._request_permission,
            "report_message": self.messages.append,
            "report_progress": lambda params: self.progress.append(params["state"]),
            "report_error": self.errors.append,
            "terminal_ended": self.ended_terminals.append,
        }
        connection = socket.socket(socket.AF_UNIX)
        await until(lambda: _connects(connection, self.path) or self.child.returncode is not None, "a socket")
        self.peer = Peer(SocketChannel(connection), handlers)
        return self.peer

    async def prompt(self, *steps: dict[str, Any] | str, **fields: Any) -> dict[str, Any]:
        text = steps[0] if len(steps) == 1 and isinstance(steps[0], str) else json.dumps(steps)
        params = {
            "session_token": self.token, "session_id": "s1", "task_id": f"t{secrets.token_hex(3)}",
            "agentic_tool": "fake",
            "prompt": text, "cwd": self.cwd, "tools": [], "permission_mode": "default", "stream": True, **fields,
        }  # fmt: skip
        result: dict[str, Any] = await self.peer.call("execute_prompt", params, LIMIT)
        return result

    async def call(self, method: str, **params: Any) -> Any:
        return await self.peer.call(method, {"session_token": self.token, **params}, LIMIT)

    def text(self, kind: str = "text") -> str:
        return "".join(one["event_data"]["text"] for one in self.messages if one["event_type"] == kind)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [one["event_data"] for one in self.messages if one["event_type"] == kind]

    def output(self) -> str:
        """Of the last command that was run."""
        content = self.of("tool_call")[-1]["content"]
        return str(content[0]["text"]) if content else ""

    def _get_api_key(self, params: dict[str, Any]) -> dict[str, Any]:
        assert params["session_token"] == self.token
        self.keys.append(params["service"])
        return {"api_key": "vk-virtual", "base_url": self.base_url, "expires_at": "2099-01-01T00:00:00Z"}

    async def _request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        assert params["session_token"] == self.token
        self.requests.append(params)
        decision = self.decisions.pop(0) if self.decisions else True
        if decision == "wait":
            await self.answer.wait()
            decision = True
        return {"approved": decision, "reason": "" if decision else "no", "scope": "once"}


@asynccontextmanager
async def session_host(
    tmp_path: Path, *, mode: str = "insulated", connect: bool = True, **settings: Any
) -> AsyncIterator[Daemon]:
    token = secrets.token_urlsafe(32)
    cwd = tmp_path / "work"
    cwd.mkdir(exist_ok=True)
    isolation = {"mode": mode, **settings.pop("isolation", {})}
    chosen: HostSettings = {
        "token_digest": digest(token),
        "session_id": "s1",
        "isolation": isolation,  # type: ignore[typeddict-item]
        "state_directory": str(tmp_path / "session" / "agent"),
        **settings,  # type: ignore[typeddict-item]
    }
    path, log = tmp_path / "host.sock", tmp_path / "host.log"
    child = await start_host(path, log, json.dumps(chosen))
    daemon = Daemon(path, token, str(cwd), child, log)
    try:
        if connect:
            await daemon.connect()
        yield daemon
    finally:
        if child.returncode is None:
            child.terminate()
        await asyncio.wait_for(child.wait(), LIMIT)
        if hasattr(daemon, "peer"):
            daemon.peer.close()


async def start_host(path: Path, log: Path, settings: str | None) -> asyncio.subprocess.Process:
    read_end, write_end = os.pipe()
    command = [sys.executable, "-m", "executor", "session-host", "--socket", str(path)]
    with log.open("ab") as out:
        child = await asyncio.create_subprocess_exec(
            *command, *(["--settings-fd", str(read_end)] if settings is not None else []),
            pass_fds=[read_end], stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
            env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "SECRET_OF_THE_DAEMON": "do-not-leak"},
        )  # fmt: skip
    os.close(read_end)
    if settings is not None:
        os.write(write_end, settings.encode() + b"\n")
    os.close(write_end)
    return child


def _connects(connection: socket.socket, path: Path) -> bool:
    try:
        connection.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    return True
