"""Configurations over the API and at start: what they add, what they leave alone, and what is named as wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.graphql.service import Service
from tests.sources.mcp.conftest import serving as serving_mcp
from tests.sources.upstream import serving
from tests.support.conditions import wait_for
from tests.support.notes import DONE, Notes
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
BLOCKS = dict(re.findall(r"^```(toml|yaml|json)\n(.*?)\n```$", PAGE, re.DOTALL | re.MULTILINE))
LOOK = {"/look": {"get": {"tags": ["n"], "operationId": "look", "responses": DONE}}}


@pytest.fixture
def notes() -> Iterator[Notes]:
    with serving() as server:
        made = Notes(server.url)
        made.more = LOOK
        server.otherwise = made
        yield made


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("configuration"), typecheck="off") as made:
        yield made


@pytest.fixture(autouse=True)
def clean(daemon: Daemon) -> Iterator[None]:
    yield
    apply(daemon, {}, prune=True)
    for source in daemon.get("/v1/sources").json["items"]:
        daemon.request("DELETE", f"/v1/sources/{source['id']}")
    for policy in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
    for toolkit in daemon.get("/v1/toolkits").json["items"]:
        daemon.request("DELETE", f"/v1/toolkits/{toolkit['id']}")


def openapi(notes: Notes, name: str = "notes", **more: Any) -> dict[str, Any]:
    return {"type": "openapi", "name": name, "spec": f"{notes.url}/openapi.json", "baseUrl": notes.url, **more}


def post(daemon: Daemon, route: str, content: Any, **more: Any) -> Any:
    answer = daemon.post(f"/v1/configuration/{route}", {"text": json.dumps(content), "name": "x.json", **more})
    assert answer.status == 200, answer.body
    return answer.json


def plan(daemon: Daemon, content: Any, **more: Any) -> Any:
    return post(daemon, "plan", content, **more)


def apply(daemon: Daemon, content: Any, **more: Any) -> Any:
    return post(daemon, "apply", content, **more)


def actions(told: Any) -> dict[str, str]:
    return {f"{one['noun']} {one['name']}": one["action"] for one in told["changes"]}


def namespaces(daemon: Daemon) -> list[str]:
    return sorted(one["namespace"] for one in daemon.get("/v1/sources").json["items"])


def test_applying_twice_changes_nothing_and_what_people_added_stays(daemon: Daemon, notes: Notes) -> None:
    by_hand = {"location": f"{notes.url}/openapi.json", "kind": "openapi", "namespace": "mine"}
    assert daemon.post("/v1/sources", by_hand).status == 201
    policy = {"name": "none of it", "pattern": "notes.n.add", "action": "deny", "source": "notes"}
    content = {"sources": [openapi(notes, defaultWriteApproval="auto")], "policies": [policy]}
    told = plan(daemon, content)
    assert actions(told) == {"source notes": "add", "policy none of it": "add"} and told["problems"] == []
    assert "write calls by default: allow (looser)" in told["changes"][0]["details"]
    assert namespaces(daemon) == ["mine"]  # a plan changes nothing
    done = apply(daemon, content, expected=told["digest"])
    assert [one["error"] for one in done["changes"]] == [None, None]
    first = daemon.get("/v1/sources/notes").json
    assert daemon.get("/v1/sources/notes/defaults").json["write"] == "allow"
    assert actions(apply(daemon, content)) == {"source notes": "none", "policy none of it": "none"}
    assert daemon.get("/v1/sources/notes").json["id"] == first["id"]
    assert namespaces(daemon) == ["mine", "notes"] and len(daemon.get("/v1/policies").json["items"]) == 1
    assert daemon.execute('return await tools.notes.n.add({text: "x"})')["error"]["code"] == "denied"


def test_a_changed_entry_changes_only_what_it_names(daemon: Daemon, notes: Notes) -> None:
    content = {"sources": [openapi(notes)], "policies": [{"name": "p", "pattern": "notes.**", "action": "allow"}]}
    apply(daemon, content)
    first, [policy] = daemon.get("/v1/sources/notes").json["id"], daemon.get("/v1/policies").json["items"]
    content["sources"][0]["defaultWriteApproval"] = "deny"
    content["policies"][0]["action"] = "require_approval"
    assert actions(apply(daemon, content)) == {"source notes": "change", "policy p": "change"}
    assert daemon.get("/v1/sources/notes").json["id"] == first
    assert daemon.get("/v1/sources/notes/defaults").json["destructive"] == "deny"
    [changed] = daemon.get("/v1/policies").json["items"]
    assert (changed["id"], changed["action"]) == (policy["id"], "require_approval")


def test_another_address_connects_again_only_when_it_can_be_read(daemon: Daemon, notes: Notes) -> None:
    apply(daemon, {"sources": [openapi(notes)]})
    first = daemon.get("/v1/sources/notes").json["id"]
    told = apply(daemon, {"sources": [{**openapi(notes), "spec": "http://127.0.0.1:9/openapi.json"}]})
    assert actions(told) == {"source notes": "replace"} and told["changes"][0]["error"]
    assert daemon.get("/v1/sources/notes").json["id"] == first
    told = apply(daemon, {"sources": [{**openapi(notes), "spec": f"{notes.url}/v2/openapi.json"}]})
    assert "credentials go" in str(told["changes"][0]["details"]) and told["changes"][0]["error"] is None
    assert daemon.get("/v1/sources/notes").json["id"] != first


def test_wrong_entries_are_named_and_stop_no_other(daemon: Daemon, notes: Notes) -> None:
    by_hand = {"location": f"{notes.url}/openapi.json", "kind": "openapi", "namespace": "mine"}
    assert daemon.post("/v1/sources", by_hand).status == 201
    wrong = [
        openapi(notes, "good"),
        openapi(notes, "good"),
        openapi(notes, "mine"),
        openapi(notes, "locked", auth={"mode": "workspace", "secret": "nowhere"}),
        {"type": "carrier", "name": "pigeon"},
        {**openapi(notes, "gone"), "spec": "http://127.0.0.1:9/openapi.json"},
    ]
    told = apply(daemon, {"sources": wrong, "policies": [{"name": "p", "pattern": "a..b", "action": "allow"}]})
    places = {one["place"]: one["message"] for one in told["problems"]}
    assert "declared twice" in places["x.json: sources[1].name"]
    assert "added by hand" in places["x.json: sources[2].name"]
    assert "no secret 'nowhere'" in places["x.json: sources[3].auth.secret"]
    assert "x.json: sources[4].type" in places and "x.json: policies[0]" in places
    assert [bool(one["error"]) for one in told["changes"]] == [False, True]
    assert namespaces(daemon) == ["good", "mine"]
    assert daemon.get("/v1/sources/mine").json["id"]


def test_what_is_gone_from_the_file_stays_until_it_is_pruned(daemon: Daemon, notes: Notes) -> None:
    policy = {"name": "p", "pattern": "a.**", "action": "deny"}
    apply(daemon, {"sources": [openapi(notes)], "policies": [policy]})
    assert actions(plan(daemon, {"policies": [policy]}))["source notes"] == "dropped"
    broken = {"policies": [policy, "text"]}  # not all of it could be read, so nothing counts as gone
    assert actions(plan(daemon, broken, prune=True)) == {"policy p": "none"}
    apply(daemon, {"policies": [policy]})
    assert namespaces(daemon) == ["notes"]
    assert actions(apply(daemon, {"policies": [policy]}, prune=True))["source notes"] == "remove"
    assert namespaces(daemon) == []
    assert actions(plan(daemon, {"policies": [policy]})) == {"policy p": "none"}


def test_a_credential_is_a_secret_by_its_name(daemon: Daemon, notes: Notes) -> None:
    assert daemon.post("/v1/secrets", {"name": "key", "value": "canary-9f"}).status == 201
    auth = {"mode": "static", "type": "apiKey", "header": "X-Key", "secret": "key"}
    told = apply(daemon, {"sources": [openapi(notes, auth=auth)]})
    assert told["changes"][0]["error"] is None
    [connection] = daemon.get("/v1/connections").json["items"]
    assert (connection["source"], connection["name"]) == ("notes", "declared")
    assert "canary" not in json.dumps(told)
    told = apply(daemon, {"sources": [openapi(notes, auth={"mode": "actor"})]})
    assert actions(told) == {"source notes": "change"} and daemon.get("/v1/connections").json["items"] == []
    assert daemon.request("DELETE", "/v1/secrets/key").status in (200, 204)


def test_only_the_plan_that_was_shown_is_applied(daemon: Daemon, notes: Notes) -> None:
    shown = plan(daemon, {"sources": [openapi(notes)]})["digest"]
    answer = daemon.post(
        "/v1/configuration/apply",
        {
            "text": json.dumps({"sources": [openapi(notes, defaultApproval="auto")]}),
            "name": "x.json",
            "expected": shown,
        },
    )
    assert answer.status == 409 and namespaces(daemon) == []


def test_commands_modules_files_and_references_are_the_operators(daemon: Daemon, notes: Notes, tmp_path: Path) -> None:
    admin = identities.invite(daemon, "admin")
    content = {
        "secrets": [{"name": "outside", "reference": "EXECUTOR_SECRET_X"}],
        "sources": [
            {"type": "mcp", "name": "run", "command": ["touch", str(tmp_path / "ran")]},
            {"type": "python", "name": "snake", "module": "os"},
            {"type": "openapi", "name": "file", "spec": "/etc/passwd"},
            openapi(notes),
        ],
    }
    body = {"text": json.dumps(content), "name": "x.json", "consent": True}
    answer = admin.request("POST", "/v1/configuration/apply", body)
    errors = {one["name"]: one["error"] for one in answer.json["changes"]}
    assert errors.pop("notes") is None and len(errors) == 4
    assert all("permission denied" in error for error in errors.values()), errors
    assert not (tmp_path / "ran").exists() and namespaces(daemon) == ["notes"]
    assert daemon.post("/v1/configuration/apply", {}, role="agent").status == 403


def test_a_role_is_set_for_members_and_waits_for_others(daemon: Daemon) -> None:
    link = daemon.post("/v1/invitations", {"role": "viewer", "email": "grace@example.com"}).json["url"]
    body = {"token": link.partition("#")[2], "name": "Grace"}
    assert daemon.post("/v1/invitations/accept", body, role=None).status == 200
    for action in ("change", "none"):
        told = apply(daemon, {"members": [{"email": "Grace@example.com", "role": "member"}]})
        assert actions(told) == {"member grace@example.com": action} and told["changes"][0]["error"] is None
    [grace] = [one for one in daemon.get("/v1/members").json["items"] if one["email"] == "grace@example.com"]
    assert grace["role"] == "member"
    members = [{"email": "nobody@example.com", "role": "viewer"}, {"email": "x@example.com", "role": "king"}]
    told = apply(daemon, {"members": members})
    assert actions(told) == {"member nobody@example.com": "waiting"}
    assert told["problems"][0]["place"] == "x.json: members[1].role"


def test_the_daemon_applies_its_configuration_when_it_starts(tmp_path: Path, notes: Notes) -> None:
    file = tmp_path / "executor.toml"
    entry = openapi(notes, "filed")
    file.write_text("[[sources]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items()))
    file.chmod(0o600)
    variable = json.dumps([openapi(notes, "given"), {"type": "nothing"}, openapi(notes, "filed")])
    done = {"source filed": "none", "source given": "none"}
    for _ in range(2):
        with running_daemon(tmp_path, tool_sources=variable) as started:
            wait_for(lambda: actions(started.post("/v1/configuration/plan", {}).json) == done)
            told = started.post("/v1/configuration/plan", {}).json
            assert [one["place"] for one in told["problems"]] == [
                "EXECUTOR_TOOL_SOURCES[1].type",
                "EXECUTOR_TOOL_SOURCES[2].name",
            ]
    file.chmod(0o666)
    with running_daemon(tmp_path, tool_sources="not json") as started:
        told = started.post("/v1/configuration/plan", {}).json
        assert [one["message"].partition(":")[0] for one in told["problems"]] == [
            "others can write it",
            "it is not JSON",
        ]
        assert namespaces(started) == ["filed", "given"]


@pytest.fixture
def services(notes: Notes) -> Iterator[dict[str, str]]:
    """In place of the addresses that the page uses."""
    with serving() as graphql, serving_mcp("http") as mcp:
        graphql.otherwise = Service()
        yield {
            "https://billing.example": notes.url,
            "https://catalog.example": graphql.url,
            "https://files.example": mcp,
        }


def example(language: str, services: dict[str, str]) -> str:
    text = BLOCKS[language]
    for address, served in services.items():
        text = text.replace(address, served)
    return text


@pytest.mark.parametrize("language", ["toml", "yaml"])
def test_the_examples_of_the_page_can_be_applied(daemon: Daemon, services: dict[str, str], language: str) -> None:
    body = {"text": example(language, services), "name": f"executor.{language}"}
    applied = daemon.post("/v1/configuration/apply", body).json
    assert applied["problems"] == [] and [one["error"] for one in applied["changes"]] == [None] * 7
    assert namespaces(daemon) == ["billing", "catalog", "files"]
    other = "yaml" if language == "toml" else "toml"
    again = {"text": example(other, services), "name": f"executor.{other}"}
    assert {*actions(daemon.post("/v1/configuration/plan", again).json).values()} == {"none", "waiting"}


def test_the_variable_of_the_page_connects_its_sources(tmp_path: Path, services: dict[str, str]) -> None:
    with running_daemon(tmp_path, tool_sources=example("json", services)) as started:
        wait_for(lambda: namespaces(started) == ["billing", "files"])
        assert started.post("/v1/configuration/plan", {}).json["problems"] == []
        assert started.get("/v1/sources/files/defaults").json["inForce"]["destructive"] == "allow"


KIT = {"slug": "kit", "patterns": ["notes.**"], "policies": [{"pattern": "notes.*.gone", "action": "deny"}]}


def test_toolkits_are_added_changed_and_pruned(daemon: Daemon, notes: Notes) -> None:
    given = {"sources": [openapi(notes)], "toolkits": [{**KIT, "passThrough": ["notes.n.look"]}]}
    assert [one["error"] for one in apply(daemon, given)["changes"]] == [None, None]
    made = daemon.get("/v1/toolkits/kit").json
    assert (made["patterns"], made["exposed"], made["policies"][0]["action"]) == (["notes.**"], 1, "deny")
    assert {one["action"] for one in apply(daemon, given)["changes"]} == {"none"}
    changed = apply(daemon, {**given, "toolkits": [{**KIT, "name": "Kit"}]})["changes"]
    assert [one["action"] for one in changed] == ["none", "change"]
    after = daemon.get("/v1/toolkits/kit").json
    assert (after["id"], after["name"], after["passThrough"]) == (made["id"], "Kit", [])
    apply(daemon, {"sources": [openapi(notes)]}, prune=True)
    assert daemon.get("/v1/toolkits/kit").status == 404


@pytest.mark.parametrize(
    ("entry", "place", "word"),
    [
        ({"patterns": []}, "toolkits[0]", "at least one pattern"),
        ({"policies": [{"pattern": "a", "action": "allow"}]}, "toolkits[0].policies[0].action", "unknown value"),
        ({"policies": [{"pattern": "a", "action": "deny", "actor": "x"}]}, "toolkits[0].policies[0].actor", "unknown"),
        ({"slug": "No Slug"}, "toolkits[0]", "slug"),
        ({"passthrough": []}, "toolkits[0].passthrough", "unknown key"),
    ],
)
def test_a_toolkit_that_is_wrong_is_named_with_its_place(daemon: Daemon, entry: Any, place: str, word: str) -> None:
    [problem] = post(daemon, "plan", {"toolkits": [{**KIT, **entry}]})["problems"]
    assert place in problem["place"] and word in problem["message"], problem


def test_a_toolkit_that_people_added_is_left_alone(daemon: Daemon) -> None:
    assert daemon.post("/v1/toolkits", {"slug": "kit", "patterns": ["x.**"]}).status == 201
    [problem] = post(daemon, "plan", {"toolkits": [KIT]})["problems"]
    assert "by hand" in problem["message"]
