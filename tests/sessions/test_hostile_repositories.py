"""Repositories that are odd, hostile or on a full disk: nothing of them runs as the daemon, and no work is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sessions.test_session_clones import make_repository
from tests.sessions.test_session_repositories import git
from tests.support.daemon import Daemon, Refused
from tests.support.sessions import Session

MEGABYTE = 2**20
GIT, MOUNT, UMOUNT = (shutil.which(name) or name for name in ("git", "mount", "umount"))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_PROMPTS_PER_MINUTE="10000")
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A script that leaves `canary.ran` when it runs."""
    script = tmp_path / "canary"
    script.write_text(f"#!/bin/sh\ntouch {script}.ran\ncat\n")
    script.chmod(0o755)
    return script


def has_run(canary: Path) -> bool:
    return canary.with_name("canary.ran").exists()


def arm(repository: Path, canary: Path) -> None:
    """Everything by which a repository's own files make git run a program, or go somewhere else."""
    included = canary.with_name("included")
    included.write_text(
        f"[core]\n\tfsmonitor = {canary}\n\tsshCommand = {canary}\n\thooksPath = {canary.parent}/hooks\n"
        f"\talternateRefsCommand = {canary}\n\teditor = {canary}\n\tpager = {canary}\n"
        f'[filter "x"]\n\tclean = {canary}\n\tsmudge = {canary}\n\tprocess = {canary}\n\trequired = true\n'
        f"[diff]\n\texternal = {canary}\n[credential]\n\thelper = {canary}\n"
        f"[uploadpack]\n\tpackObjectsHook = {canary}\n[gpg]\n\tprogram = {canary}\n"
        f'[url "ext::{canary} "]\n\tinsteadOf = /\n[protocol "ext"]\n\tallow = always\n'
    )
    hooks = canary.parent / "hooks"
    for folder in (hooks, repository / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("reference-transaction", "post-checkout", "pre-commit", "post-merge", "proc-receive", "update"):
            shutil.copy(canary, folder / name)
    with (repository / ".git" / "config").open("a") as file:
        file.write(f'[includeIf "gitdir:/"]\n\tpath = {included}\n')


def test_nothing_of_a_hostile_original_runs(daemon: Daemon, tmp_path: Path, canary: Path) -> None:
    original = make_repository(tmp_path / "original")
    (original / ".gitattributes").write_text("* filter=x diff=x\n")
    git(original, "add", ".")
    git(original, "commit", "-qm", "attributes")
    shared = make_repository(tmp_path / "shared")  # objects that the original borrows
    (original / ".git/objects/info/alternates").write_text(f"{shared}/.git/objects\n")
    arm(original, canary)
    session = Session(daemon, None, repository=str(original))
    assert not (Path(session.view()["cwd"]) / ".git/objects/info/alternates").exists()
    assert "filter" not in (Path(session.view()["cwd"]) / ".git/config").read_text()
    session.prompt({"run": "echo 1 > mine; git add .; git commit -qm mine; echo 2 > mine"})
    daemon.get(f"{session.path}/changes")
    daemon.post(f"{session.path}/fork")
    made = daemon.post(f"{session.path}/commit", {"message": "Take over"})
    assert daemon.post(f"{session.path}/discard")["snapshot"]
    session.prompt({"run": "echo 3 > more"})
    assert daemon.request("DELETE", session.path)["snapshot"]
    assert not has_run(canary)
    assert (original / ".git/refs/heads" / made["branch"]).read_text().strip() == made["commit"]
    subprocess.run([GIT, "-C", str(original), "status"], capture_output=True)
    assert has_run(canary), "it fires without the protection"


def test_nothing_of_a_submodule_that_an_agent_fills_runs(daemon: Daemon, tmp_path: Path, canary: Path) -> None:
    library, original = make_repository(tmp_path / "library"), make_repository(tmp_path / "original")
    git(original, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git(original, "commit", "-qm", "with a submodule")
    session = Session(daemon, None, repository=str(original))
    work = Path(session.view()["cwd"])
    assert list((work / "sub").iterdir()) == []
    session.prompt({"run": "rmdir sub; echo 1 > mine"})
    changed = [one["path"] for one in daemon.get(f"{session.path}/changes")["files"]]
    assert changed == ["mine"], "a submodule stays as it is"
    session.prompt(
        {"run": f"git clone -q {library} sub && cd sub && git config filter.x.clean {canary} && "
                f"git config core.fsmonitor {canary} && echo '* filter=x' > .gitattributes && "
                "head -c 100 /dev/urandom > data && touch -d '2001-01-01' data"}
    )  # fmt: skip
    canary.with_name("canary.ran").unlink(missing_ok=True)  # it was the agent's own git
    daemon.get(f"{session.path}/changes")
    for act in ("commit", "discard", "fork"):
        with pytest.raises(Refused, match="sub is a git repository of its own"):
            daemon.post(f"{session.path}/{act}", {"message": "take over"} if act == "commit" else None)
    with pytest.raises(Refused, match="sub is a git repository of its own"):
        daemon.request("DELETE", session.path)
    assert not has_run(canary) and (work / "sub" / "data").exists()
    subprocess.run([GIT, "-C", str(work), "add", "--all"], capture_output=True)
    assert has_run(canary), "it fires without the protection"


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of its own. Skips the test where none can be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [MOUNT, "-t", "tmpfs", "-o", f"size={size}", "executor-test", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run([UMOUNT, "--lazy", str(folder)], check=True)


def test_a_full_disk_fails_with_a_reason_and_loses_nothing(daemon: Daemon, tmp_path: Path) -> None:
    """The disk of the original is full when work is kept there: the clone stays."""
    with small_disk(tmp_path / "disk", 4 * MEGABYTE) as disk:
        original = make_repository(disk / "original")
        session = Session(daemon, None, repository=str(original))
        session.prompt({"run": "head -c 8000000 /dev/urandom > large; git add .; git commit -qm large; echo 1 > mine"})
        for act in ("commit", "discard"):
            with pytest.raises(Refused, match="no space is left on the disk") as refused:
                daemon.post(f"{session.path}/{act}", {"message": "take over"} if act == "commit" else None)
            assert refused.value.problem["code"] == "storage_full"
        with pytest.raises(Refused, match="no space is left on the disk"):
            daemon.request("DELETE", session.path)
        work = Path(session.view()["cwd"])
        assert (work / "mine").read_text() == "1\n" and git(work, "log", "-1", "--format=%s") == "large\n"
        assert git(original, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
        git(original, "fsck", "--strict")
        subprocess.run([MOUNT, "-o", f"remount,size={64 * MEGABYTE}", str(disk)], check=True)
        kept = daemon.request("DELETE", session.path)["snapshot"].partition(" in ")[0]
        assert git(original, "show", f"{kept}:mine") == "1\n"
        assert git(original, "log", "--format=%s", kept).splitlines()[1:] == ["large", "first"]


def test_a_clone_for_which_there_is_no_room_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    """The disk of the clones is full when one is made, and when its work is committed."""
    small, large = make_repository(tmp_path / "small"), make_repository(tmp_path / "large", 3 * MEGABYTE)
    daemon = Daemon(tmp_path)
    daemon.state_dir.mkdir(mode=0o700)
    with small_disk(daemon.state_dir / "sessions", 7 * MEGABYTE) as disk:
        daemon.start()
        try:
            session = Session(daemon, None, repository=str(small))
            with pytest.raises(Refused, match="no space is left on the disk"):
                Session(daemon, None, repository=str(large))
            assert [one.name for one in disk.iterdir() if any(one.iterdir())] == [session.id]
            session.prompt({"run": "echo 1 > mine; head -c 20000000 /dev/urandom > large; true"})
            work = Path(session.view()["cwd"])
            with pytest.raises(Refused, match="no space is left on the disk"):
                daemon.post(f"{session.path}/discard")
            assert (work / "mine").read_text() == "1\n"
            (work / "large").unlink()
            made = daemon.post(f"{session.path}/commit", {"message": "take over"})
            assert git(small, "show", f"{made['commit']}:mine") == "1\n"
        finally:
            daemon.stop()
