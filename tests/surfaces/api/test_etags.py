"""An edit that names the version it was written for never undoes what someone else changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.surfaces.api.daemon_server import Answer, Daemon

Edit = tuple[str, dict[str, Any], dict[str, Any]]


def patch(daemon: Daemon, path: str, body: Any, tag: str) -> Answer:
    return daemon.request("PATCH", path, body, headers={"If-Match": tag})


@pytest.fixture
def policy(daemon: Daemon) -> Iterator[str]:
    """Its address."""
    made = daemon.post("/v1/policies", {"pattern": "a.**", "action": "deny"}).json
    yield f"/v1/policies/{made['id']}"
    daemon.request("DELETE", f"/v1/policies/{made['id']}")


@pytest.fixture(params=["policy", "webhook", "source", "toolkit"])
def edit(request: pytest.FixtureRequest, daemon: Daemon, policy: str) -> Iterator[Edit]:
    """An address, and two edits."""
    if request.param == "policy":
        yield policy, {"note": "one"}, {"note": "two"}
    elif request.param == "source":
        yield "/v1/sources/shop", {"name": "one"}, {"name": "two"}
    elif request.param == "toolkit":
        daemon.post("/v1/toolkits", {"slug": "tagged", "patterns": ["shop.**"]})
        yield "/v1/toolkits/tagged", {"patterns": ["shop.things.*"]}, {"name": "two"}
        daemon.request("DELETE", "/v1/toolkits/tagged")
    else:
        made = daemon.post("/v1/webhooks", {"name": "w", "url": "https://hooks.example.com/x"}).json
        yield f"/v1/webhooks/{made['id']}", {"name": "one"}, {"name": "two"}
        daemon.request("DELETE", f"/v1/webhooks/{made['id']}")


def test_an_edit_of_an_old_version_changes_nothing(daemon: Daemon, shop: Any, edit: Edit) -> None:
    path, first, second = edit
    seen = daemon.get(path).headers["etag"]
    assert seen == daemon.get(path).headers["etag"]
    assert patch(daemon, path, first, seen).status == 200
    late = patch(daemon, path, second, seen)
    assert (late.status, late.json["code"]) == (412, "precondition_failed")
    assert f'"{late.json["revision"]}"' == daemon.get(path).headers["etag"] != seen
    assert first.items() <= daemon.get(path).json.items()


def test_an_edit_without_a_version_or_of_any_is_made(daemon: Daemon, shop: Any, edit: Edit) -> None:
    path, first, second = edit
    assert daemon.request("PATCH", path, first).status == 200
    assert patch(daemon, path, second, "*").status == 200
    assert second.items() <= daemon.get(path).json.items()


@pytest.mark.parametrize("tag", ["abc", 'W/"1"', '"a", "b"', '"'])
def test_what_is_no_version_is_refused(daemon: Daemon, shop: Any, edit: Edit, tag: str) -> None:
    path, first, _ = edit
    assert patch(daemon, path, first, tag).status == 400


def test_of_edits_at_once_one_is_made(daemon: Daemon, policy: str) -> None:
    seen = daemon.get(policy).headers["etag"]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: patch(daemon, policy, {"note": str(n)}, seen), range(8)))
    assert sorted(one.status for one in answers) == [200, *[412] * 7]
    [won] = [one for one in answers if one.status == 200]
    assert daemon.get(policy).json["note"] == won.json["note"]
    assert daemon.get(policy).headers["etag"] == won.headers["etag"]


def test_a_policy_that_someone_changed_is_not_removed(daemon: Daemon, policy: str) -> None:
    seen = daemon.get(policy).headers["etag"]
    daemon.request("PATCH", policy, {"action": "require_approval"})
    assert daemon.request("DELETE", policy, headers={"If-Match": seen}).status == 412
    assert daemon.request("DELETE", policy, headers={"If-Match": daemon.get(policy).headers["etag"]}).status == 204


def test_approval_defaults_that_someone_changed_are_not_replaced(daemon: Daemon, shop: Any) -> None:
    path = "/v1/sources/shop/defaults"
    seen = {"If-Match": daemon.get(path).headers["etag"]}
    first = daemon.request("PUT", path, {"write": "deny"}, headers=seen)
    assert first.status == 200
    assert daemon.request("PUT", path, {"write": "allow"}, headers=seen).status == 412
    assert daemon.get(path).json["write"] == "deny"
    assert daemon.request("PUT", path, {}, headers={"If-Match": first.headers["etag"]}).status == 200


def test_a_toolkit_that_someone_changed_is_not_changed_by_its_old_revision(daemon: Daemon, shop: Any) -> None:
    made = daemon.post("/v1/toolkits", {"slug": "revised", "patterns": ["shop.**"]}).json
    path, deny = "/v1/toolkits/revised", [{"pattern": "shop.**", "action": "deny"}]
    assert daemon.request("PATCH", path, {"policies": deny, "revision": made["revision"]}).status == 200
    late = daemon.request("PATCH", path, {"policies": [], "revision": made["revision"]})
    assert late.status == 409 and late.json["revision"] == daemon.get(path).json["revision"]
    assert daemon.get(path).json["policies"]
    daemon.request("DELETE", path)
