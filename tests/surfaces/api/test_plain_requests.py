"""Requests of the plain kind are answered without FastAPI, and not otherwise than by it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from executor.surfaces.api.app import create_app
from executor.surfaces.api.context import EdgeRoute
from executor.surfaces.api.plain_requests import has_json, is_plain
from executor.surfaces.http.long_wait import LongWaits
from tests.surfaces.api.daemon_server import Daemon

PLAIN = "application/json"
LEFT = "application/json; charset=utf-8"  # which FastAPI reads in the same way
REFUSED: list[Any] = [
    {"scope": "ever"},
    {"scope": 1},
    {"unheard": True},
    [],
    "once",
    {"rule": {"pattern": 5}},
    b"{",
    b'{"a":1,"a":2}',
]


def find_route(path: str, method: str) -> EdgeRoute:
    app = create_app(cast(Any, None), LongWaits())
    found = (one for one in app.routes if isinstance(one, EdgeRoute) and one.path == path and method in one.methods)
    return next(found)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/v1/interactions/{interaction_id}/approve", True),
        ("GET", "/v1/interactions/{interaction_id}", True),
        ("GET", "/v1/interactions", False),  # it has parameters in its address
    ],
)
def test_ids_and_one_body_are_plain(method: str, path: str, expected: bool) -> None:
    assert is_plain(find_route(path, method)) is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"content-type", b"application/json"), (b"content-length", b"2")], True),
        ([(b"content-type", LEFT.encode()), (b"content-length", b"2")], False),
        ([(b"content-type", b"application/json"), (b"content-length", b"0")], False),
        ([(b"content-type", b"application/json")], False),
        ([(b"content-length", b"2")], False),
    ],
)
def test_only_a_body_that_is_surely_json_is_plain(headers: list[tuple[bytes, bytes]], expected: bool) -> None:
    assert has_json({"headers": headers}) is expected


@pytest.mark.parametrize("body", REFUSED)
def test_both_refuse_the_same_bodies_in_the_same_words(daemon: Daemon, paused: Any, body: Any) -> None:
    path = f"/v1/interactions/{paused['interactions'][0]['id']}/approve"
    ways = [daemon.post(path, body, headers={"Content-Type": kind}) for kind in (PLAIN, LEFT)]
    assert [way.status for way in ways] == [400, 400]
    assert ways[0].json == ways[1].json


def test_a_plain_request_with_a_parameter_is_refused(daemon: Daemon, paused: Any) -> None:
    path = f"/v1/interactions/{paused['interactions'][0]['id']}"
    answer = daemon.get(f"{path}?whole=1")
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert daemon.get(path).status == 200


def test_a_plain_request_needs_its_permission(daemon: Daemon, paused: Any) -> None:
    path = f"/v1/interactions/{paused['interactions'][0]['id']}/approve"
    assert daemon.post(path, {}, role="agent").status == 403
    assert daemon.get(path.removesuffix("/approve")).json["status"] == "pending"
