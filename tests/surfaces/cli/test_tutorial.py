"""docs/tutorial.md: every command runs as it is, in order and in one shell, and prints what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import read_until, terminal

PAGE = (Path(__file__).parents[3] / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
MARK = "--- end of block ---"
MASKS = {
    r"\b(int|exec|pol|src|con|act)_[0-9a-f]{32}\b": r"\1_…",
    r"\d{4}-\d\d-\d\dT[\d:.]+Z": "TIME",
    r"127\.0\.0\.1:\d+": "127.0.0.1:PORT",
    r" {2,}": "  ",
}


@dataclass(frozen=True)
class Step:
    commands: str
    prints: str


def steps() -> list[Step]:
    """Each block of commands, with the output that is shown next on the page."""
    blocks = BLOCK.findall(PAGE)
    assert {kind for kind, _ in blocks} <= {"sh", "text", "json"}
    return [
        Step(text, blocks[at + 1][1] if at + 1 < len(blocks) and blocks[at + 1][0] != "sh" else "")
        for at, (kind, text) in enumerate(blocks)
        if kind == "sh"
    ]


def mask_output(text: str) -> list[str]:
    for pattern, mask in MASKS.items():
        text = re.sub(pattern, mask, text)
    return [line.rstrip() for line in text.replace("\r", "").splitlines()]


def is_printed(expected: str, printed: str) -> bool:
    """A line of the page that is only `…` stands for any number of lines."""
    parts = [re.escape(line) if line != "…" else "(?:.*\n)*?.*" for line in mask_output(expected)]
    wanted = "\n".join(parts).replace("(?:.*\n)*?.*\n", "(?:.*\n)*?").replace("\n(?:.*\n)*?.*", "(?:\n.*)*?")
    return re.fullmatch(wanted + "\n*", "\n".join(mask_output(printed)) + "\n") is not None


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A fresh home, with `executor` on the path."""
    cli = Cli(tmp_path_factory.mktemp("tutorial"))
    program = cli.home / "bin" / "executor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m executor "$@"\n')
    program.chmod(0o755)
    yield cli
    cli("down")


def in_one_shell(home: Cli, commands: list[str]) -> list[str]:
    """What each block prints. The blocks after the first run in one shell, so that they share its variables."""
    environment = {**home.environment, "PATH": f"{home.home}/bin:{os.environ['PATH']}"}
    script = "\n".join(f"{block}\nprintf '%s\\n' '{MARK}'" for block in commands)
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env=environment,
        cwd=home.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return done.stdout.decode().split(f"{MARK}\n")


def demo_in_a_terminal(home: Cli) -> str:
    with terminal(home, "demo") as (process, screen):
        seen = read_until(screen, "[leave]")
        os.write(screen, b"a\n")
        seen += read_until(screen, "Try your own code")
        assert process.wait(60) == 0
        assert process.stdout is not None
        return f"{seen}\n{process.stdout.read()}"


def test_the_tutorial_runs_as_it_is_written(home: Cli) -> None:
    first, *rest = steps()
    assert first.commands == "executor demo" and len(rest) >= 12
    shown = [demo_in_a_terminal(home), *in_one_shell(home, [step.commands for step in rest])]
    for step, printed in zip((first, *rest), shown, strict=False):
        assert step.prints, f"the page does not say what this prints:\n{step.commands}"
        if step is first:
            assert all(line in mask_output(printed) for line in mask_output(step.prints) if line != "…"), printed
        else:
            assert is_printed(step.prints, printed), f"{step.commands}\nprinted:\n{printed}"


def test_a_line_that_is_not_printed_is_noticed() -> None:
    assert is_printed("…\nb\n…", "a\nb\nc\nd\n")
    assert is_printed("added pol_…: x", "added pol_0123456789abcdef0123456789abcdef: x\n")
    assert is_printed("a\n…", "a\n") and is_printed("a\n…\nb", "a\nb\n")
    for page in ("a", "…\nx\n…", "a\nb\n…\nc\nx", "b\n…"):
        assert not is_printed(page, "a\nb\nc\n")
