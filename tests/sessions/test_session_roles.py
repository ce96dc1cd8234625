"""Who may start, see, prompt, stop and decide: the operator, members, viewers, strangers and programs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.support.sandbox import needs_sandbox
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, operator


@dataclass
class People:
    daemon: Daemon
    operator: Caller
    owner: Caller
    member: Caller
    other: Caller
    viewer: Caller
    stranger: Caller
    key: Caller


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    (folder / "README.md").write_text("hello\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.com", "-C", str(folder)]
        subprocess.run([*git, *command], check=True)
    return folder


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[People]:
    with running_daemon(tmp_path_factory.mktemp("roles"), session_repositories=(("app", str(repository)),)) as daemon:
        yield People(
            daemon,
            operator(daemon),
            *(identities.invite(daemon, role) for role in ("owner", "member", "member", "viewer")),
            identities.stranger(daemon),
            identities.create_key(daemon, "discover", "execute", "read"),
        )


def start(caller: Caller, **body: Any) -> Any:
    return caller.post("/v1/sessions", {"agent": "fake", **body})


def test_only_the_operator_runs_an_agent_outside_a_sandbox_or_in_a_directory(people: People, tmp_path: Path) -> None:
    assert start(people.operator, cwd=str(tmp_path), isolation="simple").status == 201
    for caller in (people.owner, people.member):
        for body in (
            {"cwd": str(tmp_path), "isolation": "simple"},
            {"cwd": str(tmp_path), "isolation": "sandbox"},
            {"repository": "app", "isolation": "insulated"},
            {"repository": "app", "isolation": "strict"},
            {"isolation": "sandbox"},
        ):
            refused = start(caller, **body)
            assert (refused.status, refused.json["code"]) == (403, "forbidden"), body
            assert "operate" in refused.json["detail"]


@pytest.mark.parametrize("location", ["/etc", "https://example.com/x.git", "file:///etc", "../app", "ext::sh -c id"])
def test_a_member_names_only_repositories_of_the_settings(people: People, location: str) -> None:
    refused = start(people.member, repository=location, isolation="sandbox")
    assert refused.status in (403, 404)


def test_viewers_strangers_and_programs_start_nothing(people: People, tmp_path: Path) -> None:
    for caller in (people.viewer, people.key, Caller(people.daemon, "agent", people.daemon.tokens.agent)):
        assert start(caller, cwd=str(tmp_path)).status == 403
    assert people.stranger.get("/v1/sessions").json["items"] == []


def test_a_members_session_is_seen_by_the_workspace_and_used_by_its_owner_alone(people: People) -> None:
    session = identities.expect_created(start(people.member, repository="app", isolation="sandbox"))
    path = f"/v1/sessions/{session['id']}"
    for caller in (people.member, people.other, people.viewer, people.owner, people.operator, people.key):
        assert caller.get(path).status == 200
        assert caller.get(f"{path}/messages").status == 200
    for caller in (people.stranger, Caller(people.daemon, "agent", people.daemon.tokens.agent)):
        assert caller.get(path).status in (403, 404)
        assert caller.get(f"{path}/messages").status in (403, 404)
    for caller in (people.other, people.owner, people.operator):
        refused = caller.post(f"{path}/prompt", {"prompt": "hi"})
        assert (refused.status, refused.json["detail"][-23:]) == (403, "started by someone else")
        assert caller.post(f"{path}/commit", {"message": "mine"}).status == 403
    assert people.other.post(f"{path}/stop").status == 403
    assert people.other.delete(path).status == 403
    assert people.owner.post(f"{path}/stop").status == 200
    assert people.member.delete(path).status == 200


def test_no_one_but_the_operator_approves_what_runs_as_the_operator(people: People, tmp_path: Path) -> None:
    session = identities.expect_created(start(people.operator, cwd=str(tmp_path), isolation="insulated"))
    path = f"/v1/sessions/{session['id']}"
    task = people.operator.post(f"{path}/prompt", {"prompt": '[{"bash": "touch approved"}]'}).json

    def pending() -> list[Any]:
        found = people.operator.get("/v1/interactions?status=pending").json["items"]
        return [one for one in found if one["sessionId"] == session["id"]]

    asked = wait_for(pending)[0]
    assert asked["needs"] == ["decide", "operate"]
    for caller in (people.owner, people.member):
        refused = caller.post(f"/v1/interactions/{asked['id']}/approve")
        assert refused.status == 403 and "operate" in refused.json["detail"]
    assert people.operator.post(f"/v1/interactions/{asked['id']}/approve").status == 200
    wait_for(lambda: people.operator.get(f"{path}/tasks/{task['id']}").json["status"] == "completed")
    assert (tmp_path / "approved").exists()


@needs_sandbox
def test_a_member_works_on_a_clone_in_a_sandbox_and_commits_to_a_branch(people: People, repository: Path) -> None:
    session = identities.expect_created(start(people.member, repository="app", isolation="sandbox"))
    path = f"/v1/sessions/{session['id']}"
    script = '[{"run": "echo more >> README.md; echo id > Makefile; git commit -qam inside; echo new > untracked.txt"}]'
    answer = people.member.post(f"{path}/prompt", {"prompt": script, "wait": 120}).json
    assert answer["status"] == "completed", answer
    changes = people.member.get(f"{path}/changes").json
    assert {one["path"]: one["runs"] for one in changes["files"]} == {
        "Makefile": "make",
        "README.md": None,
        "untracked.txt": None,
    }
    made = people.member.post(f"{path}/commit", {"message": "All of it"}).json
    show = ["git", "-C", str(repository), "show", "--format=%an: %s", f"{made['branch']}"]
    assert subprocess.run(show, check=True, capture_output=True, text=True).stdout.startswith("Member: All of it")
