"""Many sessions on one repository, four at a time: each has its own clone, no work is lost, the original is as it was,
and the disk is free when they are gone."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.acceptance.sizes import size
from tests.support.daemon import Daemon
from tests.support.sessions import Session


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_LIMIT="4")
    daemon.start()
    yield daemon
    daemon.stop()


def git(folder: Path, *arguments: str) -> str:
    command = ["/usr/bin/git", "-c", "user.name=me", "-c", "user.email=me@example.com", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def settings_of(repository: Path) -> dict[str, str]:
    """Everything of it but objects, references and logs, byte by byte."""
    kept = ("objects", "refs", "logs", "packed-refs")
    folder = repository / ".git"
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in kept
    }


def test_no_work_is_lost_the_original_is_untouched_and_the_disk_is_given_back(
    daemon: Daemon, tmp_path: Path, record_property: Any
) -> None:
    repository = tmp_path / "app"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    (repository / "code.py").write_text("print('hello')\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    hook = repository / ".git" / "hooks" / "post-commit"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    before, main = settings_of(repository), git(repository, "rev-parse", "main")
    amount = size(5, 20)

    def work(number: int) -> tuple[int, str]:
        """By turns: committed, staged, untracked, and with a detached HEAD."""
        session = Session(daemon, None, repository=str(repository))
        ways = (
            f"echo {number} > own-{number}; git add .; git commit -qm own",
            f"echo {number} > own-{number}; git add .",
            f"echo {number} > own-{number}",
            f"git checkout -q --detach; echo {number} > own-{number}; git add .; git commit -qm own",
        )
        assert session.prompt({"run": ways[number % len(ways)]})["status"] == "completed"
        kept = daemon.request("DELETE", session.path, timeout=600)["snapshot"]
        return number, str(kept).partition(" in ")[0]

    with ThreadPoolExecutor(4) as clients:
        done = list(clients.map(work, range(amount)))
    for number, reference in done:
        assert git(repository, "show", f"{reference}:own-{number}") == f"{number}\n"
        others = [name for name in git(repository, "ls-tree", "--name-only", reference).split() if "own-" in name]
        assert others == [f"own-{number}"], "no session sees what another one does"
    assert len({reference for _, reference in done}) == amount
    assert settings_of(repository) == before and git(repository, "rev-parse", "main") == main
    assert not (tmp_path / "hook-ran").exists()
    left = [path.name for path in (daemon.state_dir / "sessions").iterdir()]
    assert left == [], "the disk is given back"
    record_property("sessions", f"{amount}, four at a time, the work of {amount} found again")
