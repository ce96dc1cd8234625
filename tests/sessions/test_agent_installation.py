"""`executor sessions install` and `uninstall`, with an npm of our own in front of the real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from executor.sessions.agents import installers
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.surfaces.cli.test_call import interruptible

VERSION = "0.61.0"
NODE = "#!/bin/sh\necho v22.0.0\n"
NPM = f"""#!/bin/sh
case $NPM_DOES in
fail) echo 'npm error code ECONNREFUSED' >&2
      echo 'npm error FetchError: request to http://registry failed, reason: connect ECONNREFUSED' >&2
      echo 'npm error If you are behind a proxy' >&2
      exit 1 ;;
hang) exec sleep 1000 ;;
esac
mkdir -p node_modules/@google/gemini-cli node_modules/.bin
echo '{{"version": "{VERSION}"}}' > node_modules/@google/gemini-cli/package.json
touch node_modules/.bin/gemini
"""


class Home:
    """A user without a data directory yet."""

    def __init__(self, root: Path) -> None:
        self.daemon = Daemon(root)
        self.agents = self.daemon.data_dir / "agents"
        programs = root / "bin"
        programs.mkdir()
        for name, text in (("node", NODE), ("npm", NPM)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environ = {**self.daemon.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def start(self, *words: str, npm: str = "") -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "executor", "sessions", *words]
        return subprocess.Popen(
            command, env={**self.environ, "NPM_DOES": npm}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=interruptible,
        )  # fmt: skip

    def run(self, *words: str, npm: str = "") -> tuple[int | None, str, str]:
        child = self.start(*words, npm=npm)
        out, errors = child.communicate(timeout=120)
        return child.returncode, out, errors


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_an_agent_is_installed_once_and_the_daemon_starts_afterwards(home: Home) -> None:
    code, out, errors = home.run("install", "gemini")
    assert (code, out) == (0, f"installed gemini {VERSION}\n"), errors
    assert "sessions keys set gemini" in errors
    assert home.run("install", "gemini", npm="fail")[:2] == (0, f"gemini {VERSION} is installed already\n")
    assert home.daemon.data_dir.stat().st_mode & 0o777 == 0o700
    home.daemon.start()
    home.daemon.stop()
    assert home.run("uninstall", "gemini")[:2] == (0, "removed gemini\n")
    assert "is not installed" in home.run("uninstall", "gemini")[2]


def test_a_failed_installation_says_why_and_leaves_the_old_one(home: Home) -> None:
    home.run("install", "gemini")
    code, _, errors = home.run("install", "gemini", "--force", npm="fail")
    assert code == 1 and "reason: connect ECONNREFUSED" in errors and "proxy" not in errors
    assert [one.name for one in home.agents.iterdir()] == ["gemini"]


def test_an_interrupted_installation_leaves_nothing_and_the_next_removes_what_a_killed_one_left(home: Home) -> None:
    child = home.start("install", "gemini", npm="hang")
    wait_for(lambda: home.agents.exists() and any(home.agents.iterdir()))
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 130 and "nothing was installed" in errors
    assert not any(home.agents.iterdir())
    (home.agents / ".gemini-4194999" / "node_modules").mkdir(parents=True)  # no process has this id
    home.run("install", "gemini")
    assert [one.name for one in home.agents.iterdir()] == ["gemini"]


@pytest.mark.parametrize("name", ["nope", "fake"])
def test_what_can_not_be_installed_is_refused_with_what_can(home: Home, name: str) -> None:
    code, _, errors = home.run("install", name)
    assert code == 2 and "claude-code, codex, gemini, opencode" in errors


def test_packages_see_none_of_our_settings_while_they_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXECUTOR_DATABASE_URL", "postgresql://me:hushhush@db.example/executor")
    installers._run("npm", ["sh", "-c", "env > seen"], tmp_path, {"MORE": "1"}, lambda size: None)
    seen = (tmp_path / "seen").read_text()
    assert "EXECUTOR_" not in seen and "MORE=1" in seen and "PATH=" in seen
