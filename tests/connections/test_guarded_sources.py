"""Sources that show nothing without a credential are connected all the same, by `/v1` and from code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.connections.oauth.test_login import with_cookie
from tests.sources.upstream import Reply, serving
from tests.support.conditions import wait_for
from tests.support.guarded_service import TOKEN, GuardedService
from tests.support.login_harness import visit
from tests.support.loopback import Authority, listening
from tests.surfaces.api.daemon_server import Daemon, running_daemon

BEARER = {"placements": [{"in": "header", "name": "Authorization", "template": "Bearer {token}"}]}
GIVEN = {**BEARER, "values": {"token": TOKEN}}
# Where each kind is, and a program that uses what it offers.
KINDS = {
    "openapi": ("/openapi.json", "(await tools.{}.me.getMe({{}})).name"),
    "graphql": ("/graphql", "(await tools.{}.query.me({{}}))"),
    "mcp": ("/mcp", "(await tools.{}.me({{}}))"),
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture
def service(daemon: Daemon) -> Iterator[GuardedService]:
    with listening(GuardedService) as service:
        yield service
    forget_sources(daemon)


@dataclass
class Login:
    service: GuardedService
    authority: Authority


@pytest.fixture
def login(daemon: Daemon) -> Iterator[Login]:
    """A service that takes the tokens of a strict authorization server."""
    with listening(Authority) as authority, listening(lambda origin: GuardedService(origin, authority)) as service:
        yield Login(service, authority)
    forget_sources(daemon)


def forget_sources(daemon: Daemon) -> None:
    for one in daemon.get("/v1/sources").json["items"]:
        daemon.request("DELETE", f"/v1/sources/{one['id']}")


def add(daemon: Daemon, location: str, **body: Any) -> Any:
    added = daemon.post("/v1/sources", {"location": location, "namespace": "box", **body})
    assert added.status == 201, added.body
    return added.json


def is_alive(daemon: Daemon) -> bool:
    found = daemon.get("/v1/sources/box").json
    return found["status"] == "connected" and not found["unread"] and found["toolCount"] > 0


def call_tool(daemon: Daemon, kind: str) -> Any:
    view = daemon.execute(f"return {KINDS[kind][1].format('box')}")
    for one in view.get("interactions") or ():  # tools of MCP servers count as writes
        assert one["kind"] == "approval", one
        daemon.post(f"/v1/interactions/{one['id']}/approve")
    view = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert view["status"] == "completed", view
    return view["result"]


def log_in(daemon: Daemon, authority: Authority, **wish: Any) -> None:
    """As a person in one browser."""
    body = {"source": "box", "allowServer": authority.origin, **wish}
    started = daemon.post("/v1/connections/oauth/start", body)
    assert started.status == 200, started.body
    gone = daemon.get(f"{urlsplit(started.json['authorizationUrl']).path}/go", role=None)
    back = visit(gone.headers["location"]).headers["Location"]
    page = daemon.get(back.removeprefix(daemon.url), role=None, headers=with_cookie(gone))
    assert page.status == 200, page.body


# -- /v1 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_connected_while_its_credential_is_missing_and_comes_alive_after_it(
    daemon: Daemon, service: GuardedService, kind: str
) -> None:
    added = add(daemon, f"{service.origin}{KINDS[kind][0]}")
    assert (added["kind"], added["status"], added["unread"], added["toolCount"]) == (kind, "failing", True, 0)
    ways = daemon.get("/v1/sources/box/ways").json
    assert (ways["items"][0]["scheme"], ways["sentTo"]) == ("bearer", service.origin)
    made = daemon.post("/v1/connections", {"source": "box", "way": ways["items"][0]["name"], "values": GIVEN["values"]})
    assert made.status == 201, made.body
    wait_for(lambda: is_alive(daemon))
    assert call_tool(daemon, kind) == "Ann"


def test_a_late_refusal_of_the_value_before_says_nothing_about_the_new_one(
    daemon: Daemon, service: GuardedService
) -> None:
    add(daemon, f"{service.origin}/graphql")
    service.refuses.clear()
    body = {"source": "box", "way": daemon.get("/v1/sources/box/ways").json["items"][0]["name"]}
    assert daemon.post("/v1/connections", {**body, "values": {"token": "mistyped"}}).status == 201
    wait_for(lambda: any("mistyped" in authorization for _, _, authorization in service.seen))
    assert daemon.post("/v1/connections", {**body, "values": GIVEN["values"], "replace": True}).status == 201
    service.refuses.set()
    wait_for(lambda: is_alive(daemon))
    assert [one["status"] for one in daemon.get("/v1/connections").json["items"]] == ["ready"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_alive_after_a_login(daemon: Daemon, login: Login, kind: str) -> None:
    added = add(daemon, f"{login.service.origin}{KINDS[kind][0]}")
    assert (added["unread"], added["auth"][0]["type"]) == (True, "oauth2")
    log_in(daemon, login.authority)
    wait_for(lambda: is_alive(daemon))
    assert call_tool(daemon, kind) == "Ann"


@pytest.mark.parametrize("kind", KINDS)
def test_a_credential_given_with_the_source_reads_it_and_is_kept(
    daemon: Daemon, service: GuardedService, kind: str
) -> None:
    location = f"{service.origin}{KINDS[kind][0]}"
    found = daemon.post("/v1/sources/probe", {"location": location}).json
    assert (found["kind"], found["guarded"], found["sentTo"]) == (kind, True, service.origin)
    [way] = found["ways"]
    credential = {"placements": way["placements"], "values": {way["inputs"][0]["name"]: TOKEN}}
    opened = daemon.post("/v1/sources/probe", {"location": location, "credential": credential}).json
    assert (opened["kind"], opened["guarded"]) == (kind, False)
    preview = daemon.post("/v1/sources/preview", {"location": location, "credential": credential}).json
    assert preview["toolCount"] > 0
    assert add(daemon, location, credential=credential)["toolCount"] == preview["toolCount"]
    [connection] = daemon.get("/v1/connections").json["items"]
    assert (connection["source"], connection["origin"]) == ("box", service.origin)
    assert call_tool(daemon, kind) == "Ann"
    refreshed = daemon.post("/v1/sources/box/refresh")
    assert refreshed.status == 200, refreshed.body
    assert TOKEN not in json.dumps([found, opened, preview, connection, refreshed.json])


@pytest.mark.parametrize("status", [401, 403])
def test_an_address_that_says_nothing_of_its_kind_is_recognised_with_the_credential(
    daemon: Daemon, service: GuardedService, status: int
) -> None:
    service.silent, service.status = True, status
    found = daemon.post("/v1/sources/probe", {"location": f"{service.origin}/api"}).json
    assert (found["kind"], found["guarded"], found["ways"][0]["scheme"]) == ("", True, "bearer")
    assert add(daemon, f"{service.origin}/api")["unread"]
    daemon.post("/v1/connections", {"source": "box", **GIVEN})
    wait_for(lambda: is_alive(daemon))
    assert daemon.get("/v1/sources/box").json["kind"] == "openapi"
    assert call_tool(daemon, "openapi") == "Ann"


def test_a_refused_credential_adds_nothing(daemon: Daemon, service: GuardedService) -> None:
    body = {"location": f"{service.origin}/graphql", "credential": {**BEARER, "values": {"token": "canary-wrong"}}}
    refused = daemon.post("/v1/sources", body)
    assert (refused.status, refused.json["code"], refused.json["reason"]) == (502, "source_unreachable", "auth")
    assert "canary-wrong" not in refused.body.decode()
    assert daemon.get("/v1/sources").json["items"] == []
    assert daemon.get("/v1/connections").json["items"] == []


def test_a_credential_for_a_document_goes_only_to_the_origin_of_the_document(
    daemon: Daemon, service: GuardedService
) -> None:
    with listening(GuardedService) as elsewhere:
        service.api = f"{elsewhere.origin}/api"
        service.schemes = {"token": {"type": "http", "scheme": "bearer"}}
        body = {"baseUrl": service.api, "credential": GIVEN}
        assert add(daemon, f"{service.origin}/openapi.json", **body)["toolCount"] == 1
        assert daemon.get("/v1/connections").json["items"][0]["origin"] == service.origin
        view = daemon.execute("return await tools.box.me.getMe({})")
        [asked] = view["interactions"]
        assert (asked["kind"], asked["credential"]["sentTo"]) == ("credential", elsewhere.origin)
        assert elsewhere.seen == []
        assert daemon.post("/v1/sources/box/refresh").status == 200
        given = {"values": {"token": TOKEN}, "way": "token"}
        daemon.post(f"/v1/interactions/{asked['id']}/credential", given)
        ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
        assert ended["result"] == {"name": "Ann"}
        assert daemon.post("/v1/sources/box/refresh").status == 200


@pytest.mark.parametrize("scheme", ["bearer", "basic"])
def test_what_opened_a_document_serves_its_calls_if_they_take_the_same(
    daemon: Daemon, service: GuardedService, scheme: str
) -> None:
    service.schemes = {"own": {"type": "http", "scheme": scheme}}
    add(daemon, f"{service.origin}/openapi.json")
    daemon.post("/v1/connections", {"source": "box", "way": "bearer", "values": GIVEN["values"]})
    wait_for(lambda: is_alive(daemon))
    if scheme == "bearer":
        assert call_tool(daemon, "openapi") == "Ann"
        return
    [asked] = daemon.execute("return await tools.box.me.getMe({})")["interactions"]
    assert [one["scheme"] for one in asked["credential"]["ways"]] == ["basic"]


def test_a_guard_behind_a_redirect_gets_no_credential(daemon: Daemon, service: GuardedService) -> None:
    with serving() as front:
        front.otherwise = Reply(302, headers={"Location": f"{service.origin}/openapi.json"})
        location = {"location": f"{front.url}/openapi.json", "kind": "openapi", "baseUrl": service.origin}
        for more in ({}, {"credential": GIVEN}):
            refused = daemon.post("/v1/sources", {**location, **more})
            assert refused.status == 502, refused.body
            assert "redirects" in refused.json["hint"]
    assert set(service.sent_to("/openapi.json")) == {""}


# -- code -------------------------------------------------------------------------------------------------------------


def begin_adding(daemon: Daemon, address: str) -> Any:
    """An execution whose addition a person has approved, and which waits for a credential."""
    code = f'return await tools.executor.sources.add({{endpoint: "{address}", namespace: "box"}})'
    view = daemon.execute(code)
    [approval] = view["interactions"]
    assert approval["kind"] == "approval"
    daemon.post(f"/v1/interactions/{approval['id']}/approve")
    return wait_paused(daemon, view["executionId"], approval["id"])


def wait_paused(daemon: Daemon, execution_id: str, after: str) -> Any:
    def find_asked() -> Any:
        view = daemon.get(f"/v1/executions/{execution_id}?wait=10").json
        assert view["status"] in ("running", "paused", "queued"), view
        return view if [one["id"] for one in view.get("interactions") or ()] not in ([], [after]) else None

    return wait_for(find_asked)


@pytest.mark.parametrize("kind", KINDS)
def test_an_addition_from_code_pauses_for_the_credential_and_continues_with_it(
    daemon: Daemon, service: GuardedService, kind: str
) -> None:
    view = begin_adding(daemon, f"{service.origin}{KINDS[kind][0]}")
    [asked] = view["interactions"]
    assert (asked["kind"], asked["tool"]) == ("credential", "executor.sources.add")
    assert (asked["credential"]["source"], asked["credential"]["sentTo"]) == ("box", service.origin)
    refused = daemon.post(f"/v1/interactions/{asked['id']}/credential", {"values": GIVEN["values"]}, role="agent")
    assert refused.status == 403
    given = daemon.post(f"/v1/interactions/{asked['id']}/credential", {"values": GIVEN["values"]})
    assert given.status == 200, given.body
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert ended["status"] == "completed", ended
    assert (ended["result"]["kind"], ended["result"]["status"]) == (kind, "connected")
    assert ended["result"]["toolCount"] > 0
    assert call_tool(daemon, kind) == "Ann"
    assert TOKEN not in json.dumps(
        [view, ended, daemon.get(f"/v1/executions/{view['executionId']}/events").body.decode()]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_addition_from_code_pauses_for_a_login_and_continues_after_it(
    daemon: Daemon, login: Login, kind: str
) -> None:
    view = begin_adding(daemon, f"{login.service.origin}{KINDS[kind][0]}")
    [asked] = view["interactions"]
    assert asked["kind"] == "oauth"
    log_in(daemon, login.authority, interactionId=asked["id"])
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert ended["status"] == "completed", ended
    assert (ended["result"]["kind"], ended["result"]["status"]) == (kind, "connected")
    assert call_tool(daemon, kind) == "Ann"


def test_a_mistyped_credential_is_asked_for_again(daemon: Daemon, service: GuardedService) -> None:
    view = begin_adding(daemon, f"{service.origin}/graphql")
    [first] = view["interactions"]
    daemon.post(f"/v1/interactions/{first['id']}/credential", {"values": {"token": "mistyped"}})
    [second] = wait_paused(daemon, view["executionId"], first["id"])["interactions"]
    assert second["kind"] == "credential"
    daemon.post(f"/v1/interactions/{second['id']}/credential", {"values": GIVEN["values"]})
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (ended["status"], ended["result"]["status"]) == ("completed", "connected")


def test_without_the_credential_code_gets_an_error_and_the_source_waits_for_a_person(
    daemon: Daemon, service: GuardedService
) -> None:
    address = f"{service.origin}/openapi.json"
    view = begin_adding(daemon, address)
    [asked] = view["interactions"]
    daemon.post(f"/v1/interactions/{asked['id']}/deny", {"reason": "later"})
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (ended["status"], ended["error"]["code"]) == ("failed", "credential_required")
    assert "--" not in ended["error"]["hint"]
    assert daemon.get("/v1/sources/box").json["unread"]
    again = begin_adding(daemon, address)
    [asked] = again["interactions"]
    daemon.post("/v1/connections", {"source": "box", **GIVEN})
    ended = daemon.get(f"/v1/executions/{again['executionId']}?wait=60").json
    assert (ended["status"], ended["result"]["toolCount"]) == ("completed", 1)


def test_another_address_does_not_continue_what_waits(daemon: Daemon, service: GuardedService) -> None:
    begin_adding(daemon, f"{service.origin}/openapi.json")
    code = f'return await tools.executor.sources.add({{endpoint: "{service.origin}/graphql", namespace: "box"}})'
    view = daemon.execute(code)
    [approval] = view["interactions"]
    daemon.post(f"/v1/interactions/{approval['id']}/approve")
    ended = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (ended["status"], ended["error"]["code"]) == ("failed", "namespace_taken")
