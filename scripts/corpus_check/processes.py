"""Each document in a process of its own: its memory can be told, nothing of it stays, and none can end the others."""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import signal
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .result import Result

Check = Callable[[Path, str], Coroutine[Any, Any, Result]]


@dataclass
class Running:
    name: str
    pid: int
    deadline: float
    data: bytearray = field(default_factory=bytearray)
    is_late: bool = False


def results_of(check: Check, documents: Sequence[tuple[Path, str]], *, jobs: int, seconds: float) -> Iterator[Result]:
    """In the order in which they finish."""
    waiting = list(reversed(documents))
    with selectors.DefaultSelector() as selector:
        while waiting or selector.get_map():
            while waiting and len(selector.get_map()) < jobs:
                start(check, *waiting.pop(), selector, time.monotonic() + seconds)
            for key, _ in selector.select(timeout=1):
                running: Running = key.data
                piece = os.read(key.fd, 1 << 20)
                running.data += piece
                if not piece:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    yield finished(running)
            for key in list(selector.get_map().values()):
                if time.monotonic() > key.data.deadline and not key.data.is_late:
                    key.data.is_late = True
                    os.kill(key.data.pid, signal.SIGKILL)


def start(check: Check, path: Path, name: str, selector: selectors.BaseSelector, deadline: float) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as out:
            out.write(asyncio.run(check(path, name)).to_json().encode())
        os._exit(0)
    os.close(writing)
    selector.register(reading, selectors.EVENT_READ, Running(name, child, deadline))


def finished(running: Running) -> Result:
    _, status, usage = os.wait4(running.pid, 0)
    if running.data:
        return Result(**json.loads(bytes(running.data)))
    reason = "the check took too long" if running.is_late else f"the check itself ended with {status}"
    spent = round(usage.ru_utime + usage.ru_stime, 3)
    return Result(running.name, error=reason, seconds=spent, peak_mb=usage.ru_maxrss // 1024)
