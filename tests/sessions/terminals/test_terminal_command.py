"""`executor sessions terminal` and `attach --terminal`, at a real pseudoterminal."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

import pytest

from executor.sessions.terminals.emulator.emulator import Emulator
from tests.sessions.terminals.connection import (
    PROMPT,
    SET_PROMPT,
    attach,
    last_row,
    open_terminal,
    rows_of,
    wait_until_left,
)
from tests.support.daemon import Daemon
from tests.support.sessions import Session, wait_for


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"))
    daemon.start()
    yield daemon
    daemon.stop()


class Person:
    """Someone who has typed a command, and what their terminal shows."""

    def __init__(self, daemon: Daemon, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(90, 25)
        command = [sys.executable, "-m", "executor", "sessions", *arguments]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=daemon.environ, start_new_session=True
        )
        os.close(theirs)
        self.emulator = Emulator(90, 25)

    def resize(self, columns: int, rows: int) -> None:
        ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def see(self, text: str) -> None:
        self._wait(lambda: any(text in row for row in rows_of(self.emulator)), f"{text!r} on the screen")

    def see_prompt(self) -> None:
        self._wait(lambda: last_row(self.emulator) == PROMPT, "the prompt")

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        def read() -> bool:
            while select.select([self._ours], [], [], 0)[0]:
                try:
                    self.emulator.feed(os.read(self._ours, 65536))
                except OSError:
                    break
            return condition()

        try:
            wait_for(read, what)
        except AssertionError as error:
            shown = "\n".join(rows_of(self.emulator)).rstrip()
            raise AssertionError(f"{error}; shown is:\n{shown}") from None

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@contextmanager
def typing(daemon: Daemon, *arguments: str) -> Iterator[Person]:
    person = Person(daemon, *arguments)
    try:
        yield person
    finally:
        person.close()


def test_a_terminal_is_opened_resized_left_and_attached_to_again(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    with typing(daemon, "terminal", session.id) as person:
        person.see("$" if os.getuid() else "#")
        person.type(f"{SET_PROMPT}; stty size; echo sum-$((40+2))\r")
        person.see("sum-42")
        person.see("25 90")
        person.see_prompt()
        person.resize(70, 20)
        os.kill(person.process.pid, 28)  # SIGWINCH, as the kernel sends it to the group in the foreground
        wait_for(lambda: daemon.get(f"{session.path}/terminals")["items"][0]["cols"] == 70, "the new size")
        person.type("\x1d")
        person.see("detached")
        assert person.process.wait(60) == 0
    [terminal] = daemon.get(f"{session.path}/terminals")["items"]
    wait_until_left(session)
    with typing(daemon, "attach", session.id, "--terminal", terminal["id"]) as person:
        person.see("sum-42")
        person.type("exit 5\r")
        person.see("the terminal closed")
        assert person.process.wait(60) == 5


def test_a_watcher_types_nothing_until_it_takes_over(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    terminal = open_terminal(session)
    with attach(session, terminal) as writer:
        # A prompt that is longer than the screen is wide: at another width, a shell draws more than one line again.
        writer.type("PS1=$(printf 'x%.0s' {1..82})'> '; echo ready-$((1+1))\n")
        writer.see("ready-2")
        writer.wait(lambda: last_row(writer.emulator) == "xx>", "the prompt")
        with typing(daemon, "attach", session.id, "--terminal", terminal["id"], "--watch") as person:
            person.see("ready-2")
            person.type("echo no\r\x1d")
            person.see("detached")
        with typing(daemon, "attach", session.id, "--terminal", terminal["id"], "--take-over") as person:
            person.see("ready-2")
            writer.wait(lambda: not writer.state["writing"], "losing it")
            person.type("echo yes-$((1+2))\r")
            writer.see("yes-3")
            writer.see("ready-2")
            assert not any("echo no" in row for row in writer.rows())


def test_it_needs_a_terminal(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "executor", "sessions", "terminal", session.id],
        env=daemon.environ, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode != 0 and "needs a terminal" in done.stderr
    assert daemon.get(f"{session.path}/terminals")["items"] == []
