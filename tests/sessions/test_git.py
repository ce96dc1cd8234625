"""Git as the daemon runs it: bounded in time and memory, and with errors that people understand."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from executor.errors import InvalidRequest, SessionFailed
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import OPERATOR
from executor.sessions.processes.launch import Folders
from executor.sessions.repositories import git
from executor.sessions.repositories.checkouts import Checkouts
from executor.sessions.repositories.git import run_git
from tests.sessions.test_executor_process import processes_with
from tests.support.conditions import until

NOTHING = Actor("a", "w", "human", "me", OPERATOR)


async def test_a_git_that_takes_too_long_is_ended_with_everything_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "SECONDS", 0.5)
    with pytest.raises(SessionFailed, match=r"took longer than 0\.5 s"):
        await run_git("-c", "alias.slow=!sleep 600", "slow", environment={"MARK": str(tmp_path)})
    await until(lambda: not processes_with(str(tmp_path).encode()), "the end of what git ran")


async def test_an_output_is_cut_where_it_may_be_and_refused_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    alias = "alias.much=!yes x | head -c 300000"
    assert await run_git("-c", alias, "much", cut_at=4) == "x\nx\n"
    monkeypatch.setattr(git, "MAX_OUTPUT", 1000)
    with pytest.raises(SessionFailed, match="longer than 1000 bytes"):
        await run_git("-c", alias, "much")


async def test_a_folder_that_is_no_repository_is_named_as_it_was_given_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    folders = Folders(tmp_path / "data", tmp_path / "sessions", tmp_path / "agents")
    checkouts = Checkouts({"app": str(tmp_path / "plain")}, folders)
    with pytest.raises(InvalidRequest) as refused:
        await checkouts.create(NOTHING, "app", "ses_1")
    assert refused.value.message == "'app' is not a git repository that the daemon can read"
    assert not (tmp_path / "sessions").exists()


def children() -> set[str]:
    """Also those that ended and were not waited for."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


@pytest.mark.skipif(sys.platform != "linux", reason="children are listed in /proc")
async def test_a_command_that_is_cancelled_leaves_no_process() -> None:
    reader, writer = os.pipe()
    before = children()
    with os.fdopen(reader, "rb") as stdin, os.fdopen(writer, "wb"):
        running = asyncio.create_task(run_git("hash-object", "--stdin", stdin=stdin))
        await until(lambda: children() - before)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert children() <= before
