"""`executor sessions` as people use it: start, prompt, look, stop, export."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.sessions import LIMIT


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_ANSWER_SECONDS="3")
    daemon.start()
    yield daemon
    daemon.stop()


def run(daemon: Daemon, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "executor", "sessions", *arguments]
    return subprocess.run(
        command, env=daemon.environ, cwd=cwd, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def test_a_prompt_shows_what_the_agent_writes_and_ends_with_its_outcome(daemon: Daemon, tmp_path: Path) -> None:
    session_id = run(daemon, tmp_path, "start", "fake", "--isolation", "insulated").stdout.strip()
    assert session_id.startswith("ses_")
    done = run(daemon, tmp_path, "prompt", session_id, '[{"say": "hello you"}, {"run": "true"}, {"say": "done"}]')
    assert (done.returncode, done.stdout) == (0, "hello you \ndone \n")
    assert "Run a command: completed" in done.stderr
    failed = run(daemon, tmp_path, "prompt", session_id, '[{"crash": 3}]')
    wrong = run(daemon, tmp_path, "prompt", session_id, '[{"shout": "hello"}]')
    assert (
        wrong.returncode == 1 and "step 1 of the script is unknown: 'shout'; known steps: after, bash" in wrong.stderr
    )
    assert failed.returncode == 1 and "ended with code 3" in failed.stderr and "hello" not in failed.stdout
    assert "hello you" in run(daemon, tmp_path, "export", session_id).stdout
    listed = json.loads(run(daemon, tmp_path, "list", "--json").stdout)["items"]
    assert [one["cwd"] for one in listed if one["id"] == session_id] == [str(tmp_path)]
    assert run(daemon, tmp_path, "stop", session_id).stdout == f"stopped {session_id}\n"
    assert run(daemon, tmp_path, "rm", session_id).returncode == 0


def test_without_a_terminal_a_request_is_shown_with_every_way_to_decide_it_and_the_command_ends(
    daemon: Daemon, tmp_path: Path
) -> None:
    asked = run(daemon, tmp_path, "start", "fake", "--isolation", "insulated", "--prompt", '[{"bash": "touch made"}]')
    assert asked.returncode == 3
    for part in ("agent.bash", "touch made", str(tmp_path), "approvals approve int_", "approvals deny int_", "http://"):
        assert part in asked.stderr, part
    session_id = asked.stderr.split("sessions attach ")[1].split()[0]
    again = run(daemon, tmp_path, "prompt", session_id, "[]", "--interrupt", "--json")
    assert again.returncode == 0 and json.loads(again.stdout)["status"] == "completed"
    assert run(daemon, tmp_path, "rm", session_id).returncode == 0


def test_a_request_that_the_session_settles_without_anyone_is_followed_to_its_end(
    daemon: Daemon, tmp_path: Path
) -> None:
    steps = '[{"bash": "touch made"}, {"say": "went on"}]'
    options = ("--isolation", "insulated", "--unattended", "stop", "--prompt", steps)
    ended = run(daemon, tmp_path, "start", "fake", *options)
    assert ended.returncode == 1 and not (tmp_path / "made").exists()


def test_a_person_at_a_terminal_decides_where_the_prompt_was_sent(daemon: Daemon, tmp_path: Path) -> None:
    session_id = run(daemon, tmp_path, "start", "fake", "--isolation", "insulated").stdout.strip()
    steps = '[{"bash": "touch made"}, {"bash": "touch made"}, {"say": "bye"}]'
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        command = [sys.executable, "-m", "executor", "sessions", "prompt", session_id, steps]
        os.execve(sys.executable, command, daemon.environ)  # noqa: S606 - the terminal is its own
    shown, has_answered, ends = b"", False, time.monotonic() + LIMIT
    while time.monotonic() < ends:
        if select.select([terminal], [], [], 1)[0]:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            shown += data
        if b"eave it for later?" in shown and not has_answered:
            os.write(terminal, b"s\n")
            has_answered = True
    assert os.waitpid(child, 0)[1] == 0
    exported = run(daemon, tmp_path, "export", session_id).stdout
    assert "touch made" in exported and "agent.bash: approved by operator (scope: session)" in exported
    assert (tmp_path / "made").exists() and shown.count(b"eave it for later?") == 1
    assert b"bye" in shown
