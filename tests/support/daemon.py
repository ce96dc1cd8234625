"""A real daemon process on a data directory of its own, driven over its HTTP API."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

# A daemon that is killed may also stop in the middle of an answer.
DOWN = (ConnectionError, urllib.error.URLError, TimeoutError, socket.timeout, http.client.HTTPException)


def free_port() -> int:
    """Below those that the system gives to connections and to anyone who asks for any: one of these would be taken
    again before a daemon listens on it, or while it is down."""
    while True:
        port = random.randint(15_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Refused(Exception):
    """An answer with a status of 400 or more."""

    def __init__(self, status: int, problem: Any) -> None:
        super().__init__(f"{status}: {problem}")
        self.status = status
        self.problem = problem


class Daemon:
    """Outlives its process: `start` again after a kill, and the data directory is the same."""

    def __init__(self, root: Path, **variables: str) -> None:
        self.command = [sys.executable, "-m", "executor", "up", "--foreground"]
        self.options: dict[str, Any] = {}  # for `subprocess`: another user
        self.data_dir = root / "data"
        self.state_dir = root / "state"
        self.host = "127.0.0.1"
        self.port = free_port()
        self.log = root / "output"
        self.process: subprocess.Popen[bytes] | None = None
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("EXECUTOR_")},
            "EXECUTOR_DATA_DIR": str(self.data_dir),
            "EXECUTOR_STATE_DIR": str(self.state_dir),
            "EXECUTOR_CONFIG": os.devnull,
            "EXECUTOR_PORT": str(self.port),
            "EXECUTOR_WORKERS": "1",  # it starts sooner
            **variables,
        }

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self, seconds: float = 120.0) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command, env=self.environ, stdout=output, stderr=output, **self.options
            )
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended while starting: {self.log.read_text()[-2000:]}")
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=5):
                    return
            except DOWN:
                time.sleep(0.02)
        raise AssertionError("the daemon did not start in time")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(120)

    def token(self, kind: str = "operator") -> str:
        return (self.data_dir / f"{kind}.token").read_text().strip()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = "",
        timeout: float = 240.0,
        key: str = "",
    ) -> Any:
        headers = {"Authorization": f"Bearer {token or self.token()}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.code, json.loads(error.read() or b"null")) from error

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def post(self, path: str, body: Any = None) -> Any:
        return self.request("POST", path, {} if body is None else body)

    def add_source(self, body: dict[str, Any], *, seconds: float = 200.0) -> Any:
        """A busy machine may take longer to connect than a daemon waits."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.post("/v1/sources", body)
            except Refused as error:
                if error.problem.get("reason") != "timeout" or time.monotonic() > deadline:
                    raise
