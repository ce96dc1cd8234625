"""Which Python `scripts/setup` takes. The Pythons are stand-ins that say how fast they are and make no environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


class Machine:
    """`PATH` has the folders in the order in which they are named."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.script = root / "checkout" / "scripts" / "setup"
        self.script.parent.mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "setup", self.script)

    def add(self, folder: str, name: str, microseconds: int | None) -> str:
        """One that takes so long for the measured work, or that can't be used."""
        file = self.root / folder / name
        file.parent.mkdir(exist_ok=True)
        speed = "exit 1" if microseconds is None else f"echo {microseconds}"
        file.write_text(f'#!/bin/sh\ncase $1 in -c) {speed} ;; -V) echo "{folder}" ;; *) exit 1 ;; esac\n')
        file.chmod(0o755)
        return str(file)

    def run(self, *folders: str, **environment: str) -> str:
        path = ":".join([*(str(self.root / folder) for folder in folders), str(self.tools)])
        done = subprocess.run([self.script], capture_output=True, text=True, env={"PATH": path, **environment})
        assert done.returncode == 1
        return done.stderr

    @property
    def tools(self) -> Path:
        """What the script needs besides, and no Python."""
        folder = self.root / "tools"
        if not folder.exists():
            folder.mkdir()
            for name in ("dirname", "mkdir", "cat", "readlink", "flock", "sleep", "sort", "tr", "rm"):
                if found := shutil.which(name):
                    (folder / name).symlink_to(found)
        return folder


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


@pytest.mark.parametrize(
    ("first", "second", "chosen"), [(4000, 2600, "b"), (4000, 3700, "a"), (2600, 4000, "a"), (None, 9000, "b")]
)
def test_a_python_further_behind_in_path_is_taken_if_it_is_clearly_faster(
    machine: Machine, first: int | None, second: int, chosen: str
) -> None:
    pythons = {"a": machine.add("a", "python3", first), "b": machine.add("b", "python3.11", second)}
    assert f"making a virtual environment with {chosen} ({pythons[chosen]})" in machine.run("a", "b")


def test_the_python_that_is_named_is_taken_whatever_its_speed(machine: Machine) -> None:
    machine.add("a", "python3", 1000)
    slow = machine.add("b", "python3.13", 9000)
    assert f"with b ({slow})" in machine.run("a", PYTHON=slow)


def test_a_named_python_that_cant_be_used_is_an_error(machine: Machine) -> None:
    machine.add("a", "python3", 1000)
    old = machine.add("b", "python3.9", None)
    assert f"PYTHON={old} is not a Python 3.11 or newer with venv" in machine.run("a", PYTHON=old)


def test_without_any_python_the_setup_says_what_is_missing(machine: Machine) -> None:
    machine.add("a", "python3", None)
    assert "Python 3.11 or newer with venv is needed and was not found" in machine.run("a", "nowhere")


def test_the_measurement_works_with_a_real_python(machine: Machine) -> None:
    """The stand-ins above would hide a mistake in it. A file in the place of the environment ends the setup early."""
    (machine.root / "checkout" / ".venv").write_text("")
    assert f"({sys.executable})" in machine.run(PYTHON=sys.executable)
