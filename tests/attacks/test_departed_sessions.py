"""Attack 268: a session goes on after the person who started it, or its agent, may no longer do anything."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.support.sandbox import needs_sandbox
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon
from tests.surfaces.api.identities import Caller, expect_created, operator

LONG = '[{"say": "begun"}, {"hang": true}]'


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("original")
    for command in (["init", "-q", "-b", "main"], ["commit", "-qm", "first", "--allow-empty"]):
        git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.com", "-C", str(folder)]
        subprocess.run([*git, *command], check=True)
    return "app", str(folder)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, repository: tuple[str, str]) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("departed"), session_repositories=(repository,)) as daemon:
        yield daemon


def begin(who: Caller, **where: str) -> tuple[str, int, list[Any]]:
    """A session with a process, a task under way and another one behind it."""
    session = expect_created(who.post("/v1/sessions", {"agent": "fake", **where}))
    path = f"/v1/sessions/{session['id']}"
    queued = [who.post(f"{path}/prompt", {"prompt": LONG}).json for _ in range(2)]
    everyone = operator(who.daemon)
    wait_for(lambda: "begun" in str(everyone.get(f"{path}/messages").json))
    pid = wait_for(lambda: everyone.get(path).json["pid"])
    return path, int(pid), queued


def check_ended(daemon: Daemon, path: str, pid: int, queued: list[Any]) -> None:
    everyone = operator(daemon)
    wait_for(lambda: everyone.get(path).json["pid"] is None)
    assert everyone.get(path).json["status"] == "stopped" and not Path(f"/proc/{pid}").exists()
    assert {everyone.get(f"{path}/tasks/{one['id']}").json["status"] for one in queued} == {"cancelled"}


LOSSES: list[Callable[[Caller], Answer]] = [
    lambda who: operator(who.daemon).delete(f"/v1/members/{who.account}"),
    lambda who: operator(who.daemon).patch(f"/v1/members/{who.account}", {"role": "viewer"}),
]


@needs_sandbox
@pytest.mark.parametrize("lose", LOSSES, ids=["removed", "demoted"])
def test_268_the_session_of_someone_who_may_no_longer_run_code_ends(
    daemon: Daemon, lose: Callable[[Caller], Answer]
) -> None:
    """Defence: `Sessions.on_announcement`: a revocation ends the sessions that it concerns, with their processes."""
    who = identities.invite(daemon, "member")
    begun = begin(who, repository="app", isolation="sandbox")
    assert lose(who).status in (200, 204)
    check_ended(daemon, *begun)


def test_268_the_session_of_an_agent_that_was_revoked_ends(daemon: Daemon, tmp_path: Path) -> None:
    begun = begin(operator(daemon), cwd=str(tmp_path), isolation="simple")
    found = operator(daemon).get("/v1/agents").json["items"]
    [agent] = [one["id"] for one in found if one["name"].startswith("fake (") and "Member" not in one["name"]]
    assert operator(daemon).delete(f"/v1/agents/{agent}").status == 204
    check_ended(daemon, *begun)


@needs_sandbox
def test_268_a_prompt_that_waited_while_the_daemon_was_down_is_not_begun(
    tmp_path: Path, repository: tuple[str, str]
) -> None:
    """Defence: `Sessions._interrupt`: the removal was committed, and the daemon ended before it ended the session."""
    (tmp_path / "daemon").mkdir()
    with running_daemon(tmp_path / "daemon", session_repositories=(repository,)) as daemon:
        who = identities.invite(daemon, "member")
        path, pid, queued = begin(who, repository="app", isolation="sandbox")
        database = daemon.executor.settings.database_file
    with closing(sqlite3.connect(database)) as connection, connection:
        assert connection.execute("DELETE FROM members WHERE account_id = ?", (who.account,)).rowcount == 1
    with running_daemon(tmp_path / "daemon", session_repositories=(repository,)) as daemon:
        everyone = operator(daemon)
        wait_for(lambda: everyone.get(path).json["status"] == "stopped")
        statuses = [everyone.get(f"{path}/tasks/{one['id']}").json["status"] for one in queued]
        assert statuses == ["interrupted", "cancelled"] and not Path(f"/proc/{pid}").exists()


@needs_sandbox
def test_268_the_sessions_of_others_go_on(daemon: Daemon) -> None:
    who, other = identities.invite(daemon, "member"), identities.invite(daemon, "member")
    path, pid, _ = begin(who, repository="app", isolation="sandbox")
    ended = begin(other, repository="app", isolation="sandbox")
    assert LOSSES[0](other).status == 204
    check_ended(daemon, *ended)
    assert operator(daemon).get(path).json["pid"] == pid
    assert who.post(f"{path}/stop").status == 200
