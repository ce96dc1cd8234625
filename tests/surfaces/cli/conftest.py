"""The CLI as a user runs it: a process of its own, a data directory of its own, a real daemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from executor.demo.server import DemoServer

SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Cli:
    home: Path

    @property
    def data_dir(self) -> Path:
        return self.home / "data"

    @property
    def state_dir(self) -> Path:
        return self.data_dir / "state"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EXECUTOR_")}
        own = {"EXECUTOR_DATA_DIR": str(self.data_dir), "EXECUTOR_PORT": "0", "EXECUTOR_WORKERS": "1"}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home),
            "EXECUTOR_PROGRAM": "executor",
            **own,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "executor", *arguments]

    def __call__(self, *arguments: str, stdin: str | bytes | None = None, **environment: str) -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            self.command(*arguments),
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            timeout=SECONDS,
            env={**self.environment, **environment},
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command(*arguments), env=self.environment, text=True, **options)

    @property
    def daemon(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.state_dir / "daemon.json").read_text())
        return record


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """Nothing is there yet."""
    cli = Cli(tmp_path)
    yield cli
    cli("down")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """One daemon for the tests that leave it as they found it."""
    cli = Cli(tmp_path_factory.mktemp("shared"))
    started = cli("up")
    assert started.code == 0, started.err
    yield cli
    cli("down")


@contextmanager
def connect_sample(cli: Cli, namespace: str) -> Iterator[DemoServer]:
    """A sample API as a source of this name."""
    with DemoServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        added = cli("sources", "add", f"{server.url}/openapi.json", "--namespace", namespace, "--json")
        assert added.code == 0, added.err
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def shop(shared: Cli) -> Iterator[DemoServer]:
    """The shared daemon with a connected source `shop`."""
    with connect_sample(shared, "shop") as server:
        yield server


@pytest.fixture
def own(cli: Cli) -> Cli:
    """Directories for one test alone, made already."""
    cli.data_dir.mkdir(mode=0o700)
    cli.state_dir.mkdir(mode=0o700)
    return cli


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the browser was to show, one file for each."""
    browser, shown = tmp_path / "browser", tmp_path / "shown"
    shown.mkdir()
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {shown}/$$\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    return shown


def read_opened(pages: Path) -> list[str]:
    """The content of each page: links are never arguments of a program."""
    return [Path(urlsplit(one.read_text()).path).read_text() for one in pages.iterdir() if one.read_text()]
