"""Before a command runs on this machine, a person at a terminal sees exactly which, and only a clear yes starts it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from executor.surfaces.cli import exit_codes
from tests.sources.mcp.conftest import HOSTILE
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import read_until, terminal

QUESTION = "run it on this machine? [y/N]:"


def interrupt(process: subprocess.Popen[str]) -> None:
    """Again until it is heard: one that falls between the prompt and the reading of its answer is lost."""
    for _ in range(60):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
            return


def line(mark: Path) -> tuple[str, ...]:
    """A server that leaves a mark when it is started; its arguments hold what a shell or a terminal would act on."""
    script = f"open({str(mark)!r}, 'w'); import sys, runpy; sys.argv[1:] = ['calls']; runpy.run_path({HOSTILE!r}, run_name='__main__')"  # noqa: E501 - one argument
    return sys.executable, "-c", script, "; touch pwned", "\x1b[2K\rnpx harmless"


@pytest.mark.parametrize("answer", ["y\n", "yes\n", "Y\n"])
def test_a_clear_yes_starts_the_command_that_was_shown(shared: Cli, tmp_path: Path, answer: str) -> None:
    mark = tmp_path / "mark"
    with terminal(shared, "sources", "add", "--namespace", "agreed", "--", *line(mark)) as (process, screen):
        asked = read_until(screen, QUESTION)
        assert shlex.quote("; touch pwned") in asked and "\x1b[2K" not in asked
        assert HOSTILE in asked and not mark.exists()
        os.write(screen, answer.encode())
        assert process.wait(60) == exit_codes.COMPLETED
    assert mark.exists()
    assert (
        shared("call", "return (await tools.discover({query: 'work', namespace: 'agreed'})).total > 0").out == "true\n"
    )
    assert shared("sources", "remove", "agreed").code == exit_codes.COMPLETED


@pytest.mark.parametrize("answer", ["n\n", "\n", "no\n", "\x04", ""], ids=["n", "enter", "no", "end", "interrupt"])
def test_anything_else_starts_nothing(shared: Cli, tmp_path: Path, answer: str) -> None:
    mark = tmp_path / "mark"
    with terminal(shared, "sources", "add", "--namespace", "refused", "--", *line(mark)) as (process, screen):
        read_until(screen, QUESTION)
        if answer:
            os.write(screen, answer.encode())
        else:
            interrupt(process)
        assert process.wait(60) not in (exit_codes.COMPLETED, exit_codes.PAUSED)
    assert not mark.exists() and shared("sources", "show", "refused").code == exit_codes.FAILED


def test_what_is_no_answer_is_asked_again(shared: Cli, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with terminal(shared, "sources", "add", "--namespace", "refused", "--", *line(mark)) as (process, screen):
        read_until(screen, QUESTION)
        os.write(screen, b"maybe\n")
        read_until(screen, QUESTION)
        os.write(screen, b"n\n")
        assert process.wait(60) == exit_codes.FAILED
    assert not mark.exists()
