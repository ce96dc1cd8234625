from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from executor.daemon import lock
from executor.errors import DataDirectoryLocked

HOLD = """
import sys
from pathlib import Path
from executor.daemon import lock
held = lock.acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holding_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_can_not_have_it_and_learns_who_has(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with holding_process(path) as process:
        assert lock.holder(path) == process.pid
        with pytest.raises(DataDirectoryLocked, match=str(process.pid)):
            lock.acquire(path)


def test_it_is_free_the_moment_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with holding_process(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(120)
        assert lock.holder(path) is None
        lock.acquire(path).release()


def test_asking_from_inside_the_holding_process_does_not_free_it(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with lock.acquire(path):
        assert lock.holder(path) == os.getpid()
        with pytest.raises(DataDirectoryLocked):
            lock.acquire(path)
        asked = subprocess.run(
            [
                sys.executable,
                "-c",
                f"from pathlib import Path; from executor.daemon import lock; print(lock.holder(Path({str(path)!r})))",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(asked.stdout) == os.getpid()
    assert lock.holder(path) is None


def test_a_child_does_not_inherit_it(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with lock.acquire(path), subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        lock._held[path].release()
        assert lock.holder(path) is None
        child.kill()


def test_no_one_holds_what_does_not_exist(tmp_path: Path) -> None:
    assert lock.holder(tmp_path / "none" / "daemon.lock") is None


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "daemon.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"daemon\.lock"):
        lock.acquire(tmp_path / "daemon.lock")
