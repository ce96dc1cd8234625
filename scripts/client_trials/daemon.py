"""A daemon of its own for the trials, with the demo's API connected, in a directory that is removed afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / ".venv" / "bin" / "executor"
WAIT_BEFORE_APPROVING = 8.0  # longer than the shortest time limit that a client has by default


@dataclass(frozen=True)
class Daemon:
    home: Path

    def run(self, *words: str, home: Path | None = None) -> str:
        """`home` is of the client whose file is changed."""
        own = {"HOME": str(home or self.home), "EXECUTOR_DATA_DIR": str(self.home / "data"), "EXECUTOR_PORT": "0"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EXECUTOR_")}
        environment = {**kept, **own, "XDG_CONFIG_HOME": str(home / ".config" if home else self.home)}
        done = subprocess.run(
            [str(PROGRAM), *words], env=environment, capture_output=True, text=True, timeout=180, check=False
        )
        if done.returncode:
            raise SystemExit(f"`executor {' '.join(words)}` failed:\n{done.stderr}")
        return done.stdout

    def connect(self, client: str, transport: str) -> str:
        """The text of `executor connect`, as it is."""
        shown: dict[str, Any] = json.loads(
            self.run("connect", client, "--print", *(["--http"] if transport == "http" else []), "--json")
        )
        return str(shown["text"])

    def connect_client(self, client: str, transport: str, home: Path) -> None:
        """As a person would: the client's file is changed, and what it says is checked."""
        self.run("connect", client, "--yes", *(["--http"] if transport == "http" else []), home=home)

    def instructions(self) -> str:
        """How the server's instructions begin."""
        address, header = self.connect("other", "http").splitlines()
        name, _, value = header.partition(": ")
        accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "trial", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}
        request = urllib.request.Request(address, json.dumps(body).encode(), {name: value, **accept})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return str(json.load(answer)["result"]["instructions"])[:40]

    def approve(self, question: str) -> None:
        """As a person would, a while after the question was asked."""
        time.sleep(WAIT_BEFORE_APPROVING)
        self.run("approvals", "approve", question)


@contextmanager
def running(home: Path) -> Iterator[Daemon]:
    home.mkdir()
    daemon = Daemon(home)
    daemon.run("up")
    try:
        daemon.run("sources", "add", "--demo")
        yield daemon
    finally:
        daemon.run("down")
