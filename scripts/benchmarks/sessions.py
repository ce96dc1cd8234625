"""Agent sessions with the scripted agent: starts, prompts, throughput, latency to watchers, memory, many at once."""

from __future__ import annotations

import json
import re
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.measures import Rows
from benchmarks.ours import Ours, bearer
from benchmarks.series import Series

LIMIT = 300.0
WATCHERS = (1, 100)
STAMP = re.compile(rb"at-(\d{19})")
ENDED = ("completed", "failed", "cancelled", "interrupted")


class SessionDaemon(Ours):
    """With room for all sessions at once."""

    def environ(self, home: Path) -> dict[str, str]:
        more = {"EXECUTOR_SESSION_LIMIT": "60", "EXECUTOR_SESSION_PROMPTS_PER_MINUTE": "10000"}
        return super().environ(home) | more


class Sessions:
    def __init__(self, subject: Ours, work: Path, isolation: str) -> None:
        self._subject, self._work, self._isolation = subject, work, isolation

    def start(self) -> str:
        body = {"agent": "fake", "isolation": self._isolation, "cwd": str(self._work)}
        return str(self._subject.operator.json("POST", "/v1/sessions", body)["id"])

    def send(self, session: str, *steps: dict[str, Any]) -> str:
        body = {"prompt": json.dumps(steps)}
        return str(self._subject.operator.json("POST", f"/v1/sessions/{session}/prompt", body)["id"])

    def wait(self, session: str, task: str) -> None:
        path = f"/v1/sessions/{session}/tasks/{task}"
        processes.wait_until(
            lambda: self._subject.operator.json("GET", path)["status"] in ENDED, limit=LIMIT, pause=0.02, what=path
        )

    def pid(self, session: str) -> int:
        return int(self._subject.operator.json("GET", f"/v1/sessions/{session}")["pid"])

    def stop(self, session: str) -> None:
        self._subject.operator.json("POST", f"/v1/sessions/{session}/stop", {})


class Watchers:
    """Streams of one session, all read in one thread."""

    def __init__(self, subject: Ours, session: str, amount: int, stack: ExitStack) -> None:
        self._selector = stack.enter_context(selectors.DefaultSelector())
        token = bearer(subject.home / "data" / "operator.token")["Authorization"]
        for _ in range(amount):
            stream = stack.enter_context(socket.create_connection(("127.0.0.1", subject.port)))
            head = f"GET /v1/sessions/{session}/messages HTTP/1.1\r\nHost: 127.0.0.1:{subject.port}\r\n"
            stream.sendall(f"{head}Authorization: {token}\r\nAccept: text/event-stream\r\n\r\n".encode())
            stream.recv(65536)
            self._selector.register(stream, selectors.EVENT_READ)

    def read(self, handle: Callable[[bytes], bool]) -> None:
        """Until `handle` has seen enough."""
        ends = time.monotonic() + LIMIT
        while time.monotonic() < ends:
            for key, _ in self._selector.select(1.0):
                if handle(key.fileobj.recv(1 << 18)):  # type: ignore[union-attr]
                    return
        raise TimeoutError("the stream did not bring what was expected")


def measure(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Rows:
    subject = SessionDaemon(folder)
    (folder / "work").mkdir(parents=True)
    subject.start()
    rows: Rows = {}
    try:
        for isolation in ("insulated", "sandbox"):
            say(f"sessions: starts, {isolation}")
            rows |= measure_starts(
                subject, Sessions(subject, folder / "work", isolation), isolation, 3 if quick else 10
            )
        sessions = Sessions(subject, folder / "work", "insulated")
        say("sessions: throughput")
        rows |= measure_throughput(subject, sessions, 5_000 if quick else 50_000)
        for amount in WATCHERS:
            say(f"sessions: latency to {amount} watchers")
            rows |= measure_latency(subject, sessions, amount, 10 if quick else 40)
        rows |= measure_many(subject, sessions, 5 if quick else 50, say)
    finally:
        subject.stop()
    return rows


def measure_starts(subject: Ours, sessions: Sessions, isolation: str, amount: int) -> Rows:
    cold, warm = Series("ms"), Series("ms")
    for _ in range(amount):
        began = time.perf_counter()
        session = sessions.start()
        for series in (cold, warm):
            with ExitStack() as stack:
                watchers = Watchers(subject, session, 1, stack)
                began = began if series is cold else time.perf_counter()
                word = f"word{len(series.samples)}{'cold' if series is cold else 'warm'}"
                task = sessions.send(session, {"say": word})
                watchers.read(lambda data, word=word: f'"text":"{word}'.encode() in data)  # type: ignore[misc]
                series.samples.append((time.perf_counter() - began) * 1000)
            sessions.wait(session, task)
        sessions.stop(session)
    return {
        f"new session → first message, {isolation}": cold,
        f"prompt to a running session → first message, {isolation}": warm,
    }


def measure_throughput(subject: Ours, sessions: Sessions, amount: int) -> Rows:
    """Words that the agent sends as fast as it can, until all of them have been streamed to a watcher."""
    session = sessions.start()
    sessions.wait(session, sessions.send(session, {"say": "hello"}))
    seen = 0

    def count(data: bytes) -> bool:
        nonlocal seen
        seen += data.count(b"x ")
        return seen >= amount

    with ExitStack() as stack:
        watchers = Watchers(subject, session, 1, stack)
        spent, began = processes.cpu_seconds(subject.pid), time.perf_counter()
        sessions.send(session, {"flood": amount})
        watchers.read(count)
        seconds = time.perf_counter() - began
        spent = processes.cpu_seconds(subject.pid) - spent
    sessions.stop(session)
    return {
        "messages a second, agent → watcher": Series("", [amount / seconds]),
        "CPU of 1,000 messages": Series("ms", [spent * 1e6 / amount]),
    }


def measure_latency(subject: Ours, sessions: Sessions, watchers: int, amount: int) -> Rows:
    """From the moment a command of the agent looks at the clock until a watcher has its output."""
    session = sessions.start()
    sessions.wait(session, sessions.send(session, {"say": "hello"}))
    found = Series("ms")

    def note(data: bytes) -> bool:
        now = time.time_ns()
        found.samples += [(now - int(stamp)) / 1e6 for stamp in STAMP.findall(data)]
        return len(found.samples) >= amount * watchers

    with ExitStack() as stack:
        streams = Watchers(subject, session, watchers, stack)
        sessions.send(session, *({"run": "date +at-%s%N", "sleep": 0.1} for _ in range(amount)))
        streams.read(note)
    sessions.stop(session)
    return {f"message → {watchers} watcher{'s' * (watchers > 1)}": found}


def measure_many(subject: Ours, sessions: Sessions, amount: int, say: Callable[[str], None]) -> Rows:
    """All prompted at once; each says a word. Then what each of them holds while it is idle."""
    say(f"sessions: {amount} at once")
    names = [sessions.start() for _ in range(amount)]
    began = time.perf_counter()
    tasks = [sessions.send(name, {"say": "hello"}) for name in names]
    for name, task in zip(names, tasks, strict=True):
        sessions.wait(name, task)
    wall = time.perf_counter() - began
    held = [processes.memory_bytes(sessions.pid(name)) / 1e6 for name in names]
    for name in names:
        sessions.stop(name)
    return {
        f"{amount} sessions at once, until all have answered": Series("s", [wall]),
        "memory of an idle session": Series("MB", held),
    }
