"""`scripts/executor` decides what to do by looking at files only; here its setup and its Python are stand-ins."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ("pyproject.toml", "hatch_build.py", "constraints.txt")


class Checkout:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "executor", root / "scripts")
        for name in SOURCES:
            (root / name).touch()
        self._program("scripts/setup", 'echo "set up" >>"$(dirname "$0")/../log"')
        self._program(".venv/bin/python", 'echo "$EXECUTOR_PROGRAM|$PYTHONDONTWRITEBYTECODE|$*"')
        self.stamp = root / ".venv" / ".executor-stamp"
        self.stamp.write_text(f"digest\n{root}\n")
        for name in SOURCES:
            os.utime(root / name, (1, 1))

    def run(self, *arguments: str, program: str = "", cwd: Path | None = None) -> str:
        command = [program or str(self.root / "scripts" / "executor"), *arguments]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "EXECUTOR_PROGRAM": "stale"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd, env=environment)
        assert done.stderr == ""
        return done.stdout.strip()

    def run_on_terminal(self, *arguments: str) -> str:
        """What it says on a terminal."""
        ours, its = pty.openpty()
        try:
            command = [str(self.root / "scripts" / "executor"), *arguments]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=its, check=True)
            os.write(its, b"\n")
            return os.read(ours, 10_000).decode().strip()
        finally:
            os.close(ours)
            os.close(its)

    @property
    def set_up(self) -> bool:
        return (self.root / "log").exists()

    def _program(self, path: str, line: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout((tmp_path / "a checkout").resolve())


def test_a_ready_checkout_starts_at_once_from_anywhere(checkout: Checkout, tmp_path: Path) -> None:
    told, writes, arguments = checkout.run("call", "a b", cwd=tmp_path).split("|")
    assert not checkout.set_up
    assert told == str(checkout.root / "scripts" / "executor")
    assert writes == ""
    assert arguments == "-P -m executor call a b"


def test_through_a_link_hints_name_the_link(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "ex").symlink_to("a checkout/scripts/executor")
    assert checkout.run("status", program="./ex", cwd=tmp_path).startswith("./ex|")
    assert not checkout.set_up


@pytest.mark.parametrize("name", SOURCES)
def test_a_newer_source_of_the_environment_renews_it(checkout: Checkout, name: str) -> None:
    later = checkout.stamp.stat().st_mtime + 10
    os.utime(checkout.root / name, (later, later))
    checkout.run("status")
    assert checkout.set_up


def test_without_a_stamp_or_after_a_move_it_is_set_up(checkout: Checkout, tmp_path: Path) -> None:
    moved = checkout.root.rename(tmp_path / "moved")
    checkout.root = moved
    checkout.run("status")
    assert checkout.set_up


@pytest.mark.parametrize("name", ["index.html", "src/pages/sources/tools.tsx", "src/ui", "public/theme.js"])
def test_a_web_ui_older_than_its_sources_is_reported_and_not_built(checkout: Checkout, name: str) -> None:
    built = checkout.root / "src/executor/surfaces/web/static/index.html"
    for file in (built, checkout.root / "web" / name / "file"):
        file.parent.mkdir(parents=True)
        file.touch()
    source = checkout.root / "web" / name
    for path in (checkout.root / "web").rglob("*"):
        os.utime(path, (1, 1))
    assert checkout.run_on_terminal("status") == ""
    os.utime(source, (built.stat().st_mtime + 10,) * 2)
    assert "scripts/setup" in checkout.run_on_terminal("status")
    assert checkout.run("status")  # and nothing is said where nobody reads
    assert not checkout.set_up
    built.unlink()
    assert checkout.run_on_terminal("status") == ""


def test_the_scripts_are_valid_shell() -> None:
    for name in ("scripts/executor", "scripts/setup", "scripts/check", "scripts/test", ".ci/run"):
        assert os.access(ROOT / name, os.X_OK), name
        subprocess.run(["/bin/sh", "-n", ROOT / name], check=True)
