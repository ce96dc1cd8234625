"""What the measurements need of a product under test."""

from __future__ import annotations

import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.wire import Http, Mcp, WireError, value_of

READY_SECONDS = 60.0


@dataclass(frozen=True)
class Start:
    """Seconds from spawning the daemon to its first answers, and the CPU that the last one took."""

    answered: float
    executed: float
    cpu_seconds: float


class Subject(ABC):
    name: str
    read: str  # JavaScript that reads thing `i` and gives its number
    write: str  # JavaScript that creates a thing and needs an approval
    health = "/"  # answers 200 as soon as the daemon does

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = processes.free_port()
        self.warm = False
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @abstractmethod
    def environ(self, home: Path) -> dict[str, str]: ...

    @abstractmethod
    def daemon_command(self) -> list[str]: ...

    @abstractmethod
    def cli(self, *arguments: str) -> list[str]: ...

    @abstractmethod
    def headers(self, home: Path) -> Mapping[str, str]: ...

    @abstractmethod
    def connect(self, document_url: str) -> None:
        """Adds the trivial API as source `things`."""

    @abstractmethod
    def park(self, client: Mcp) -> str:
        """Runs the write until it waits for its approval; what `approve` needs to know of it."""

    @abstractmethod
    def approve(self, client: Mcp, parked: str) -> None:
        """Approves and waits until the execution is completed."""

    @property
    def status_arguments(self) -> Sequence[str]:
        return ("status",)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def client(self) -> Mcp:
        return Mcp(self.base_url, self.headers(self.home))

    def execute(self, client: Mcp, code: str, expected: Any) -> None:
        answer = client.call("execute", {"code": code})
        if value_of(answer) != expected:
            raise WireError(f"{self.name}: `{code[:80]}` gave {str(answer)[:1000]}")

    def spawn(self, home: Path) -> subprocess.Popen[bytes]:
        home.mkdir(parents=True, exist_ok=True)
        with (self.folder / "daemon.log").open("ab") as log:
            return subprocess.Popen(
                self.daemon_command(),
                env=self.environ(home),
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def start(self) -> None:
        self.process = self.spawn(self.home)
        self.wait_for(self.process)

    def wait_for(self, process: subprocess.Popen[bytes]) -> None:
        def answers() -> bool:
            if process.poll() is not None:
                log = (self.folder / "daemon.log").read_text(errors="replace")
                raise WireError(f"{self.name}: the daemon ended with {process.returncode}\n{log[-3000:]}")
            return self.answers()

        processes.wait_until(answers, limit=READY_SECONDS, what=f"{self.name}: first answer")

    def stop(self) -> None:
        if self.process is not None:
            processes.end(self.process)

    def answers(self) -> bool:
        http = Http(self.base_url, {}, timeout=READY_SECONDS)
        try:
            response, _ = http.request("GET", self.health)
        except OSError:
            return False
        else:
            return response.status == 200
        finally:
            http.close()

    def execute_once(self, home: Path) -> None:
        client = Mcp(self.base_url, self.headers(home))
        self.execute(client, "return 1+1", 2)
        client.close()

    @contextmanager
    def another_daemon(self, home: Path) -> Iterator[subprocess.Popen[bytes]]:
        """A daemon of its own in `home`, on a fresh port. It ends afterwards."""
        port, self.port = self.port, processes.free_port()
        process = self.spawn(home)
        try:
            self.wait_for(process)
            yield process
        finally:
            processes.end(process)
            self.port = port

    def cold_start(self, home: Path, execute: Callable[[Subject, Path], None]) -> Start:
        begin = time.perf_counter()
        with self.another_daemon(home) as process:
            answered = time.perf_counter() - begin
            execute(self, home)
            executed = time.perf_counter() - begin
            return Start(answered, executed, processes.cpu_seconds(process.pid))

    def fresh_home(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="start-", dir=self.folder))
