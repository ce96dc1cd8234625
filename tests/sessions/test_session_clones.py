"""The life of a session's clone: set up before the first prompt, limited in size, removed when idle, and restored."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions.test_session_repositories import git
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused
from tests.support.sessions import Session

LONG_AGO = 1_600_000_000_000
MEGABYTE = 2**20


def make_repository(folder: Path, size: int = 100) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "data").write_bytes(os.urandom(size))
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("originals")
    names = ("plain", "prepared", "failing", "endless")
    return {name: make_repository(folder / name) for name in names}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, originals: dict[str, Path]) -> Iterator[Daemon]:
    scripts = {
        "prepared": "pwd; echo x >> set-up-ran; echo ready",
        "failing": "echo first; test -e allowed-to-pass; echo never",
        "endless": "echo begun; sleep 1000",
    }
    daemon = Daemon(
        tmp_path_factory.mktemp("daemon"),
        EXECUTOR_SESSION_PROMPTS_PER_MINUTE="10000",
        EXECUTOR_SESSION_REPOSITORIES=",".join(f"{name}={path}" for name, path in originals.items()),
        EXECUTOR_SESSION_SETUP_SCRIPTS=",".join(f"{name}={script}" for name, script in scripts.items()),
        EXECUTOR_SESSION_SETUP_SECONDS="3",
        EXECUTOR_SESSION_CLONE_BYTES=str(2 * MEGABYTE),
    )
    daemon.start()
    yield daemon
    daemon.stop()


def notices(session: Session) -> list[str]:
    return [one["text"] for one in session.messages("notice")]


def test_a_set_up_script_runs_once_before_the_first_prompt(daemon: Daemon) -> None:
    session = Session(daemon, None, repository="prepared")
    assert session.prompt({"run": "cat set-up-ran"})["status"] == "completed"
    assert notices(session) == [f"Set-up script: {session.view()['cwd']}\nready\n"]
    daemon.post(f"{session.path}/stop")
    daemon.post(f"{session.path}/resume")
    session.prompt({"run": "wc -l < set-up-ran"})
    assert session.messages("tool_call")[-1]["data"]["content"][0]["text"].strip() == "1"


def test_a_set_up_script_that_fails_keeps_the_agent_from_starting(daemon: Daemon) -> None:
    session = Session(daemon, None, repository="failing")
    task = session.prompt({"run": "touch agent-ran"})
    assert task["failure"]["code"] == "session_failed"
    assert "set-up script ended with code 1: first" in task["failure"]["message"]
    work = Path(session.view()["cwd"])
    assert notices(session) == ["Set-up script: first\n"] and not (work / "agent-ran").exists()
    (work / "allowed-to-pass").touch()
    assert session.prompt({"run": "touch agent-ran"})["status"] == "completed"
    assert (work / "agent-ran").exists()


def test_a_set_up_script_that_takes_too_long_is_ended(daemon: Daemon) -> None:
    session = Session(daemon, None, repository="endless")
    task = session.prompt("hello")
    assert "took longer than 3 s: begun" in task["failure"]["message"]


def test_a_clone_that_is_too_large_is_refused_and_leaves_nothing(daemon: Daemon, tmp_path: Path) -> None:
    large = make_repository(tmp_path / "large", 3 * MEGABYTE)
    with pytest.raises(Refused, match="more than 2 MB"):
        Session(daemon, None, repository=str(large))
    folders = (daemon.state_dir / "sessions").glob("*/work")
    assert not any((one / "data").stat().st_size > MEGABYTE for one in folders if (one / "data").exists())


def test_an_agent_that_fills_its_clone_is_ended(daemon: Daemon) -> None:
    session = Session(daemon, None, repository="plain")
    task = session.prompt({"run": "for i in 1 2 3 4 5 6; do head -c 1000000 /dev/urandom > part$i; done; sleep 100"})
    assert task["failure"]["code"] == "limit_exceeded" and "disk_bytes" in task["failure"]["message"]


def test_no_clone_is_made_when_all_together_are_too_large(tmp_path: Path) -> None:
    original = make_repository(tmp_path / "original", MEGABYTE // 2)
    (tmp_path / "daemon").mkdir()
    daemon = Daemon(tmp_path / "daemon", EXECUTOR_SESSION_CLONES_BYTES=str(MEGABYTE))
    daemon.start()
    try:
        first = Session(daemon, None, repository=str(original))
        with pytest.raises(Refused, match="the clones of sessions use"):
            Session(daemon, None, repository=str(original))
        daemon.request("DELETE", first.path)
        Session(daemon, None, repository=str(original))
    finally:
        daemon.stop()


def test_an_idle_clone_is_removed_after_a_snapshot_and_restored_by_the_next_prompt(tmp_path: Path) -> None:
    original = make_repository(tmp_path / "original")
    (tmp_path / "daemon").mkdir()
    daemon = Daemon(tmp_path / "daemon")
    daemon.start()
    try:
        session, other = (Session(daemon, None, repository=str(original)) for _ in range(2))
        session.prompt({"run": "git checkout -qb aside; git commit -q --allow-empty -m aside; git checkout -q -"})
        session.prompt({"run": "echo mine > untracked; echo 1 > data; git commit -qam inside; echo 2 > data"})
        daemon.stop()
        make_old(daemon, session)
        daemon.start()
        gone = wait_for(lambda: (view := session.view())["cloneRemovedAt"] and view)
        wait_for(lambda: not Path(gone["cwd"]).exists())
        assert Path(other.view()["cwd"]).exists()
        kept = f"refs/executor/clones/{session.id}"
        assert git(original, "show", f"{kept}:untracked") == "mine\n"
        assert git(original, "log", "--format=%s", kept).splitlines().count("aside") == 1
        assert "The clone was removed" in notices(session)[0] and kept in notices(session)[0]
        with pytest.raises(Refused, match="was removed, because no one used it"):
            daemon.get(f"{session.path}/changes")
        assert session.prompt({"run": "cat untracked data; git branch --show-current"})["status"] == "completed"
        output = session.messages("tool_call")[-1]["data"]["content"][0]["text"]
        assert output == f"mine\n2\nexecutor/{session.id}\n"
        assert session.view()["cloneRemovedAt"] is None and "was restored" in notices(session)[-1]
        changed = {one["path"] for one in daemon.get(f"{session.path}/changes")["files"]}
        assert changed == {"data", "untracked"}
    finally:
        daemon.stop()


def make_old(daemon: Daemon, session: Session) -> None:
    with sqlite3.connect(daemon.data_dir / "executor.db") as database:
        changed = database.execute("UPDATE agent_sessions SET updated_at = ? WHERE id = ?", (LONG_AGO, session.id))
        assert changed.rowcount == 1
    database.close()


def test_a_later_snapshot_does_not_replace_an_earlier_one(daemon: Daemon, originals: dict[str, Path]) -> None:
    session = Session(daemon, None, repository="plain")
    kept = []
    for word in ("one", "two"):
        session.prompt({"run": f"echo {word} > {word}"})
        kept.append(daemon.post(f"{session.path}/discard")["snapshot"].partition(" in ")[0])
    assert [git(originals["plain"], "show", f"{name}:{word}") for name, word in zip(kept, ("one", "two"), strict=True)]


def test_work_that_git_would_not_keep_is_neither_committed_nor_deleted(daemon: Daemon) -> None:
    session = Session(daemon, None, repository="plain")
    commit = "git -c user.name=me -c user.email=me@example.com commit -qm x"
    session.prompt({"run": f"git init -q nested; cd nested; echo 1 > file; git add .; {commit}"})
    for act in ("commit", "discard"):
        with pytest.raises(Refused, match="nested is a git repository of its own"):
            daemon.post(f"{session.path}/{act}", {"message": "take over"} if act == "commit" else None)
    assert (Path(session.view()["cwd"]) / "nested" / "file").exists()


@pytest.mark.parametrize("way", ["link", "file", "common", "alternates"])
def test_a_git_folder_that_leads_elsewhere_is_not_followed(daemon: Daemon, tmp_path: Path, way: str) -> None:
    secret = make_repository(tmp_path / "secret")
    make = {
        "link": f"rm -rf .git; ln -s {secret}/.git .git",
        "file": f"rm -rf .git; echo 'gitdir: {secret}/.git' > .git",
        "common": f"echo {secret}/.git > .git/commondir",
        "alternates": f"echo {secret}/.git/objects > .git/objects/info/alternates",
    }
    session = Session(daemon, None, repository="plain")
    base = session.view()["base"]
    session.prompt({"run": f"echo 1 > mine; {make[way]}"})
    made = daemon.post(f"{session.path}/commit", {"message": "take over"})
    bare = daemon.state_dir / "sessions" / session.id / "repository.git"
    assert git(bare, "rev-list", made["commit"]).split() == [made["commit"], base]


def test_a_commit_is_by_the_person_and_names_the_agent(daemon: Daemon, originals: dict[str, Path]) -> None:
    session = Session(daemon, None, repository="plain")
    session.prompt({"run": "echo 1 > mine"})
    made = daemon.post(f"{session.path}/commit", {"message": "Add a file"})
    agent, its_session = (f"%(trailers:key={key},valueonly,separator=)" for key in ("Agent", "Agent-Session"))
    form = f"--format=%an|%s|{agent}|{its_session}"
    shown = git(originals["plain"], "log", "-1", form, made["commit"]).strip()
    assert shown == f"operator|Add a file|fake|{session.id}"


def test_an_original_with_a_detached_head_or_a_linked_git_folder_works_and_an_empty_one_is_refused(
    daemon: Daemon, tmp_path: Path
) -> None:
    original = make_repository(tmp_path / "detached")
    git(original, "checkout", "-q", "--detach")
    (original / ".git").rename(tmp_path / "elsewhere")
    (original / ".git").symlink_to(tmp_path / "elsewhere")
    session = Session(daemon, None, repository=str(original))
    session.prompt({"run": "echo 1 > mine"})
    made = daemon.post(f"{session.path}/commit", {"message": "take over"})
    assert git(original, "rev-parse", made["branch"]).strip() == made["commit"]
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    with pytest.raises(Refused, match="has no commit to start from"):
        Session(daemon, None, repository=str(tmp_path / "empty"))
