"""What an agent leaves behind in a directory runs nothing when a person, git or an editor comes by afterwards."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.isolation.protected_paths import GIT, PROTECTED
from tests.sessions.daemon import session_host
from tests.support.daemon import Daemon
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session

pytestmark = needs_sandbox
IN_GIT = ("hooks/pre-commit", "hooks/post-index-change", "hooks/reference-transaction", "config", "config.worktree")
PATHS = [
    *(f"{folder}.git/{name}" for folder in ("", "nested/") for name in IN_GIT),
    *(f"{name}tasks.json" if name.endswith("/") else name for name in PROTECTED),
]
PRESENT = (".envrc", ".claude/settings.json", ".vscode/tasks.json", ".gitattributes", "nested/.envrc")

# Tries to write all of them in every way. Its arguments are the canary and the paths.
ATTACK = r"""
import json
import os
import shutil
import sys
import threading
from contextlib import suppress

def main():
    make_evil()
    for path in json.loads(sys.argv[2]):
        for attempt in (write, replace, link, hard_link, swap):
            with suppress(OSError, shutil.Error):
                attempt(path)
    for parent in (".git", "nested/.git", ".claude", ".vscode"):
        with suppress(OSError):
            os.rename(parent, "moved")
            with suppress(OSError):
                os.makedirs("moved/hooks", exist_ok=True)
                shutil.copy("evil", "moved/hooks/pre-commit")
            os.rename("moved", parent)
    make_evil()  # a race may have emptied it
    for path in json.loads(sys.argv[2]):
        with suppress(OSError):
            os.unlink(path)
        with suppress(OSError):
            write(path)
    with open("allowed", "w") as file:
        file.write("fine\n")
    os.makedirs("deep/down", exist_ok=True)
    with open("deep/down/Makefile", "w") as file:
        file.write("all:\n\ttrue\n")

def make_evil():
    with suppress(OSError):
        os.unlink("evil")
    with open("evil", "w") as file:
        file.write(f"#!/bin/sh\ntouch {sys.argv[1]}\n")
    os.chmod("evil", 0o755)

def write(path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if path.endswith(("config", ".gitmodules")):
        canary = os.path.abspath("evil")
        with open(path, "a") as file:
            file.write(f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {canary}\n")
    else:
        shutil.copy("evil", path)

def replace(path):
    # By a new file under its name.
    shutil.copy("evil", f"{path}.new" if os.path.isdir(os.path.dirname(path) or ".") else "replacement")
    os.replace(f"{path}.new", path)

def link(path):
    with suppress(OSError):
        os.unlink(path)
    os.symlink(os.path.abspath("evil"), path)

def hard_link(path):
    # A second name of what is there is written through; and ours is given its name.
    with suppress(OSError):
        os.link(path, "second-name")
        with open("second-name", "a") as file:
            file.write("evil")
        os.unlink("second-name")
    os.link("evil", path)

def swap(path):
    # A directory and a link to it by turns, while another thread writes: a check that comes first is late.
    parent = os.path.dirname(path)
    if not parent or "/" in parent:
        return
    over = threading.Event()

    def turn():
        while not over.is_set():
            with suppress(OSError):
                os.rename(parent, "swapped")
            with suppress(OSError):
                os.symlink("elsewhere", parent)
            with suppress(OSError):
                os.unlink(parent)
            with suppress(OSError):
                os.rename("swapped", parent)

    os.makedirs("elsewhere", exist_ok=True)
    thread = threading.Thread(target=turn)
    thread.start()
    for _ in range(50):
        with suppress(OSError):
            shutil.copy("evil", path)
    over.set()
    thread.join()

main()
"""


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "safe.directory=*"]
    done = subprocess.run(["/usr/bin/git", *who, "-C", str(folder), *arguments], capture_output=True, text=True)
    return done.stdout


def make_work(work: Path) -> None:
    for folder in (work, work / "nested"):
        folder.mkdir(parents=True)
        git(folder, "init", "-q")
        (folder / "file").write_text("content")
    for name in PRESENT:
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("# mine")
    for folder in (work / "nested", work):
        git(folder, "add", "file")
        git(folder, "commit", "-qm", "first")


def come_by(work: Path, canary: Path) -> list[str]:
    """What fires: git at the top and in the nested repository, then everything that loads one of the paths."""
    fired = []
    for folder in (work, work / "nested"):
        git(folder, "status")
        git(folder, "commit", "--allow-empty", "-qm", "by hand")
        if canary.exists():
            fired.append(f"git in {folder.name}")
            canary.unlink()
    for name in PATHS:
        path = work / name
        if path.is_file() and str(canary) in path.read_text(errors="replace"):
            subprocess.run(["/bin/sh", str(path)], capture_output=True, cwd=work)
        if canary.exists():
            fired.append(name)
            canary.unlink()
    return fired


def contents(work: Path) -> dict[str, str]:
    """Without what git itself writes."""
    skipped = ("objects", "logs", "refs", "index", "COMMIT_EDITMSG")
    found = {}
    for path in work.rglob("*"):
        name = str(path.relative_to(work))
        inside = name.partition(".git/")[2]
        if not inside.startswith(skipped) and not path.is_dir():
            found[name] = str(path.readlink()) if path.is_symlink() else path.read_text(errors="replace")
    return found


async def attack(tmp_path: Path, mode: str) -> tuple[list[str], set[str]]:
    """What fired, and which files are new or have changed."""
    work, canary = tmp_path / "work", tmp_path / "canary"
    make_work(work)
    (work / "attack.py").write_text(ATTACK)
    before = contents(work)
    async with session_host(tmp_path, mode=mode) as daemon:
        command = f"python3 attack.py {canary} '{json.dumps(PATHS)}'"
        result = await daemon.prompt({"run": command})
        assert result["status"] == "completed", result
        assert "Traceback" not in daemon.output(), daemon.output()
    canary.unlink(missing_ok=True)
    after = contents(work)
    assert (work / "allowed").read_text() == "fine\n"
    return come_by(work, canary), {name for name in before | after if before.get(name) != after.get(name)}


async def test_without_a_sandbox_the_canaries_fire(tmp_path: Path) -> None:
    """The control: the same attack, and the same look afterwards."""
    fired, _ = await attack(tmp_path, "insulated")
    assert {"git in work", "git in nested", ".envrc", ".vscode/tasks.json", ".mcp.json"} <= set(fired)


async def test_from_a_sandbox_nothing_fires_and_nothing_but_what_is_allowed_is_left(
    tmp_path: Path, record_property: Any
) -> None:
    fired, changed = await attack(tmp_path, "sandbox")
    assert fired == []
    own = {"evil", "allowed", "deep/down/Makefile", "replacement"}
    assert {
        name for name in changed if name not in own and not name.startswith("elsewhere") and ".new" not in name
    } == set()
    record_property("paths", f"{len(PATHS)} paths, 5 ways each, 0 canaries")


async def test_every_protected_path_of_git_is_tried() -> None:
    assert {name.rstrip("/").split("/")[0] for name in GIT} - {"info"} <= {name.split("/")[0] for name in IN_GIT}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"))
    daemon.start()
    yield daemon
    daemon.stop()


def test_what_will_execute_is_marked_in_the_changes_and_stubs_are_no_changes(daemon: Daemon, tmp_path: Path) -> None:
    make_work(tmp_path / "original")
    session = Session(daemon, None, repository=str(tmp_path / "original"), isolation="sandbox")
    session.prompt(
        {"run": "mkdir -p deep; printf 'all:' > deep/Makefile; echo x > plain; echo y > tool; chmod +x tool"},
        {"run": "echo '{}' > package.json; ln -s tool link"},
    )
    changes = {one["path"]: one["runs"] for one in daemon.get(f"{session.path}/changes")["files"]}
    assert {path for path, runs in changes.items() if runs} == {"deep/Makefile", "tool", "package.json", "link"}
    assert changes["plain"] is None and set(changes) == {"deep/Makefile", "tool", "package.json", "link", "plain"}
    daemon.post(f"{session.path}/stop")


def test_a_session_that_ends_does_not_lift_the_protection_of_another_in_the_same_directory(
    daemon: Daemon, tmp_path: Path
) -> None:
    work = tmp_path / "shared"
    work.mkdir()
    first, second = (Session(daemon, work, isolation="sandbox") for _ in range(2))
    first.prompt("hello")
    second.prompt("hello")
    daemon.post(f"{first.path}/stop")
    write = (
        "rm -rf .envrc .vscode; echo evil > .envrc; mkdir .vscode; echo evil > .vscode/tasks.json; echo fine > allowed"
    )
    second.prompt({"run": write})
    assert (work / "allowed").read_text() == "fine\n"
    daemon.post(f"{second.path}/stop")
    assert [path.name for path in work.iterdir()] == ["allowed"]
