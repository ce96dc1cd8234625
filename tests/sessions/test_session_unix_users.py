"""Sessions with isolation `strict`: whose Unix user an agent runs as, and who may choose it."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.acceptance.other_user import public_folder
from tests.sessions.daemon import let_others_in
from tests.sessions.test_isolation import processes_of
from tests.sessions.test_session_repositories import git
from tests.support.conditions import wait_for
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, operator

USERADD, USERDEL = shutil.which("useradd") or "", shutil.which("userdel") or ""
pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or not USERADD, reason="only root can create users, and change to one without sudo"
)


@pytest.fixture(scope="module")
def user() -> Iterator[str]:
    """One that exists for these tests only."""
    name = f"exec-test-{os.getpid()}"
    with public_folder() as folder:
        home = ["--create-home", "--home-dir", str(folder / "of-agent")]
        subprocess.run([USERADD, "--system", *home, name], check=True)
        yield name
        subprocess.run([USERDEL, name], check=True)


@dataclass
class People:
    daemon: Daemon
    operator: Caller
    mapped: Caller
    other: Caller


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the daemon's user, and closed to others."""
    folder = tmp_path_factory.mktemp("original") / "app"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "code.py").write_text("1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, user: str, repository: Path) -> Iterator[People]:
    """Accounts are known once they exist, so the daemon that maps one starts after the daemon that made it."""
    folder = tmp_path_factory.mktemp("strict")
    with running_daemon(folder) as daemon:
        mapped, other = (identities.invite(daemon, "member") for _ in range(2))
    chosen = {
        "session_unix_users": ((mapped.account, user), ("operator", user)),
        "session_repositories": (("app", str(repository)),),
    }
    with running_daemon(folder, **chosen) as daemon:
        yield People(daemon, operator(daemon), *(replace(one, daemon=daemon) for one in (mapped, other)))


def work_of(user: str, folder: Path) -> Path:
    let_others_in(folder)
    (folder / "work").mkdir()
    os.chown(folder / "work", pwd.getpwnam(user).pw_uid, -1)
    return folder / "work"


def start(caller: Caller, **body: Any) -> Any:
    return caller.post("/v1/sessions", {"agent": "fake", "isolation": "strict", **body})


def test_a_mapped_member_runs_an_agent_as_their_unix_user(people: People, user: str, tmp_path: Path) -> None:
    made = start(people.mapped, cwd=str(work_of(user, tmp_path)), prompt='[{"run": "id -un; touch mine"}]')
    assert (made.status, made.json["unixUser"]) == (201, user), made.body
    path = f"/v1/sessions/{made.json['id']}"
    wait_for(lambda: people.mapped.get(path).json["tasks"][0]["status"] == "completed")
    calls = [one for one in people.mapped.get(f"{path}/messages").json["items"] if one["kind"] == "tool_call"]
    assert calls[-1]["data"]["content"][0]["text"] == f"{user}\n"
    assert (tmp_path / "work" / "mine").stat().st_uid == pwd.getpwnam(user).pw_uid
    assert people.mapped.post(f"{path}/stop", {}).status == 200
    wait_for(lambda: not processes_of(user))


def test_a_clone_belongs_to_the_unix_user_and_its_work_is_committed_forked_and_kept(
    people: People, user: str, repository: Path
) -> None:
    owner, caller = pwd.getpwnam(user), people.mapped
    made = start(caller, repository="app")
    assert made.status == 201, made.body
    work, path = Path(made.json["cwd"]), f"/v1/sessions/{made.json['id']}"
    assert work.stat().st_uid == owner.pw_uid and str(work).startswith(owner.pw_dir)
    act(caller, path, "git checkout -qb aside; git commit -q --allow-empty -m aside; git checkout -q -")
    act(caller, path, "id -un; echo 1 > one; git add one; git commit -qm one; echo 2 > code.py; echo 3 > new")
    changed = caller.get(f"{path}/changes").json["files"]
    assert [(one["path"], one["status"]) for one in changed] == [
        ("code.py", "modified"), ("new", "added"), ("one", "added")
    ]  # fmt: skip
    fork = caller.post(f"{path}/fork", {}).json
    shown = act(caller, f"/v1/sessions/{fork['id']}", "git status --short; git log --format=%s; cat new")
    assert shown.splitlines() == [" M code.py", "?? new", "one", "first", "3"]
    commit = caller.post(f"{path}/commit", {"message": "Take over"}).json
    assert git(repository, "ls-tree", "--name-only", commit["branch"]).split() == ["code.py", "new", "one"]
    # The agent's own repository leads elsewhere, and its files are there all the same.
    act(caller, path, f"rm -rf .git; ln -s {repository}/.git .git; echo 4 > later")
    kept = caller.post(f"{path}/discard", {}).json["snapshot"].partition(" in ")[0]
    assert git(repository, "show", f"{kept}:later") == "4\n" and not (work / "later").exists()
    for one in (path, f"/v1/sessions/{fork['id']}"):
        assert caller.delete(one).status == 200
    wait_for(lambda: not processes_of(user))
    left = {one.name[:36] for one in (Path(owner.pw_dir) / ".executor-sessions").iterdir()}
    assert not left & {made.json["id"], fork["id"]}


def act(caller: Caller, path: str, command: str) -> str:
    task = caller.post(f"{path}/prompt", {"prompt": json.dumps([{"run": command}])}).json
    wait_for(lambda: caller.get(f"{path}/tasks/{task['id']}").json["status"] == "completed")
    calls = [one for one in caller.get(f"{path}/messages").json["items"] if one["kind"] == "tool_call"]
    content = max(calls, key=lambda one: one["position"])["data"]["content"]
    return str(content[0]["text"]) if content else ""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """For every user, whatever another run of pytest does to its own folder meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def test_nothing_that_the_unix_user_puts_into_its_clone_acts_as_the_daemon(
    people: People, user: str, repository: Path, open_folder: Path
) -> None:
    """Its git runs what it likes as that user: never as root."""
    caller, canary = people.mapped, open_folder / "canary"
    path = f"/v1/sessions/{start(caller, repository='app').json['id']}"
    script = f"id -un >> {canary}; cat"
    act(caller, path, f"git config filter.x.clean '{script}'; git config core.fsmonitor '{script}'; id -un")
    act(caller, path, "mkdir -p .git/hooks; echo '* filter=x' > .gitattributes; echo changed > code.py")
    spare = Path(caller.get(path).json["cwd"]).with_name(f"{path.rpartition('/')[2]}-snapshot.git")
    assert caller.get(f"{path}/changes").status == 200
    act(caller, path, f"git --git-dir {spare} config filter.x.clean '{script}'; echo again > code.py")
    assert caller.get(f"{path}/changes").status == 200
    assert caller.post(f"{path}/commit", {"message": "Take over"}).status == 200
    assert set(canary.read_text().split()) == {user}
    assert caller.delete(path).status == 200


def test_no_member_chooses_the_unix_user_of_another(people: People, user: str, tmp_path: Path) -> None:
    work = str(work_of(user, tmp_path))
    assert start(people.other, cwd=work).status == 403
    refused = start(people.other, cwd=work, unixUser=user)
    assert refused.status == 403 and "is not mapped" in refused.json["detail"]
    refused = start(people.mapped, cwd=work, unixUser="games")
    assert refused.status == 403 and "is not mapped" in refused.json["detail"]
    assert start(people.operator, cwd=work, run_as_unix_user="games").status == 201
    assert start(people.operator, cwd=work).json["unixUser"] == user


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"unixUser": "no-such-user"}, "there is no Unix user 'no-such-user'"),
        ({"unixUser": "root"}, "never run as root"),
        ({"unixUser": "games", "isolation": "insulated"}, "runs as the daemon's user"),
    ],
)
def test_a_unix_user_that_makes_no_sense_is_refused(
    people: People, tmp_path: Path, body: dict[str, Any], words: str
) -> None:
    refused = start(people.operator, **{"cwd": str(tmp_path), **body})
    assert refused.status >= 400 and words in refused.json["detail"]
