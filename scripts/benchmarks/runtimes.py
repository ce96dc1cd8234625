"""The same TypeScript in each runtime that can run it, by turns on one daemon with a sandbox host beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.measures import Rows, milliseconds
from benchmarks.ours import Ours
from benchmarks.series import Series
from benchmarks.wire import WireError

ROUNDS = 5
RUNTIMES = ("typescript", *(("deno",) if find_spec("deno") else ()), "remote")
PROGRAMS: dict[str, tuple[str, Any]] = {
    "1+1": ("return 1+1", 2),
    "a loop of 1e6": ("let s = 0; for (let i = 0; i < 1e6; i++) s = (s + i) % 7; return s", 0),
}


class WithHost(Ours):
    """A daemon whose `remote` runtime is a sandbox host of this run."""

    def __init__(self, folder: Path, host_port: int, token_file: Path) -> None:
        super().__init__(folder)
        self._remote = {
            "EXECUTOR_REMOTE_URL": f"http://127.0.0.1:{host_port}",
            "EXECUTOR_REMOTE_TOKEN_FILE": str(token_file),
        }

    def environ(self, home: Path) -> dict[str, str]:
        return super().environ(home) | self._remote

    def run(self, runtime: str, code: str, expected: Any) -> None:
        view = self.operator.json("POST", "/v1/executions", {"code": code, "runtime": runtime})
        if view["status"] != "completed" or view["result"] != expected:
            raise WireError(f"{runtime}: `{code}` gave {str(view)[:1000]}")


@contextmanager
def sandbox_host(folder: Path, port: int, token_file: Path) -> Iterator[int]:
    options = ["--port", str(port), "--token-file", str(token_file)]
    command = [sys.executable, "-m", "executor", "runtime", "serve", *options]
    environ = {**os.environ, "EXECUTOR_DATA_DIR": str(folder / "host"), "EXECUTOR_CONFIG": os.devnull}
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.readline()
    try:
        yield process.pid
    finally:
        processes.end(process)
        process.stderr.close()


def measure(folder: Path, amount: int) -> Rows:
    """The CPU time is that of the daemon and the host, with everything under both."""
    folder.mkdir(parents=True, exist_ok=True)
    port, token_file, rows = processes.free_port(), folder / "host.token", Rows()
    with sandbox_host(folder, port, token_file) as host:
        subject = WithHost(folder / "daemon", port, token_file)
        subject.folder.mkdir()
        subject.start()
        try:
            for _ in range(ROUNDS):
                for name, (code, expected) in PROGRAMS.items():
                    for runtime in RUNTIMES:
                        row = rows.setdefault(f"{name}, runtime {runtime}", Series("ms"))
                        row.extend(_round(subject, host, runtime, code, expected, amount))
        finally:
            subject.stop()
    return rows


def _round(subject: WithHost, host: int, runtime: str, code: str, expected: Any, amount: int) -> Series:
    subject.run(runtime, code, expected)  # starts what runs it

    def spent() -> float:
        return processes.cpu_seconds(subject.pid) + processes.cpu_seconds(host)

    before = spent()
    samples = [milliseconds(lambda: subject.run(runtime, code, expected)) for _ in range(amount)]
    return Series("ms", samples, (spent() - before) * 1000)
