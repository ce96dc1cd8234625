"""`strict` with a daemon that isn't root: one line in sudoers, for one user and one program, is all that it needs.

It writes to `/etc/sudoers.d` and creates a user, so it runs only on request: `scripts/prove-sessions --only sudo`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.acceptance import other_user
from tests.sessions.acceptance.sizes import IS_FULL
from tests.sessions.test_isolation import processes_of
from tests.sessions.test_session_clones import make_repository
from tests.sessions.test_session_repositories import git, output
from tests.sessions.test_session_unix_users import USERADD, USERDEL
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused
from tests.support.sessions import Session

RULES = Path("/etc/sudoers.d")
pytestmark = pytest.mark.skipif(
    not IS_FULL or os.getuid() != 0 or not shutil.which("sudo") or not RULES.is_dir(),
    reason="changes the machine; `scripts/prove-sessions --only sudo` runs it as root",
)


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    name = f"exec-agent-{os.getpid()}"
    subprocess.run([USERADD, "--system", "--create-home", name], check=True)
    yield name
    subprocess.run([USERDEL, "--remove", name], check=True)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with other_user.public_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def daemon(folder: Path, agent: str) -> Iterator[Daemon]:
    daemon = other_user.make_daemon(folder, EXECUTOR_SESSION_PROMPTS_PER_MINUTE="1000")
    make_repository(folder / "app")
    (folder / "app" / ".git").chmod(0o700)
    for name in ("daemon", "home", "app"):
        other_user.hand_over(folder / name)
    daemon.start()
    yield daemon
    daemon.stop()


def start(daemon: Daemon, folder: Path, agent: str) -> Session:
    return Session(daemon, None, isolation="strict", unixUser=agent, repository=str(folder / "app"))


def test_a_session_works_on_a_clone_of_that_user_with_exactly_the_rule_that_the_refusal_names(
    daemon: Daemon, folder: Path, agent: str, record_property: Any
) -> None:
    with pytest.raises(Refused) as refused:
        start(daemon, folder, agent)
    missing = refused.value.problem["hint"].removeprefix("allow it in sudoers: ")
    assert missing.startswith(f"{other_user.USER} ALL=({agent}) NOPASSWD: /")
    rule = RULES / f"executor-test-{os.getpid()}"
    rule.write_text(f"{missing}\n")
    rule.chmod(0o440)
    try:
        session = start(daemon, folder, agent)
        work = Path(session.view()["cwd"])
        assert work.owner() == agent and work.stat().st_mode & 0o077 == 0
        session.prompt(
            {"run": "id -un; git checkout -qb aside; echo 1 > one; git add .; git commit -qm one; echo 2 > two"}
        )
        assert output(session) == f"{agent}\n"
        assert {one["path"] for one in daemon.get(f"{session.path}/changes")["files"]} == {"one", "two"}
        made = daemon.post(f"{session.path}/commit", {"message": "Take over"})
        assert git(folder / "app", "-c", "safe.directory=*", "show", f"{made['branch']}:two") == "2\n"
        session.prompt({"run": "(setsid sleep 600 > /dev/null 2>&1 &) ; true"})
        record_property("processes of the agent's user", str(len(processes_of(agent))))
        daemon.post(f"{session.path}/stop")
        wait_for(lambda: not processes_of(agent), "the end of every process")
        daemon.post(f"{session.path}/resume")
        task = session.send({"hang": True})
        wait_for(lambda: processes_of(agent) and session.task(task)["status"] == "running")
        daemon.kill()
        wait_for(lambda: not processes_of(agent), "the end of every process after kill -9 of the daemon")
        daemon.start()
        daemon.request("DELETE", session.path)
        kept = Path(pwd.getpwnam(agent).pw_dir) / ".executor-sessions"
        assert not list(kept.iterdir())
    finally:
        rule.unlink()
