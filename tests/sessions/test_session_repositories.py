"""Sessions on a repository: a clone and a branch each, nothing of the original changes, and no work is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.sessions.repositories.executable_changes import runner_of
from tests.support.daemon import Daemon, Refused
from tests.support.sessions import Session


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_PROMPTS_PER_MINUTE="10000")
    daemon.start()
    yield daemon
    daemon.stop()


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=me", "-c", "user.email=me@example.com"]
    command = ["git", *who, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "code.py").write_text("print('hello')\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    hook = folder / ".git" / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    return folder


class Forked(Session):
    """One that is there already."""

    def __init__(self, daemon: Daemon, session_id: str) -> None:
        self.daemon, self.id = daemon, session_id


def output(session: Session) -> str:
    """Of the last command."""
    return str(session.messages("tool_call")[-1]["data"]["content"][0]["text"])


def state_of(repository: Path) -> tuple[str, str, str]:
    return (
        (repository / ".git" / "config").read_text(),
        git(repository, "status", "--porcelain"),
        git(repository, "rev-parse", "main"),
    )


def test_two_sessions_work_on_clones_of_their_own_and_the_original_is_not_touched(
    daemon: Daemon, repository: Path
) -> None:
    before = state_of(repository)
    first, second = (Session(daemon, None, repository=str(repository)) for _ in range(2))
    assert first.view()["branch"] == f"executor/{first.id}" and first.view()["cwd"] != second.view()["cwd"]
    first.prompt({"run": "echo 1 > one; git add one; git commit -qm one"})
    second.prompt({"run": "rm code.py"})
    found = daemon.get(f"{first.path}/changes")
    assert [(one["path"], one["status"], one["added"]) for one in found["files"]] == [("one", "added", 1)]
    assert "+1" in found["diff"]
    assert [one["status"] for one in daemon.get(f"{second.path}/changes")["files"]] == ["deleted"]
    assert state_of(repository) == before


def test_commits_follow_each_other_and_keep_what_was_committed_before(daemon: Daemon, repository: Path) -> None:
    session = Session(daemon, None, repository=str(repository))
    with pytest.raises(Refused, match="nothing to commit"):
        daemon.post(f"{session.path}/commit", {"message": "Too early"})
    session.prompt({"run": "echo 1 > one"})
    first = daemon.post(f"{session.path}/commit", {"message": "One"})
    with pytest.raises(Refused, match="nothing to commit"):
        daemon.post(f"{session.path}/commit", {"message": "Once more"})
    session.prompt({"run": "echo 2 > two"})
    second = daemon.post(f"{session.path}/commit", {"message": "Two"})
    assert git(repository, "log", "--format=%s", first["branch"]).split() == ["Two", "One", "first"]
    session.prompt({"run": "echo 3 > three; git add three; git commit -qm inside; echo 4 > four"})
    daemon.post(f"{session.path}/commit", {"message": "Four"})
    found = git(repository, "log", "--format=%s", first["branch"]).split()
    assert sorted(found) == sorted(["Four", "inside", "Two", "One", "first"])
    assert git(repository, "merge-base", "--is-ancestor", second["commit"], first["branch"]) == ""
    names = git(repository, "ls-tree", "--name-only", first["branch"]).split()
    assert {"one", "two", "three", "four"} <= set(names)


def test_a_branch_on_which_someone_else_has_committed_is_not_replaced(daemon: Daemon, repository: Path) -> None:
    session = Session(daemon, None, repository=str(repository))
    session.prompt({"run": "echo 1 > one"})
    branch = daemon.post(f"{session.path}/commit", {"message": "One"})["branch"]
    mine = git(repository, "commit-tree", f"{branch}^{{tree}}", "-p", branch, "-m", "mine").strip()
    git(repository, "update-ref", f"refs/heads/{branch}", mine)
    session.prompt({"run": "echo 2 > two"})
    with pytest.raises(Refused, match="did not make"):
        daemon.post(f"{session.path}/commit", {"message": "Two"})
    assert git(repository, "rev-parse", branch).strip() == mine
    git(repository, "branch", "-m", branch, "kept")
    daemon.post(f"{session.path}/commit", {"message": "Two"})
    assert git(repository, "log", "--format=%s", branch).split() == ["Two", "One", "first"]


def test_a_commit_becomes_a_branch_of_the_original_without_running_its_hooks(
    daemon: Daemon, repository: Path, tmp_path: Path
) -> None:
    session = Session(daemon, None, repository=str(repository))
    session.prompt({"run": "echo 1 > committed; git add .; git commit -qm inside; echo 2 > uncommitted"})
    made = daemon.post(f"{session.path}/commit", {"message": "Both files"})
    assert git(repository, "rev-parse", made["branch"]).strip() == made["commit"]
    assert git(repository, "ls-tree", "--name-only", made["branch"]).split() == ["code.py", "committed", "uncommitted"]
    subjects = git(repository, "log", "--format=%s", made["branch"]).splitlines()
    assert subjects == ["Both files", "inside", "first"]
    assert not (tmp_path / "hook-ran").exists()


def test_a_fork_has_a_clone_of_its_own_with_everything_that_the_parent_has(daemon: Daemon, repository: Path) -> None:
    parent = Session(daemon, None, repository=str(repository))
    parent.prompt({"run": "git checkout -qb aside; git commit -q --allow-empty -m aside; git checkout -q -"})
    parent.prompt({"run": "echo 1 > one; git add one; git commit -qm one; echo 2 > code.py; echo 3 > untracked"})
    look = {"run": "git log --format=%s; git status --short; git branch --format='%(refname:short)'; cat untracked"}
    parent.prompt(look)
    before = output(parent)
    fork = Forked(daemon, daemon.post(f"{parent.path}/fork")["id"])
    view = fork.view()
    assert (view["parentId"], view["branch"]) == (parent.id, f"executor/{fork.id}")
    assert view["base"] == parent.view()["base"] and view["cwd"] != parent.view()["cwd"]
    fork.prompt(look)
    assert output(fork).replace(f"executor/{fork.id}\n", "") == before
    fork.prompt({"run": "echo mine > one; rm untracked; git commit -qam forked"})
    parent.prompt(look)
    assert output(parent) == before, "the parent is not touched"
    changed = {one["path"]: one["status"] for one in daemon.get(f"{fork.path}/changes")["files"]}
    assert changed == {"code.py": "modified", "one": "added"}
    made = daemon.post(f"{fork.path}/commit", {"message": "Both"})
    assert git(repository, "show", f"{made['branch']}:one") == "mine\n"
    daemon.request("DELETE", parent.path)
    assert git(repository, "show", f"refs/executor/sessions/{parent.id}:untracked") == "3\n"
    assert fork.prompt("still here")["status"] == "completed"


def test_discarded_and_deleted_work_is_kept_under_a_reference(daemon: Daemon, repository: Path) -> None:
    session = Session(daemon, None, repository=str(repository))
    session.prompt({"run": "echo precious > untracked"})
    kept = daemon.post(f"{session.path}/discard")["snapshot"]
    reference = f"refs/executor/sessions/{session.id}"
    assert kept == f"{reference} in {repository}"
    assert git(repository, "show", f"{reference}:untracked") == "precious\n"
    assert daemon.get(f"{session.path}/changes")["files"] == []
    session.prompt({"run": "echo later > another; git add .; git commit -qm unpushed"})
    assert daemon.request("DELETE", session.path)["snapshot"] == f"{reference}-2 in {repository}"
    assert git(repository, "show", f"{reference}-2:another") == "later\n"
    assert git(repository, "show", f"{reference}:untracked") == "precious\n"
    assert not (daemon.state_dir / "sessions" / session.id).exists()


def test_what_an_agent_writes_into_its_git_folder_runs_nothing_of_ours(
    daemon: Daemon, repository: Path, tmp_path: Path
) -> None:
    session = Session(daemon, None, repository=str(repository))
    canary = tmp_path / "canary"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {canary}\n")
    script.chmod(0o755)
    options = ("core.fsmonitor", "core.sshCommand", "diff.external", "uploadpack.packObjectsHook", "filter.x.clean")
    session.prompt(
        *({"run": f"git config {option} {script}"} for option in options),
        {"run": "echo '* filter=x' > .gitattributes; echo x > file; mkdir -p .git/hooks"},
        {"run": f"for hook in post-checkout pre-commit reference-transaction; do cp {script} .git/hooks/$hook; done"},
    )
    canary.unlink(missing_ok=True)  # the agent's own git may have run it, in the agent's own place
    changes = daemon.get(f"{session.path}/changes")
    assert {one["path"]: one["runs"] for one in changes["files"]} == {".gitattributes": "git filters", "file": None}
    daemon.post(f"{session.path}/commit", {"message": "take over"})
    daemon.post(f"{session.path}/discard")
    assert not canary.exists()


def test_a_repository_that_is_none_is_refused_and_leaves_nothing(daemon: Daemon, tmp_path: Path) -> None:
    before = list((daemon.state_dir / "sessions").iterdir()) if (daemon.state_dir / "sessions").exists() else []
    for location in (str(tmp_path), "/nowhere", "http://example.com/x", "ext::sh -c id", "relative/path"):
        with pytest.raises(Refused):
            Session(daemon, None, repository=location)
    after = [one for one in (daemon.state_dir / "sessions").iterdir() if any(one.iterdir())]
    assert len(after) <= len(before)
    session = Session(daemon, tmp_path)
    with pytest.raises(Refused, match="has no repository"):
        daemon.get(f"{session.path}/changes")


@pytest.mark.parametrize(
    ("path", "mode", "runs"),
    [
        ("Makefile", "100644", "make"),
        ("deep/down/package.json", "100644", "npm scripts"),
        (".github/workflows/ci.yml", "100644", "continuous integration"),
        ("nested/.vscode/tasks.json", "100644", "the editor"),
        (".claude/settings.json", "100644", "a coding agent"),
        ("tests/conftest.py", "100644", "pytest"),
        ("bin/tool", "100755", "anyone: it is executable"),
        ("link", "120000", "programs that follow the link"),
        ("src/main.py", "100644", ""),
        ("docs/github/notes.md", "100644", ""),
    ],
)
def test_changes_that_will_execute_are_marked(path: str, mode: str, runs: str) -> None:
    assert runner_of(path, mode) == runs
