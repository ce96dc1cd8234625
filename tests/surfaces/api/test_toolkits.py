"""/v1/toolkits: what can be created, what is refused and why, and who may do it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.openapi.documents import answers, document
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon


@pytest.fixture
def kit(daemon: Daemon, shop: list[Any]) -> Iterator[Any]:
    made = daemon.post("/v1/toolkits", {"slug": "kit", "patterns": ["shop.**"], "passThrough": ["shop.*.listThings"]})
    assert made.status == 201, made.body
    yield made.json
    daemon.request("DELETE", f"/v1/toolkits/{made.json['id']}")


def test_a_toolkit_is_shown_with_its_address_and_what_it_reaches(daemon: Daemon, kit: Any) -> None:
    assert (kit["tools"], kit["exposed"], kit["unmatched"], kit["name"]) == (2, 1, [], "kit")
    assert kit["endpoint"] == f"{daemon.executor.settings.address}/mcp/toolkits/kit"
    assert daemon.get("/v1/toolkits/kit").json == daemon.get(f"/v1/toolkits/{kit['id']}").json == kit
    assert daemon.get("/v1/toolkits").json["items"] == [kit]
    listed = daemon.get("/v1/toolkits/kit/tools?limit=1").json
    assert listed["items"][0]["path"] == listed["next"] == "shop.things.createThing"
    rest = daemon.get(f"/v1/toolkits/kit/tools?after={listed['next']}").json
    assert rest == {
        "items": [{"path": "shop.things.listThings", "effect": "read", "name": "shop_things_listThings"}],
        "next": None,
    }


def test_only_what_is_passed_changes(daemon: Daemon, kit: Any) -> None:
    policies = [{"pattern": "shop.things.createThing", "action": "deny"}]
    changed = daemon.request("PATCH", "/v1/toolkits/kit", {"slug": "other", "policies": policies}).json
    assert (changed["slug"], changed["patterns"], changed["tools"]) == ("other", kit["patterns"], 1)
    assert [one["text"] for one in changed["policies"]] == ["shop.things.createThing → deny"]
    assert daemon.get("/v1/toolkits/kit").status == 404
    cleared = daemon.request("PATCH", "/v1/toolkits/other", {"policies": [], "passThrough": [], "description": "x"})
    assert (cleared.json["tools"], cleared.json["exposed"], cleared.json["description"]) == (2, 0, "x")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"patterns": []}, "at least one pattern"),
        ({"patterns": ["shop..x"]}, "segment"),
        ({"patterns": ["shop.th*ngs"]}, "segment"),
        ({"passThrough": ["shop.[a]"]}, "segment"),
        ({"policies": [{"pattern": "a b", "action": "deny"}]}, "segment"),
        ({"policies": [{"pattern": "a", "action": "allow"}]}, "require_approval"),
        ({"patterns": ["a"] * 101}, "100"),
        ({"policies": [{"pattern": "a", "action": "deny"}] * 51}, "50"),
        ({"slug": "Kit"}, "slug"),
        ({"slug": "a/b"}, "slug"),
        ({"slug": ".."}, "slug"),
        ({"slug": "-"}, "slug"),
        ({"slug": "x" * 51}, "slug"),
        ({"name": "a\nb"}, "visible"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_bad_input_is_refused_with_what_is_wrong(daemon: Daemon, kit: Any, body: Any, word: str) -> None:
    for answer in (
        daemon.post("/v1/toolkits", {"slug": "new", "patterns": ["shop.**"], **body}),
        daemon.request("PATCH", "/v1/toolkits/kit", body),
    ):
        assert answer.status == 400 and word in answer.body.decode(), answer.body
    assert daemon.get("/v1/toolkits").json["items"] == [kit]


def test_a_slug_is_taken_once(daemon: Daemon, kit: Any) -> None:
    again = daemon.post("/v1/toolkits", {"slug": "kit", "patterns": ["**"]})
    assert (again.status, again.json["code"]) == (409, "conflict") and "kit" in again.json["detail"]
    other = daemon.post("/v1/toolkits", {"slug": "other", "patterns": ["**"]}).json
    assert daemon.request("PATCH", "/v1/toolkits/other", {"slug": "kit"}).status == 409
    assert daemon.post("/v1/toolkits", {"slug": other["id"].replace("_", "-"), "patterns": ["**"]}).status == 201
    for slug in ("other", other["id"].replace("_", "-")):
        assert daemon.request("DELETE", f"/v1/toolkits/{slug}").status == 204


def test_patterns_that_match_nothing_are_named_also_those_of_policies(daemon: Daemon, shop: list[Any]) -> None:
    body = {"slug": "odd", "patterns": ["shop.things.*", "nothing.**"], "passThrough": ["shop.thing.*"],
            "policies": [{"pattern": "shop.things.deleteThing", "action": "deny"}]}  # fmt: skip
    made = daemon.post("/v1/toolkits", body).json
    assert made["unmatched"] == ["nothing.**", "shop.things.deleteThing", "shop.thing.*"] and made["tools"] == 2
    daemon.request("DELETE", "/v1/toolkits/odd")


def test_too_many_tools_are_not_passed_through(daemon: Daemon) -> None:
    paths = {f"/t/{n}": {"get": {"operationId": f"t{n}", "tags": ["t"], "responses": answers({})}} for n in range(101)}
    given = json.dumps(document(paths, servers=[{"url": "http://127.0.0.1:9"}]))
    added = daemon.post("/v1/sources", {"document": given, "namespace": "many", "kind": "openapi"})
    assert added.status == 201, added.body
    body = {"slug": "many", "patterns": ["many.**"]}
    refused = daemon.post("/v1/toolkits", {**body, "passThrough": ["many.**"]})
    assert refused.status == 400 and "matches 101 tools" in refused.json["detail"]
    assert daemon.post("/v1/toolkits", {**body, "passThrough": ["many.t.t7"]}).json["tools"] == 101
    assert daemon.request("PATCH", "/v1/toolkits/many", {"passThrough": ["**"]}).status == 400
    assert daemon.get("/v1/toolkits/many").json["passThrough"] == ["many.t.t7"]
    daemon.request("DELETE", "/v1/toolkits/many")
    daemon.request("DELETE", "/v1/sources/many")


def test_more_tools_that_come_later_are_left_to_execute(daemon: Daemon) -> None:
    for number in (0, 1):
        paths = {
            f"/t/{n}": {"get": {"operationId": f"t{n:03}", "tags": ["t"], "responses": answers({})}} for n in range(90)
        }
        given = json.dumps(document(paths, servers=[{"url": "http://127.0.0.1:9"}]))
        daemon.post("/v1/sources", {"document": given, "namespace": f"grow{number}", "kind": "openapi"})
        if number == 0:
            body = {"slug": "grow", "patterns": ["*.t.*"], "passThrough": ["*.t.*"]}
            assert daemon.post("/v1/toolkits", body).json["exposed"] == 90
    grown = daemon.get("/v1/toolkits/grow").json
    assert (grown["exposed"], grown["matching"], grown["tools"]) == (100, 180, 180)
    for path in ("toolkits/grow", "sources/grow0", "sources/grow1"):
        daemon.request("DELETE", f"/v1/{path}")


def test_keys_are_shown_once_and_revoked(daemon: Daemon, kit: Any) -> None:
    made = daemon.post("/v1/toolkits/kit/keys", {"name": "kit-bot", "expiresInDays": 3}).json
    assert daemon.get("/v1/tools", role=made["token"]).status == 200
    [listed] = daemon.get("/v1/toolkits/kit/keys").json["items"]
    assert "token" not in listed and listed["id"] == made["id"] and listed["expiresAt"]
    agent = next(one for one in daemon.get("/v1/agents").json["items"] if one["name"] == "kit-bot")
    assert agent["toolkitId"] == kit["id"]
    assert daemon.post("/v1/toolkits/kit/keys", {"name": "kit-bot"}).status == 409
    assert daemon.request("DELETE", f"/v1/toolkits/kit/keys/{made['id']}").status == 204
    assert daemon.request("DELETE", f"/v1/toolkits/kit/keys/{made['id']}").status == 409
    assert daemon.get("/v1/tools", role=made["token"]).status == 401
    assert daemon.request("DELETE", "/v1/toolkits/kit/keys/key_nothing").status == 404


def test_members_look_and_only_administrators_change(daemon: Daemon, kit: Any) -> None:
    viewer = identities.invite(daemon, "viewer")
    assert viewer.get("/v1/toolkits").json["items"] == [kit]
    assert viewer.post("/v1/toolkits", {"slug": "x", "patterns": ["**"]}).status == 403
    assert viewer.patch("/v1/toolkits/kit", {"patterns": ["**"]}).status == 403
    assert viewer.post("/v1/toolkits/kit/keys", {"name": "mine"}).status == 403
    assert viewer.delete("/v1/toolkits/kit").status == 403
    assert daemon.get("/v1/toolkits", role="agent").status == 403


def test_the_audit_log_has_every_change(daemon: Daemon, kit: Any) -> None:
    daemon.request("PATCH", "/v1/toolkits/kit", {"name": "Kit"})
    found = daemon.get("/v1/audit?type=toolkit.*&limit=5").json["items"]
    assert [one["type"] for one in found[:2]] == ["toolkit.changed", "toolkit.added"]
    assert found[0]["data"]["slug"] == "kit" and found[0]["data"]["patterns"] == ["shop.**"]
