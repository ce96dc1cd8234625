"""The cost of an execution while 0, 250 or 1,000 event streams of other clients are open."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks import processes
from benchmarks.backlog import taken
from benchmarks.measures import Rows
from benchmarks.ours import Ours, bearer
from benchmarks.series import Series

SIZES = (0, 250, 1_000)


class Listeners:
    """Streams that are read all the time, so that nothing waits to be sent to them."""

    def __init__(self, subject: Ours, amount: int, stack: ExitStack) -> None:
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self.received = 0
        token = bearer(subject.home / "data" / "operator.token")["Authorization"]
        address = ("127.0.0.1", subject.port)
        for _ in range(amount):
            stream = stack.enter_context(socket.create_connection(address))
            head = f"GET /v1/events?live=true HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nAuthorization: {token}\r\n"
            stream.sendall(f"{head}Accept: text/event-stream\r\n\r\n".encode())
            begun = b""
            while b": connected" not in begun:
                begun += stream.recv(4096)
            self._selector.register(stream, selectors.EVENT_READ)
        self._over = threading.Event()
        thread = threading.Thread(target=self._read)
        stack.callback(thread.join)
        stack.callback(self._over.set)
        thread.start()

    def _read(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(0.1):
                self.received += len(key.fileobj.recv(65536))  # type: ignore[union-attr]


def measure(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Rows:
    rows: Rows = {}
    subject = Ours(folder)
    subject.folder.mkdir(parents=True)
    subject.start()
    try:
        for size in SIZES:
            say(f"listeners: {size:,} open event streams")
            rows[f"`1+1` with {size:,} listeners"] = measure_executions(subject, size, 20 if quick else 100)
    finally:
        subject.stop()
    return rows


def measure_executions(subject: Ours, size: int, amount: int) -> Series:
    with ExitStack() as stack:
        listeners = Listeners(subject, size, stack)
        client = subject.client()
        stack.callback(client.close)
        subject.execute(client, "return 1+1", 2)
        before = processes.cpu_seconds(subject.pid)
        samples = [taken(lambda: subject.execute(client, "return 1+1", 2)) for _ in range(amount)]
        spent = (processes.cpu_seconds(subject.pid) - before) * 1000
        if size and not listeners.received:
            raise RuntimeError("nothing was sent to the listeners")
    return Series("ms", samples, spent)
