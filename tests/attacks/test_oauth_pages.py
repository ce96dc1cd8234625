"""Attacks on the pages that a browser passes on its way: redirects, repeated parameters, cookies set twice, scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.connections.oauth.test_login import Place, running_place, with_cookie
from tests.support.login_harness import visit
from tests.surfaces.api.daemon_server import Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture
def place(daemon: Daemon) -> Iterator[Place]:
    with running_place(daemon) as place:
        yield place


def begin(place: Place) -> tuple[str, dict[str, str]]:
    """The way back of a login that was taken up, and the browser's headers."""
    link = urlsplit(place.start().json["authorizationUrl"]).path
    gone = place.daemon.get(f"{link}/go", role=None)
    back = visit(gone.headers["location"]).headers["Location"]
    return back.removeprefix(place.daemon.url), with_cookie(gone)


def test_28_open_redirect(place: Place) -> None:
    """Defence: returning.py `go` redirects to `begun.url` alone, which was kept when the login began."""
    path, headers = begin(place)
    page = place.daemon.get(
        f"{path}&redirect=https://evil.example&return_to=//evil.example", role=None, headers=headers
    )
    assert page.status == 200
    assert "location" not in page.headers
    assert b"evil" not in page.body
    for guess in ("x" * 43, "https:evil.example"):
        refused = place.daemon.get(f"/oauth/begin/{guess}/go?to=https://evil.example", role=None)
        assert (refused.status, "location" in refused.headers) == (400, False)


def test_28_repeated_parameters(place: Place) -> None:
    """Defence: `len(query) != len(pairs)` in returning.py `callback`: two readers must not see two answers."""
    path, headers = begin(place)
    assert place.daemon.get(f"{path}&code=injected", role=None, headers=headers).status == 400
    assert place.authority.ledger.asked["/token"] == 0


def test_28_a_cookie_set_twice(place: Place) -> None:
    """Defence: `len(found) == 1` in guard.py `cookie`: another site on this host may have set the second."""
    path, headers = begin(place)
    name = headers["Cookie"].partition("=")[0]
    headers["Cookie"] = f"{name}=planted; {headers['Cookie']}"
    assert place.daemon.get(path, role=None, headers=headers).status == 400
    assert place.authority.ledger.asked["/token"] == 0


def test_28_a_link_sent_to_someone_else_does_nothing_by_itself(place: Place) -> None:
    """Defence: returning.py `begin` shows who asks and for what; only a click goes on, and sets the cookie."""
    link = urlsplit(place.start().json["authorizationUrl"]).path
    page = place.daemon.get(link, role=None)
    assert page.status == 200
    assert "set-cookie" not in page.headers
    assert "Continue only if you started this yourself" in page.body.decode()
    assert place.daemon.get(f"{link}/go", role=None).status == 303


def test_28_scripts_and_frames_on_the_way(place: Place) -> None:
    """Defence: `_POLICY` in returning.py: no script runs on these pages, whatever got into them, and nothing frames
    them."""
    path, headers = begin(place)
    link = urlsplit(place.start().json["authorizationUrl"]).path
    for page in (place.daemon.get(link, role=None), place.daemon.get(path, role=None, headers=headers)):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["referrer-policy"] == "no-referrer"
        assert not re.search(rb"<script|javascript:| on\w+=", page.body)


def test_28_another_sites_page_can_not_start_a_login(place: Place) -> None:
    """Defence: `check_origin` in guard.py: a login is started by our own page or a program with a token."""
    body = {"source": "shop"}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        answer = place.daemon.post("/v1/connections/oauth/start", body, headers=headers)
        assert answer.status == 403
