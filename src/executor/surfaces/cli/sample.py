"""The sample API of `executor demo`: a process of its own that outlives the command, but not by much.

It holds a lock in the state directory, so that the next `demo` finds it and nothing else is taken for it. Run as a
module it becomes that process: `python -m executor.surfaces.cli.sample LOCK SECONDS`.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from executor.daemon import lock
from executor.errors import DataDirectoryLocked, ExecutorError
from executor.settings import Settings

MODULE = "executor.surfaces.cli.sample"
LIFE_SECONDS = 30 * 60
START_SECONDS = 20.0
POLL_SECONDS = 0.02


class SampleFailed(ExecutorError):
    code = "sample_failed"


def ensure(settings: Settings) -> str:
    """The sample's address. One that runs already gets its full time again."""
    lock_file, log_file = _files(settings)
    if pid := lock.holder(lock_file):
        with suppress(OSError):
            os.kill(pid, signal.SIGUSR1)
    else:
        _spawn(lock_file, log_file)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if lock.holder(lock_file) and (url := _address(log_file)):
            return url
        time.sleep(POLL_SECONDS)
    raise SampleFailed("the sample API did not start", hint=f"its output is in {log_file}")


def stop(settings: Settings) -> None:
    if pid := lock.holder(_files(settings)[0]):
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)


def _files(settings: Settings) -> tuple[Path, Path]:
    return settings.state_dir / "demo.lock", settings.state_dir / "demo.log"


def _spawn(lock_file: Path, log_file: Path) -> None:
    import subprocess

    command = [sys.executable, "-P", "-m", MODULE, str(lock_file), str(LIFE_SECONDS)]
    log_file.unlink(missing_ok=True)
    log = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        child = subprocess.Popen(
            command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    finally:
        os.close(log)
    _children.append(child)


_children: list[object] = []


def _address(log_file: Path) -> str:
    with suppress(OSError):
        first, newline, _ = log_file.read_text(encoding="utf-8", errors="replace").partition("\n")
        if newline and (at := first.find("http://127.0.0.1:")) >= 0:
            return first[at:].split()[0].rstrip("/")
    return ""


def main(lock_file: str, seconds: str) -> None:
    def live_on(number: int = 0, frame: object = None) -> None:
        signal.alarm(int(seconds))

    with suppress(DataDirectoryLocked), lock.acquire(Path(lock_file)):
        signal.signal(signal.SIGUSR1, live_on)
        live_on()
        os.dup2(os.pipe()[0], sys.stdin.fileno())  # it would end with its input; this one never ends
        sys.argv = ["executor.demo", "--port", "0"]
        runpy.run_module("executor.demo", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
