"""An executor process as the daemon sees it: started, connected to, and ended for certain."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import orjson

from executor.dataclass import dataclass
from executor.errors import ExecutorError, SessionFailed
from executor.model.sessions.session import Process
from executor.sessions.isolation import protected_paths
from executor.sessions.isolation.supervisor import sweep
from executor.sessions.protocol.channel import SocketChannel
from executor.sessions.protocol.host_settings import HostSettings
from executor.sessions.protocol.lines import RpcError
from executor.sessions.protocol.peer import ConnectionClosed, Handler, Peer

START_SECONDS = 60.0
SHUTDOWN_SECONDS = 5.0
TERM_SECONDS = 3.0
KILL_SECONDS = 10.0
GLANCE_SECONDS = 0.02
MAX_SOCKET_PATH = 100  # what the operating system allows, with some room
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME")
Failed = (RpcError, ConnectionClosed, TimeoutError)


class ExecutorProcess:
    """`process` is what is stored of it, so that a later daemon finds what is left."""

    def __init__(self, child: asyncio.subprocess.Process, process: Process, peer: Peer, folder: Path) -> None:
        self._child = child
        self._folder = folder
        self.process = process
        self.peer = peer

    @classmethod
    async def start(
        cls,
        settings: HostSettings,
        folder: Path,
        handlers: dict[str, Handler],
        record: Callable[[Process], Awaitable[object]],
        prepared: Spawned | None = None,
    ) -> ExecutorProcess:
        """`record` writes down which process it is. Until then the process waits for its settings and does nothing, so
        that none is left that no one knows of. Its log is in `folder`."""
        spawned = prepared or await spawn(folder)
        child, process = spawned.child, spawned.process
        try:
            with spawned.pipe:
                await record(process)
                if prepared is not None:
                    _move_log(prepared.folder, folder)
                await asyncio.to_thread(_write_settings, spawned.pipe, settings)
            peer = Peer(SocketChannel(await _connect(Path(process.socket), child, folder)), handlers)
        except BaseException:
            await end(process, child)
            raise
        return cls(child, process, peer, folder)

    @property
    def is_alive(self) -> bool:
        return self._child.returncode is None and not self.peer.is_closed

    async def stop(self, token: str, reason: str) -> None:
        """In good order if it answers, else by force; when this returns, nothing of it is left."""
        if self.is_alive:
            with suppress(*Failed):
                params = {"session_token": token, "reason": reason, "timeout_ms": int(SHUTDOWN_SECONDS * 1000)}
                await self.peer.call("shutdown", params, timeout=SHUTDOWN_SECONDS * 2)
        self.peer.close(reason)
        await end(self.process, self._child)
        if self._child.returncode != 0:
            await clean_up(self._folder / "agent")


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process that waits for its settings. They come over `pipe`: arguments and environment can be seen by others.
    If that closes before, the process ends."""

    child: asyncio.subprocess.Process
    pipe: IO[bytes]
    process: Process
    folder: Path


async def spawn(folder: Path) -> Spawned:
    path = socket_path(folder)
    read_end, write_end = os.pipe()
    command = [sys.executable, "-m", "executor", "session-host", "--socket", str(path), "--settings-fd", str(read_end)]
    try:
        with _open_log(folder) as log:
            child = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={name: os.environ[name] for name in INHERITED if name in os.environ},
                cwd="/",
                pass_fds=(read_end,),
                start_new_session=True,
            )
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    pipe = os.fdopen(write_end, "wb", buffering=0)
    return Spawned(child, pipe, Process(child.pid, birth(child.pid), str(path)), folder)


async def discard(spawned: Spawned) -> None:
    """One that was never used."""
    spawned.pipe.close()
    await end(spawned.process, spawned.child)
    shutil.rmtree(spawned.folder, ignore_errors=True)


def _move_log(source: Path, target: Path) -> None:
    """To the session that the process belongs to now. The socket stays where it is, and goes with the process."""
    with suppress(OSError):
        (source / "executor.log").replace(target / "executor.log")
        source.rmdir()  # fails as long as the socket is in it


def _write_settings(pipe: IO[bytes], settings: HostSettings) -> None:
    with suppress(BrokenPipeError):
        pipe.write(orjson.dumps(settings) + b"\n")


def _open_log(folder: Path) -> IO[bytes]:
    descriptor = os.open(folder / "executor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return os.fdopen(descriptor, "ab")


async def _connect(path: Path, child: asyncio.subprocess.Process, folder: Path) -> socket.socket:
    loop = asyncio.get_running_loop()
    ends = loop.time() + START_SECONDS
    while child.returncode is None and loop.time() < ends:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            await asyncio.sleep(GLANCE_SECONDS)
    raise SessionFailed(
        f"the executor process did not start: {last_line(folder)}", hint="run `executor doctor`, then try again"
    )


def last_line(folder: Path) -> str:
    with suppress(OSError):
        lines = (folder / "executor.log").read_text(errors="replace")[-2000:].strip().splitlines()
        return lines[-1] if lines else "it said nothing"
    return "it said nothing"


def socket_path(folder: Path) -> Path:
    """In the session's own folder, or where that has too long a name, in a new one that only this user can enter."""
    path = folder / "executor.sock"
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        path = Path(tempfile.mkdtemp(prefix="executor-", dir="/tmp")) / "executor.sock"
    path.unlink(missing_ok=True)
    return path


def remove_socket(process: Process) -> None:
    path = Path(process.socket)
    with suppress(OSError):
        path.unlink(missing_ok=True)
        if path.parent.name.startswith("executor-"):
            path.parent.rmdir()


# What is left of a process: killed with its group, and verified.
def birth(pid: int) -> str:
    """When a process began, as the system says it; empty for no process. A later one of the same id began later."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if sys.platform == "linux":
        return ""
    import subprocess

    found = subprocess.run(["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def is_there(process: Process) -> bool:
    """It, or another process of its group."""
    if process.started and birth(process.pid) == process.started and not is_zombie(process.pid):
        return True
    return bool(members(process.pid))


def is_zombie(pid: int) -> bool:
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return False


def members(group: int) -> list[int]:
    """Processes of a group or session that are not merely waiting to be collected."""
    found = []
    with suppress(OSError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with suppress(OSError, IndexError):
                    state, _, pgrp, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                    if str(group) in (pgrp, session) and state != "Z":
                        found.append(int(entry.name))
    return found


async def end(process: Process, child: asyncio.subprocess.Process | None = None) -> None:
    """TERM, then KILL, to everything of its group; raises if something is left then."""
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        if await _is_gone(process, child, 0.0):
            break
        for pid in {process.pid, *members(process.pid)}:
            if pid != process.pid or birth(pid) == process.started:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        if await _is_gone(process, child, seconds):
            break
    else:
        raise SessionFailed(f"processes of executor {process.pid} can't be ended", hint="end them by hand")
    remove_socket(process)


async def clean_up(state: Path) -> None:
    """What an executor process that was killed could not do: end what got away from its supervisor, if that was killed
    too, and remove what covered protected paths. `state` is the agent's folder."""
    await asyncio.to_thread(sweep, f"HOME={state / 'home'}")
    await asyncio.to_thread(protected_paths.clean_up, state / "stubs.json")


async def _is_gone(process: Process, child: asyncio.subprocess.Process | None, seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while await asyncio.to_thread(is_there, process):
        if loop.time() >= ends:
            return False
        await asyncio.sleep(GLANCE_SECONDS)
    if child is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                await child.wait()
    return True


def as_failure(error: Exception) -> dict[str, str]:
    """Why a task failed, for the transcript."""
    if isinstance(error, ExecutorError):
        return {"code": error.code, "message": error.message, "hint": error.hint}
    if isinstance(error, RpcError):
        data = error.data if isinstance(error.data, dict) else {}
        code, hint = str(data.get("code") or "agent_failed"), str(data.get("hint") or "")
        return {"code": code, "message": error.message, "hint": hint}
    return {"code": "executor_lost", "message": f"the executor process ended: {error}", "hint": "send the prompt again"}
