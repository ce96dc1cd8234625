"""The daemon seen from outside: is one running for this data directory, start one, stop it.

Standard library only: every CLI command comes through here. Which process answers is never in doubt: the kernel names
the one that holds the data directory's lock, and only an address which that very process wrote down is used, so a
stranger on the port never gets to see a token.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from executor.daemon import data_files, lock
from executor.errors import DaemonUnreachable, DataDirectoryLocked, StartFailed
from executor.settings import Settings, bracket_host

START_SECONDS = 60.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.02
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound here, only translated to a reachable address

Progress = Callable[[str], None]


class Running(NamedTuple):
    pid: int
    host: str
    port: int
    start_id: str
    version: str

    @property
    def base_url(self) -> str:
        return f"http://{bracket_host(self.host)}:{self.port}"


class Presence(NamedTuple):
    """`pid` holds the data directory; `running` is set once it can be asked, so a pid alone is a daemon starting."""

    pid: int | None
    running: Running | None


def look(settings: Settings) -> Presence:
    try:
        pid = lock.holder(settings.lock_file)
    except OSError as error:
        raise data_files.unusable(settings.data_dir, "EXECUTOR_DATA_DIR", error) from error
    if not pid:
        return Presence(pid, None)
    return Presence(pid, _read_record(settings, pid))


def find(settings: Settings) -> Running | None:
    return look(settings).running


def ensure(settings: Settings, progress: Progress = lambda text: None, seconds: float = START_SECONDS) -> Running:
    """The running daemon; starts one if necessary. If many start at once, the lock elects one."""
    deadline = time.monotonic() + seconds
    waited_for = 0
    while time.monotonic() < deadline:
        presence = look(settings)
        if presence.running:
            return presence.running
        if presence.pid is None:
            if started := _start(settings, deadline, progress):
                return started
        elif presence.pid == 0:
            raise DataDirectoryLocked(
                f"the data directory {settings.data_dir} is in use by a process that can't be seen from here",
                hint="if a container or another machine uses it, give each daemon its own EXECUTOR_DATA_DIR",
            )
        elif presence.pid != waited_for:
            waited_for = presence.pid
            progress(f"waiting for the daemon (process {waited_for})")
        time.sleep(POLL_SECONDS)
    raise DaemonUnreachable(
        f"the daemon did not become ready within {seconds:.0f} seconds",
        hint=f"its log is {settings.log_file}; `executor down` stops it",
    )


def stop(settings: Settings, seconds: float = STOP_SECONDS) -> int | None:
    """Ask the daemon to park its work and end; its pid once it is gone, None when there was none."""
    pid = look(settings).pid
    if not pid:
        return None
    pinned = _pin(pid)
    try:
        # Pinned before this last check, so a pid that was reused in between is never signalled.
        if look(settings).pid == pid:
            _terminate(pid, pinned)
        if _wait_for_end(settings, pid, pinned, seconds):
            return pid
    finally:
        if pinned is not None:
            os.close(pinned)
    raise DaemonUnreachable(
        f"the daemon (process {pid}) is still stopping after {seconds:.0f} seconds",
        hint=f"its log is {settings.log_file}; `kill -9 {pid}` is safe: executions resume at the next start",
    )


def _pin(pid: int) -> int | None:
    """A handle on this very process; None where the system has no such thing, or the process is gone."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _terminate(pid: int, pinned: int | None) -> None:
    try:
        if pinned is not None and sys.platform == "linux":
            signal.pidfd_send_signal(pinned, signal.SIGTERM)
        else:
            os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise DaemonUnreachable(
            f"the daemon (process {pid}) belongs to another user", hint="stop it as the user who started it"
        ) from error


def _wait_for_end(settings: Settings, pid: int, pinned: int | None, seconds: float) -> bool:
    if pinned is not None:
        return bool(select.select([pinned], [], [], seconds)[0])
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if look(settings).pid != pid:
            return True
        time.sleep(POLL_SECONDS)
    return False


def _read_record(settings: Settings, pid: int) -> Running | None:
    try:
        record = json.loads(settings.daemon_file.read_text(encoding="utf-8"))
        if record["pid"] != pid or record["dataDir"] != str(settings.data_dir):
            return None
        host = ANYWHERE.get(record["host"], record["host"])
        return Running(pid, host, int(record["port"]), record["startId"], record["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _start(settings: Settings, deadline: float, progress: Progress) -> Running | None:
    """None when another one won; its end of the pipe closes automatically if the new process dies."""
    data_files.prepare(settings)
    progress("starting the daemon")
    reader, writer = os.pipe()
    try:
        try:
            _spawn(settings, writer)
        finally:
            os.close(writer)
        return _heard(settings, reader, deadline, progress)
    finally:
        os.close(reader)


def _heard(settings: Settings, reader: int, deadline: float, progress: Progress) -> Running | None:
    buffer = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([reader], [], [], left)[0]:
            break
        chunk = os.read(reader, 65536)
        if not chunk:
            raise StartFailed(
                "daemon_died", "the daemon died while starting", hint=f"its log is {settings.log_file}; try again"
            )
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            message: dict[str, Any] = json.loads(line)
            if "progress" in message:
                progress(message["progress"])
            elif message.get("ready"):
                return find(settings)
            elif error := message.get("error"):
                if error["code"] == DataDirectoryLocked.code:
                    return None
                raise StartFailed(error["code"], error["message"], hint=error["hint"])
    return None


_children: list[Any] = []


def _spawn(settings: Settings, writer: int) -> None:
    """In a session of its own and away from the caller's directory, so that neither can take it down or be held."""
    import subprocess

    command = [sys.executable, "-P", "-m", "executor", "up", "--foreground", "--report-to", str(writer)]
    log = _log(settings)
    try:
        child = subprocess.Popen(  # never waited for: it outlives us
            command,
            cwd="/",
            env=_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[writer],
        )
    finally:
        os.close(log)
    _children.append(child)


def _log(settings: Settings) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.open(settings.log_file, flags, 0o600)
    except OSError as error:
        raise data_files.unusable(settings.state_dir, "EXECUTOR_STATE_DIR", error) from error


def _environment(settings: Settings) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "EXECUTOR_TOKEN"}
    program = environment.get("EXECUTOR_PROGRAM", "")
    if "/" in program:  # the daemon runs in another directory, and names this program in what it shows
        environment["EXECUTOR_PROGRAM"] = str(Path(program).absolute())
    environment["EXECUTOR_DATA_DIR"] = str(settings.data_dir)
    environment["EXECUTOR_STATE_DIR"] = str(settings.state_dir)
    if settings.config_file.exists():
        environment["EXECUTOR_CONFIG"] = str(settings.config_file)
    return environment
