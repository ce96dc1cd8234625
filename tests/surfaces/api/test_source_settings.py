"""Editing a source: it is read with its new settings first, what ends with them is said first, and nothing is lost."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.conftest import REAL
from tests.sources.mcp.conftest import serving as serving_mcp
from tests.sources.upstream import Upstream, as_json, serving
from tests.support.conditions import wait_for
from tests.support.notes import DONE, Notes
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon

SECRET = "canary-7c1d"
WRITE = 'return await tools.notes.n.add({text: "hi"})'
LOOK = {"/look": {"get": {"tags": ["n"], "operationId": "look", "responses": DONE}}}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("settings"), typecheck="off") as made:
        yield made


class Service(Notes):
    """`server` is the HTTP server behind it, for what it was sent."""

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(upstream.url)
        self.upstream, self.more = upstream, dict(LOOK)
        upstream.otherwise = self

    @property
    def last(self) -> Any:
        return self.upstream.requests[-1]


@pytest.fixture
def first() -> Iterator[Service]:
    with serving() as server:
        yield Service(server)


@pytest.fixture
def second() -> Iterator[Service]:
    with serving() as server:
        yield Service(server)


@pytest.fixture(autouse=True)
def clean(daemon: Daemon) -> Iterator[None]:
    yield
    for one in daemon.get("/v1/interactions?status=pending").json["items"]:
        daemon.post(f"/v1/interactions/{one['id']}/deny")
    for source in daemon.get("/v1/sources").json["items"]:
        daemon.request("DELETE", f"/v1/sources/{source['id']}")
    for policy in daemon.get("/v1/policies").json["items"]:
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")


def connect(daemon: Daemon, service: Notes, **more: Any) -> Any:
    body = {"location": f"{service.url}/openapi.json", "kind": "openapi", "namespace": "notes", **more}
    added = daemon.post("/v1/sources", body)
    assert added.status == 201, added.body
    return added.json


def edit(daemon: Daemon, source: str = "notes", **changes: Any) -> Answer:
    return daemon.request("PATCH", f"/v1/sources/{source}", changes)


def apply_edit(daemon: Daemon, source: str = "notes", **changes: Any) -> Any:
    answer = edit(daemon, source, **changes)
    assert answer.status == 200, answer.body
    return answer.json


def show(daemon: Daemon, source: str = "notes") -> Any:
    return daemon.get(f"/v1/sources/{source}").json


def pending(daemon: Daemon) -> list[Any]:
    return list(daemon.get("/v1/interactions?status=pending").json["items"])


def address_of(service: Notes) -> dict[str, str]:
    return {"location": f"{service.url}/openapi.json"}


# -- where calls go ---------------------------------------------------------------------------------------------------


def test_calls_go_to_the_new_address_and_the_old_one_hears_nothing(
    daemon: Daemon, first: Service, second: Service
) -> None:
    before = connect(daemon, first)
    second.more["/new"] = {"get": {"tags": ["n"], "operationId": "fresh", "responses": DONE}}
    told = apply_edit(daemon, **address_of(second), consent=True)
    assert (told["id"], told["namespace"], told["added"]) == (before["id"], "notes", ["notes.n.fresh"])
    assert told["baseUrl"] == second.url and told["revision"] != before["revision"]
    heard = len(first.upstream.requests)
    assert daemon.execute("return await tools.notes.n.look({})")["status"] == "completed"
    assert len(first.upstream.requests) == heard and second.last.target == "/look"
    assert daemon.post("/v1/sources/notes/refresh").status == 200 and second.last.target == "/openapi.json"
    [event] = daemon.get("/v1/audit?type=source.edited&limit=1").json["items"]
    assert event["data"]["settings"] == ["location"] and event["data"]["host"] == "127.0.0.1"


def test_an_edit_that_sends_calls_elsewhere_says_first_what_ends(
    daemon: Daemon, first: Service, second: Service
) -> None:
    connect(daemon, first, headers={"X-Key": SECRET})
    body = {"source": "notes", "placements": [{"in": "header", "name": "X-Token", "template": "{key}"}],
            "values": {"key": SECRET}}  # fmt: skip
    made = daemon.post("/v1/connections", body)
    assert made.status == 201, made.body
    waiting = daemon.execute(WRITE)
    asked = edit(daemon, **address_of(second))
    assert (asked.status, asked.json["code"]) == (400, "consent_required")
    preview = apply_edit(daemon, **address_of(second), preview=True)
    ends = preview["invalidates"]
    assert asked.json["invalidates"] == ends["lines"] and preview["preview"] is True
    assert (ends["goesFrom"], ends["goesTo"]) == (first.url, second.url)
    assert [one["executionId"] for one in ends["approvals"]] == [waiting["executionId"]]
    assert [one["id"] for one in ends["connections"]] == [made.json["id"]] and ends["headers"] == ["X-Key"]
    assert ends["lines"][0] == f"calls go to {second.url} instead of {first.url}"
    assert show(daemon)["baseUrl"] == first.url and SECRET not in asked.body.decode() + str(preview)


def test_an_approval_from_before_does_not_hold_and_is_requested_again(
    daemon: Daemon, first: Service, second: Service
) -> None:
    connect(daemon, first)
    waiting = daemon.execute(WRITE)
    apply_edit(daemon, **address_of(second), consent=True)
    apply_edit(
        daemon, **address_of(first), consent=True
    )  # there and back: what people decided before has ended all the same
    [asked] = waiting["interactions"]
    assert daemon.post(f"/v1/interactions/{asked['id']}/approve").status == 200
    wait_for(lambda: [one for one in pending(daemon) if one["id"] != asked["id"]])
    assert first.sent == [] and second.sent == []
    [again] = pending(daemon)
    assert "changed" in again["reason"]
    assert daemon.post(f"/v1/interactions/{again['id']}/approve").status == 200
    wait_for(lambda: first.sent)


def test_a_policy_that_always_allows_a_tool_as_it_was_ends(daemon: Daemon, first: Service, second: Service) -> None:
    connect(daemon, first)
    always = daemon.execute(WRITE)
    [asked] = always["interactions"]
    allowed = daemon.post(f"/v1/interactions/{asked['id']}/approve", {"scope": "always"})
    assert allowed.status == 200, allowed.body
    preview = apply_edit(daemon, **address_of(second), preview=True)
    assert [one["pattern"] for one in preview["invalidates"]["policies"]] == ["notes.n.add"]
    apply_edit(daemon, **address_of(second), consent=True)
    assert daemon.execute(WRITE)["status"] == "paused" and second.sent == []


def test_a_permission_for_the_rest_of_an_execution_ends(daemon: Daemon, first: Service, second: Service) -> None:
    connect(daemon, first)
    leave = threading.Event()

    def slow(got: Any, handler: Any) -> Any:
        if got.target == "/look":
            leave.wait(60)
        return first(got, handler)

    first.upstream.otherwise = slow
    write = WRITE.removeprefix("return ")
    view = daemon.execute(f"{write}; await tools.notes.n.look({{}}); {write}")
    [asked] = view["interactions"]
    daemon.post(f"/v1/interactions/{asked['id']}/approve", {"scope": "execution"})
    wait_for(lambda: first.last.target == "/look")
    assert apply_edit(daemon, **address_of(second), preview=True)["invalidates"]["permits"] == 1
    apply_edit(daemon, **address_of(second), consent=True)
    leave.set()
    wait_for(lambda: [one for one in pending(daemon) if one["id"] != asked["id"]])
    assert first.sent == ["POST /notes"] and second.sent == []


def test_a_pinned_credential_goes_nowhere_else_and_stays_ended(daemon: Daemon, first: Service, second: Service) -> None:
    connect(daemon, first)
    body = {"source": "notes", "placements": [{"in": "header", "name": "X-Token", "template": "{key}"}],
            "values": {"key": SECRET}}  # fmt: skip
    made = daemon.post("/v1/connections", body).json
    daemon.execute("return await tools.notes.n.look({})")
    assert first.last.headers["x-token"] == SECRET
    apply_edit(daemon, **address_of(second), consent=True)
    daemon.execute("return await tools.notes.n.look({})")
    assert not any(SECRET in str(one.headers) for one in second.upstream.requests)
    apply_edit(daemon, **address_of(first), consent=True)
    [now] = [one for one in daemon.get("/v1/connections").json["items"] if one["id"] == made["id"]]
    assert now["status"] == "revoked" and "elsewhere" in now["error"]
    heard = len(first.upstream.requests)
    assert daemon.execute("return await tools.notes.n.look({})")["status"] == "paused"
    assert len(first.upstream.requests) == heard


def test_another_path_on_the_same_host_keeps_its_credentials(daemon: Daemon, first: Service) -> None:
    connect(daemon, first)
    body = {"source": "notes", "placements": [{"in": "header", "name": "X-Token", "template": "{key}"}],
            "values": {"key": SECRET}}  # fmt: skip
    daemon.post("/v1/connections", body)
    told = apply_edit(daemon, baseUrl=f"{first.url}/v2", consent=True)
    assert told["invalidates"]["connections"] == []
    daemon.execute("return await tools.notes.n.look({})")
    assert (first.last.target, first.last.headers["x-token"]) == ("/v2/look", SECRET)
    assert apply_edit(daemon, baseUrl="", consent=True)["baseUrl"] == first.url


def test_values_of_headers_follow_no_source_to_another_host(daemon: Daemon, first: Service, second: Service) -> None:
    """Else anyone who may edit a source could have them sent to themselves."""
    connect(daemon, first, headers={"X-Key": SECRET, "Accept-Language": "de"})
    told = apply_edit(daemon, **address_of(second), consent=True)
    assert told["headers"] == ["Accept-Language"] and told["invalidates"]["headers"] == ["X-Key"]
    daemon.execute("return await tools.notes.n.look({})")
    assert not any(SECRET in str(one.headers) for one in second.upstream.requests)
    given = apply_edit(daemon, **address_of(first), headers={"x-key": f"{SECRET}-2"}, consent=True)
    assert given["headers"] == ["Accept-Language", "x-key"]
    daemon.execute("return await tools.notes.n.look({})")
    assert first.last.headers["x-key"] == f"{SECRET}-2"
    first.server = second.url  # the document sends calls elsewhere, and so the values don't go along
    assert apply_edit(daemon, headers={"Accept-Language": None}, consent=True)["headers"] == []
    daemon.execute("return await tools.notes.n.look({})")
    assert second.last.target == "/look" and "x-key" not in second.last.headers


def test_headers_change_one_by_one_and_are_never_shown(daemon: Daemon, first: Service) -> None:
    connect(daemon, first, headers={"X-Key": SECRET, "X-Team": "a"})
    asked = edit(daemon, headers={"X-Key": f"{SECRET}-2"})
    assert asked.json["code"] == "consent_required" and "calls are sent in another way" in asked.json["invalidates"]
    told = apply_edit(daemon, headers={"x-key": f"{SECRET}-2", "X-Team": None}, consent=True)
    assert told["headers"] == ["x-key"]
    daemon.execute("return await tools.notes.n.look({})")
    assert first.last.headers["x-key"] == f"{SECRET}-2" and "x-team" not in first.last.headers
    shown = [str(told), str(show(daemon)), daemon.get("/v1/events?limit=1000").body.decode()]
    assert not any(SECRET in text for text in shown)
    assert apply_edit(daemon, headers={"x-key": None}, consent=True)["headers"] == []
    assert edit(daemon, headers={"Host": "other"}).json["code"] == "invalid_request"


def test_a_document_address_changes_what_is_read_and_not_where_calls_go(
    daemon: Daemon, first: Service, second: Service
) -> None:
    connect(daemon, first, baseUrl=first.url)
    second.more["/new"] = {"get": {"tags": ["n"], "operationId": "fresh", "responses": DONE}}
    told = apply_edit(daemon, specUrl=f"{second.url}/openapi.json", consent=True)
    assert (told["specUrl"], told["baseUrl"]) == (f"{second.url}/openapi.json", first.url)
    assert told["added"] == ["notes.n.fresh"]
    daemon.execute("return await tools.notes.n.fresh({})")
    assert first.last.target == "/new"


def test_familiar_words_mean_the_same(daemon: Daemon, first: Service, second: Service) -> None:
    connect(daemon, first)
    told = apply_edit(daemon, endpoint=second.url, specUrl=f"{second.url}/openapi.json", consent=True)
    assert (told["location"], told["baseUrl"]) == (f"{second.url}/openapi.json", second.url)
    assert apply_edit(daemon, url=f"{first.url}/openapi.json", baseUrl="", consent=True)["baseUrl"] == first.url
    both = edit(daemon, url="https://a.example", location="https://b.example")
    assert both.json["code"] == "invalid_request"


# -- what can't be read, what is there twice --------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [404, "broken", "gone"])
def test_an_edit_that_can_not_be_read_leaves_the_source_working(
    daemon: Daemon, first: Service, second: Service, answer: Any
) -> None:
    before = connect(daemon, first)
    reply = as_json({}, 404) if answer == 404 else as_json(["no document"])
    second.upstream.otherwise = reply
    place = {"location": "http://127.0.0.1:9/openapi.json"} if answer == "gone" else address_of(second)
    for more in ({"preview": True}, {"consent": True}):
        refused = edit(daemon, **place, name="Other", **more)
        assert refused.status >= 400 and refused.json["code"] in ("source_unreachable", "document_invalid")
    now = show(daemon)
    assert (now["status"], now["name"], now["revision"]) == ("connected", before["name"], before["revision"])
    assert daemon.execute("return await tools.notes.n.look({})")["status"] == "completed"


def test_of_two_edits_of_what_was_seen_the_second_is_refused(daemon: Daemon, first: Service) -> None:
    seen = connect(daemon, first)["revision"]
    apply_edit(daemon, name="One", revision=seen)
    late = edit(daemon, name="Two", revision=seen)
    assert (late.status, late.json["code"]) == (409, "conflict") and late.json["revision"] == show(daemon)["revision"]
    assert show(daemon)["name"] == "One"
    apply_edit(daemon, refreshSeconds=600, revision=show(daemon)["revision"])
    assert edit(daemon, baseUrl=f"{first.url}/v2", consent=True, revision=seen).status == 409


def test_a_refresh_alone_makes_no_other_revision(daemon: Daemon, first: Service) -> None:
    seen = connect(daemon, first)["revision"]
    first.more["/new"] = {"get": {"tags": ["n"], "operationId": "fresh", "responses": DONE}}
    assert daemon.post("/v1/sources/notes/refresh").json["added"] == ["notes.n.fresh"]
    assert apply_edit(daemon, name="Later", revision=seen)["name"] == "Later"


def test_an_edit_waits_for_a_refresh_under_way_and_wins(daemon: Daemon, first: Service, second: Service) -> None:
    connect(daemon, first)
    arrived, leave = threading.Event(), threading.Event()

    def slow(got: Any, handler: Any) -> Any:
        arrived.set()
        leave.wait(60)
        return first(got, handler)

    first.upstream.otherwise = slow
    refreshing = threading.Thread(target=lambda: daemon.post("/v1/sources/notes/refresh"))
    refreshing.start()
    assert arrived.wait(60)
    done: list[Answer] = []
    editing = threading.Thread(target=lambda: done.append(edit(daemon, **address_of(second), consent=True)))
    editing.start()
    leave.set()
    refreshing.join(60)
    editing.join(60)
    assert done[0].status == 200 and show(daemon)["baseUrl"] == second.url


def test_many_edits_at_once_end_in_one_of_them(daemon: Daemon, first: Service, second: Service) -> None:
    seen = connect(daemon, first)["revision"]
    places = [first.url + "/v1", first.url + "/v2", second.url, second.url + "/v1"]
    answers: list[Answer] = []

    def work(place: str) -> None:
        answers.append(edit(daemon, baseUrl=place, consent=True, revision=seen))

    threads = [threading.Thread(target=work, args=(place,)) for place in places]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    won = [one for one in answers if one.status == 200]
    assert len(won) == 1 and {one.status for one in answers} == {200, 409}
    assert show(daemon)["baseUrl"] == won[0].json["baseUrl"]


@pytest.mark.parametrize(
    "changes",
    [
        {"location": ""},
        {"location": "/etc/passwd"},
        {"location": "ftp://x.example/openapi.json"},
        {"specUrl": "file:///etc/passwd"},
        {"command": ["cat", "/etc/passwd"]},
        {"command": []},
        {"transport": "sse"},
        {"transport": "pigeon"},
        {"environment": {"A": "1"}},
        {"directory": "/tmp"},
        {"refreshSeconds": -1},
        {"refreshSeconds": 10**12},
        {"headers": {"Bad\nName": "x"}},
        {"headers": {"X-Key": "a\r\nb"}},
        {"name": ""},
        {"name": "Executor"},
        {"defaults": {"read": "never"}},
        {"unknown": 1},
        {"baseUrl": "nowhere"},
        {"location": "https://x.example", "command": ["x"]},
    ],
    ids=str,
)
def test_bad_input_is_refused_and_changes_nothing(daemon: Daemon, first: Service, changes: dict[str, Any]) -> None:
    before = connect(daemon, first)
    refused = edit(daemon, **changes, consent=True)
    assert 400 <= refused.status < 500 or refused.json["code"] in ("egress_refused", "source_unreachable"), refused.body
    assert (show(daemon)["revision"], show(daemon)["status"]) == (before["revision"], "connected")


def test_a_source_that_does_not_exist_and_an_empty_edit(daemon: Daemon, first: Service) -> None:
    assert edit(daemon, "nowhere", name="x").status == 404
    before = connect(daemon, first)
    assert apply_edit(daemon)["revision"] == before["revision"]
    assert apply_edit(daemon, **address_of(first))["invalidates"] is None  # the same as before: nothing ends


# -- who may --------------------------------------------------------------------------------------------------------


def test_only_administrators_edit_and_only_the_operator_says_what_runs_here(daemon: Daemon, tmp_path: Path) -> None:
    command = [sys.executable, str(REAL), "stdio"]
    added = daemon.post("/v1/sources", {"command": command, "namespace": "run", "consent": True})
    assert added.status == 201, added.body
    admin, member = identities.invite(daemon, "admin"), identities.invite(daemon, "member")
    for changes in (
        {"command": [*command, "more"]},
        {"environment": {"A": "1"}},
        {"passEnvironment": ["HOME"]},
        {"directory": str(tmp_path)},
    ):
        refused = admin.patch("/v1/sources/run", {**changes, "consent": True})
        assert (refused.status, refused.json["needs"]) == (403, "operate"), refused.body
        assert edit(daemon, "run", **changes).json["code"] == "consent_required"
    assert admin.patch("/v1/sources/run", {"name": "Ours", "refreshSeconds": 0}).status == 200
    for caller in (member, identities.agent(daemon, "a"), identities.create_key(daemon, "read")):
        assert caller.patch("/v1/sources/run", {"name": "Theirs"}).status == 403
    assert show(daemon, "run")["name"] == "Ours"


def test_the_command_its_environment_and_directory_change(daemon: Daemon, tmp_path: Path) -> None:
    command = [sys.executable, str(REAL), "stdio"]
    body = {"command": command, "namespace": "run", "consent": True, "options": {"env": {"A": "1", "B": SECRET}}}
    assert daemon.post("/v1/sources", body).status == 201
    daemon.post("/v1/policies", {"pattern": "run.**", "action": "allow"})
    told = apply_edit(
        daemon,
        "run",
        environment={"A": None, "C": "3"},
        passEnvironment=["LANG"],
        directory=str(tmp_path),
        consent=True,
    )
    assert told["environment"] == ["B", "C", "LANG"] and told["directory"] == str(tmp_path)
    member = identities.invite(daemon, "viewer").get("/v1/sources/run").json
    assert member["environment"] == [] and member["directory"] is None and SECRET not in str(told)
    assert daemon.execute("return await tools.run.greet({name: 'a'})")["status"] == "completed"
    refused = edit(daemon, "run", command=["executor-no-such-program"], consent=True)
    assert refused.status >= 400 and show(daemon, "run")["command"] == command
    assert daemon.execute("return await tools.run.greet({name: 'b'})")["status"] == "completed"


def test_a_server_moves_from_a_command_to_an_address_and_to_another_transport(daemon: Daemon) -> None:
    body = {"command": [sys.executable, str(REAL), "stdio"], "namespace": "run", "consent": True}
    assert daemon.post("/v1/sources", body).status == 201
    with serving_mcp("http") as streaming, serving_mcp("sse") as events:
        told = apply_edit(daemon, "run", location=f"{streaming}/mcp", consent=True)
        assert (told["transport"], told["command"]) == ("http", None)
        wrong = edit(daemon, "run", transport="sse", consent=True)
        assert wrong.status >= 400 and show(daemon, "run")["transport"] == "http"
        told = apply_edit(daemon, "run", location=f"{events}/sse", transport="sse", consent=True)
        assert told["transport"] == "sse"
        daemon.post("/v1/policies", {"pattern": "run.**", "action": "allow"})
        assert daemon.execute("return await tools.run.greet({name: 'a'})")["result"] == "hello a"


def test_a_server_that_wants_a_login_first_keeps_its_tools_until_it_has_one(daemon: Daemon, first: Service) -> None:
    first.upstream.otherwise = as_json({}, 401, **{"WWW-Authenticate": "Bearer"})
    with serving_mcp("http") as streaming:
        body = {"location": f"{streaming}/mcp", "kind": "mcp", "namespace": "run"}
        before = daemon.post("/v1/sources", body).json
        told = apply_edit(daemon, "run", location=f"{first.url}/mcp", consent=True)
        assert (told["status"], told["toolCount"]) == ("failing", before["toolCount"]) and told["error"]
        assert told["location"] == f"{first.url}/mcp"
        told = apply_edit(daemon, "run", location=f"{streaming}/mcp", consent=True)
        assert told["status"] == "connected" and told["error"] is None


# -- the rest -------------------------------------------------------------------------------------------------------


def test_defaults_and_the_refresh_interval_change_without_reading(daemon: Daemon, first: Service) -> None:
    connect(daemon, first, defaults={"write": "allow"})
    heard = len(first.upstream.requests)
    told = apply_edit(daemon, defaults={"read": "deny"}, refreshSeconds=3600)
    assert told["refreshSeconds"] == 3600 and len(first.upstream.requests) == heard
    assert daemon.get("/v1/sources/notes/defaults").json["inForce"] == {
        "read": "deny", "write": "allow", "destructive": "require_approval",
    }  # fmt: skip
    assert apply_edit(daemon, defaults={"write": None}, refreshSeconds=None)["refreshSeconds"] is None
    assert daemon.get("/v1/sources/notes/defaults").json["write"] is None
    assert apply_edit(daemon, defaults={"read": "allow"}, preview=True)
    assert daemon.get("/v1/sources/notes/defaults").json["read"] == "deny"


def test_each_source_is_refreshed_in_its_own_interval(daemon: Daemon, first: Service, second: Service) -> None:
    now = connect(daemon, first)["refreshedAt"]
    connect(daemon, second, namespace="never")
    apply_edit(daemon, refreshSeconds=600)
    apply_edit(daemon, "never", refreshSeconds=0)
    at = round(datetime.fromisoformat(now).timestamp() * 1000)
    lifecycle = daemon.executor.catalog.lifecycle

    def due(minutes: int) -> Any:
        return daemon.run(lifecycle.refresh_due(86_400, at + minutes * 60_000))

    assert due(5) == [] and due(11) == [show(daemon)["id"]]
    apply_edit(daemon, refreshSeconds=None)
    assert due(60) == [] and due(60 * 24 * 3) == [show(daemon)["id"]]


def test_a_document_takes_the_place_of_the_one_that_was_uploaded(daemon: Daemon, first: Service) -> None:
    body = {"document": json.dumps(first.document()), "namespace": "notes", "kind": "openapi"}
    assert daemon.post("/v1/sources", body).status == 201
    first.more["/new"] = {"get": {"tags": ["n"], "operationId": "fresh", "responses": DONE}}
    told = apply_edit(daemon, document=json.dumps(first.document()), consent=True)
    assert told["added"] == ["notes.n.fresh"] and told["location"] is None
    told = apply_edit(daemon, baseUrl=f"{first.url}/v9", consent=True)  # read again from what is stored
    assert told["baseUrl"] == f"{first.url}/v9" and told["toolCount"] == 3


def test_a_declared_source_is_changed_where_it_is_declared(daemon: Daemon, first: Service, second: Service) -> None:
    entry = {"type": "openapi", "name": "notes", "spec": f"{first.url}/openapi.json"}
    text = json.dumps({"sources": [entry]})
    applied = daemon.post("/v1/configuration/apply", {"text": text, "name": "x.json"})
    assert applied.json["changes"][0]["error"] is None
    refused = edit(daemon, **address_of(second), consent=True)
    assert (refused.status, refused.json["code"], refused.json["declared"]) == (409, "conflict", "file")
    assert "executor config apply" in refused.json["hint"] and show(daemon)["baseUrl"] == first.url
    assert apply_edit(daemon, name="Ours", refreshSeconds=600)["name"] == "Ours"


def test_the_sample_that_the_daemon_runs_keeps_its_address(daemon: Daemon) -> None:
    assert daemon.post("/v1/sources/demo").status in (200, 201)
    refused = edit(daemon, "demo", location="https://x.example/openapi.json", consent=True)
    assert refused.json["code"] == "conflict" and "daemon itself runs" in refused.json["detail"]


def test_names_that_people_gave_to_tools_stay(daemon: Daemon, first: Service, second: Service) -> None:
    connect(daemon, first)
    assert daemon.request("PATCH", "/v1/tools/notes.n.look", {"path": "notes.n.peek"}).status == 200
    assert daemon.request("PATCH", "/v1/tools/notes.n.add", {"description": "Ours"}).status == 200
    told = apply_edit(daemon, **address_of(second), consent=True)
    assert told["added"] == told["removed"] == []
    assert daemon.execute("return await tools.notes.n.peek({})")["status"] == "completed"
    assert daemon.get("/v1/tools/notes.n.add").json["description"] == "Ours"
    assert daemon.request("PATCH", "/v1/tools/notes.n.add", {"description": ""}).json["reworded"] == ["notes.n.add"]


def test_progress_is_streamed(daemon: Daemon, first: Service) -> None:
    connect(daemon, first)
    stream = {"Accept": "text/event-stream"}
    answer = daemon.request(
        "PATCH", "/v1/sources/notes", {"baseUrl": f"{first.url}/v2", "consent": True}, headers=stream
    )
    assert b"event: progress" in answer.body and b"event: done" in answer.body
