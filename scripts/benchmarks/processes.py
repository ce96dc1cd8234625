"""What the kernel says of a process tree: CPU time and memory; starting and ending the processes of a run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
CPU_CLOCK = 2  # of a process, given its id: see clock_getcpuclockid(3)


@dataclass(frozen=True)
class Stat:
    parent: int
    cpu_seconds: float
    fresh_pages: int


def stat(pid: int) -> Stat | None:
    """CPU counts children that ended and were reaped, so a short-lived worker is not lost."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        own = time.clock_gettime(~pid << 3 | CPU_CLOCK)  # in nanoseconds, where `stat` counts ticks
    except OSError:
        return None
    reaped = sum(map(int, fields[13:15])) * TICK
    return Stat(parent=int(fields[1]), cpu_seconds=own + reaped, fresh_pages=int(fields[7]))


def tree(root: int) -> list[int]:
    """The process and all its living descendants."""
    parents = {int(entry.name): found.parent for entry in PROC.glob("[0-9]*") if (found := stat(int(entry.name)))}
    members = [root] if root in parents else []
    for member in members:
        members.extend(pid for pid, parent in parents.items() if parent == member)
    return members


def cpu_seconds(root: int) -> float:
    return sum(found.cpu_seconds for pid in tree(root) if (found := stat(pid)))


def fresh_pages(root: int) -> int:
    """How many pages of memory the tree has touched for the first time."""
    return sum(found.fresh_pages for pid in tree(root) if (found := stat(pid)))


def memory_bytes(root: int) -> int:
    """Proportional set size of the tree: pages shared by its processes count once."""
    return sum(proportional(pid) for pid in tree(root))


def proportional(pid: int) -> int:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def settled_memory_bytes(root: int, *, limit: float = 15) -> int:
    """Once it changed by less than 1 % within a second without CPU, or after `limit` seconds."""
    deadline = time.monotonic() + limit
    before, spent = memory_bytes(root), cpu_seconds(root)
    while time.monotonic() < deadline:
        time.sleep(1)
        now, used = memory_bytes(root), cpu_seconds(root)
        if abs(now - before) < before * 0.01 and used - spent < 0.05:
            return now
        before, spent = now, used
    return before


def wait_until(ready: Callable[[], bool], *, limit: float, pause: float = 0.002, what: str) -> float:
    """Seconds until `ready` holds; a run that does not get there ends the benchmark."""
    start = time.perf_counter()
    while not ready():
        if time.perf_counter() - start > limit:
            raise TimeoutError(f"{what} did not happen within {limit:g} s")
        time.sleep(pause)
    return time.perf_counter() - start


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def listening(command: Sequence[str], **variables: str) -> Iterator[str]:
    """A server that prints its port. It ends when its standard input does, so also if this process is killed."""
    environ = {**os.environ, **variables}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    assert process.stdin and process.stdout
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that this run started, gently first."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


@dataclass(frozen=True)
class Spent:
    wall_seconds: float
    cpu_seconds: float
    output: bytes


def run(command: Sequence[str], environ: Mapping[str, str], *, cwd: Path) -> Spent:
    """One short command with the CPU time of everything it started and waited for."""
    with (cwd / "command-output").open("w+b") as sink:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=dict(environ), cwd=cwd, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        sink.seek(0)
        output = sink.read()
    if process.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` ended with {process.returncode}: {output.decode()[-2000:]}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, output)
