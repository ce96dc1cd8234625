"""Attacks 45 to 48, 51 and 53: on the server of this machine, from a browser, with a session and without."""

from __future__ import annotations

import http.client
import io
import json
import logging
import re
from typing import Any

import pytest

from tests.surfaces.api import identities, roles_table
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import Caller, expect_created, fragment, nobody, operator

FOREIGN = (
    "http://evil.example",
    "null",
    "http://127.0.0.1.evil.example",
    "http://127.0.0.1",
    "https://127.0.0.1:{port}",
)
KEY = {"name": "planted"}


@pytest.fixture(scope="module")
def browser(daemon: Daemon) -> Caller:
    return identities.signed_in(daemon)


def as_page(daemon: Daemon, browser: Caller, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """What a browser that is signed in sends for a page: the cookie goes along by itself."""
    return daemon.request(method, path, body, role=None, headers={"Cookie": browser.cookie, **headers})


@pytest.mark.parametrize("origin", FOREIGN)
def test_45_a_page_of_another_origin_uses_the_session_of_the_browser(
    daemon: Daemon, browser: Caller, origin: str
) -> None:
    """Defence: `check_origin` in surfaces/http/guard.py compares Origin with our own."""
    sent = {"Origin": origin.format(port=daemon.port)}
    for method, path, body in (("POST", "/v1/keys", KEY), ("GET", "/v1/keys", None), ("DELETE", "/v1/keys/x", None)):
        answer = as_page(daemon, browser, method, path, body, **sent)
        assert (answer.status, answer.json["code"]) == (403, "origin_refused"), (method, path)
        assert "access-control-allow-origin" not in answer.headers


def test_45_a_page_hides_its_origin(daemon: Daemon, browser: Caller) -> None:
    """Defence: `browser_session` in surfaces/http/guard.py wants an Origin of whatever changes something."""
    before = operator(daemon).get("/v1/keys").body
    for method, path, body in (
        ("POST", "/v1/keys", KEY),
        ("DELETE", "/v1/keys/x", None),
        ("PATCH", "/v1/members/x", {}),
    ):
        answer = as_page(daemon, browser, method, path, body)
        assert (answer.status, answer.json["code"]) == (403, "origin_refused"), (method, path)
    assert operator(daemon).get("/v1/keys").body == before
    assert as_page(daemon, browser, "POST", "/v1/keys", KEY, Origin=daemon.url).status == 201


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_45_a_page_of_another_site_or_port_reads_with_the_session(daemon: Daemon, browser: Caller, site: str) -> None:
    """Defence: `check_origin` looks at Sec-Fetch-Site, which a browser sends also where it leaves Origin out.

    Another port of this machine is the same site to SameSite cookies, so the cookie alone would let it in.
    """
    sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert as_page(daemon, browser, "GET", "/v1/secrets", **sent).status == 403
    assert as_page(daemon, browser, "GET", "/v1/secrets", **{"Sec-Fetch-Site": "same-origin"}).status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:1", "localhost", "127.0.0.1.nip.io:{port}", ""])
def test_46_a_name_that_an_attacker_points_at_this_machine(daemon: Daemon, browser: Caller, host: str) -> None:
    """Defence: `_check_host` in surfaces/http/guard.py knows our names with our port."""
    name = host.format(port=daemon.port)
    answer = as_page(daemon, browser, "GET", "/v1/keys", Host=name, Origin=f"http://{name}")
    assert (answer.status, answer.json["code"]) == (421, "host_refused")


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_47_a_form_of_another_site_posts_what_looks_like_json(daemon: Daemon, browser: Caller, media_type: str) -> None:
    """Defence: `check_media_type` in surfaces/http/guard.py reads JSON alone, also where nobody has to be known."""
    body = json.dumps(KEY).encode()
    for path in ("/v1/keys", "/v1/auth/sign-in", "/v1/invitations/accept"):
        answer = as_page(daemon, browser, "POST", path, body, **{"Content-Type": media_type, "Origin": daemon.url})
        assert (answer.status, answer.json["code"]) == (415, "unsupported_media_type"), path


def test_47_another_site_signs_the_browser_in_as_the_attacker(daemon: Daemon) -> None:
    """Defence: `_admit` in surfaces/http/guard.py checks the Origin before it lets anything through as open."""
    link = expect_created(operator(daemon).post("/v1/auth/links"))
    body = {"token": fragment(link["url"])}
    refused = nobody(daemon).post("/v1/auth/sign-in", body, Origin="http://evil.example")
    assert refused.status == 403 and "set-cookie" not in refused.headers
    assert nobody(daemon).post("/v1/auth/sign-in", body, Origin=daemon.url).status == 200


def test_48_another_site_listens_to_the_events(daemon: Daemon, browser: Caller) -> None:
    """Defence: `check_origin` in surfaces/http/guard.py, before any stream begins."""
    stream = {"Accept": "text/event-stream"}
    for sent in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert as_page(daemon, browser, "GET", "/v1/events", **stream, **sent).status == 403


def test_48_another_site_opens_a_web_socket(daemon: Daemon, browser: Caller) -> None:
    """Defence: `Guard.__call__` serves HTTP alone, and the server offers no upgrade (`ws="none"`)."""
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Origin": "http://evil.example",
    }
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)
    connection.request("GET", "/v1/events", headers={"Cookie": browser.cookie, **upgrade})
    assert connection.getresponse().status in (400, 403)
    connection.close()


def test_51_a_token_in_a_query_string_opens_nothing_and_is_not_repeated(daemon: Daemon) -> None:
    """Defence: `Tokens.recognise` in identity/local_tokens.py is given the header and nothing else."""
    key = expect_created(operator(daemon).post("/v1/keys", KEY))["token"]
    for token in (daemon.tokens.operator, key):
        for name in ("token", "access_token", "authorization", "api_key"):
            answer = daemon.get(f"/v1/status?{name}={token}", role=None)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert token.encode() not in answer.body


def test_51_what_signs_in_stands_in_no_address_that_a_server_sees_and_in_no_log(daemon: Daemon) -> None:
    """Defence: the `#` in surfaces/api/routes/identity/auth.py; a browser keeps what is behind it to itself."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    logging.getLogger().addHandler(handler)
    try:
        link = expect_created(operator(daemon).post("/v1/auth/links"))
        token = fragment(link["url"])
        assert nobody(daemon).post("/v1/auth/sign-in", {"token": token}).status == 200
        assert nobody(daemon).post("/v1/auth/sign-in", {"token": token}).status == 401
    finally:
        logging.getLogger().removeHandler(handler)
    assert "?" not in link["url"] and token not in link["url"].partition("#")[0]
    assert token not in text.getvalue()
    assert token not in operator(daemon).get("/v1/events?limit=1000").body.decode()


def test_51_a_refusal_is_never_taken_for_an_answer(daemon: Daemon) -> None:
    """Defence: the door raises `Unauthorized`; no route runs without an actor (`front._route`)."""
    for path in ("/v1/status", "/v1/auth/whoami", "/v1/nothing"):
        for sent in ({}, {"Cookie": "executor_session=exs_wrong"}, {"Authorization": "Basic eDp5"}):
            daemon.executor.authenticator.attempts.clear()
            answer = daemon.get(path, role=None, headers=sent)
            assert (answer.status, answer.json["code"]) == (401, "unauthorized"), (path, sent)


def test_51_two_cookies_of_one_name_count_as_none(daemon: Daemon, browser: Caller) -> None:
    """Defence: `cookie` in surfaces/http/guard.py; another page of this host could plant a second one."""
    planted = f"{browser.cookie}; executor_session=exs_planted"
    assert daemon.get("/v1/auth/whoami", role=None, headers={"Cookie": planted}).status == 401


def test_53_another_workspaces_id_in_place_of_ones_own(daemon: Daemon, paused: Any) -> None:
    """Defence: every repository names the workspace of the actor (surfaces/api/test_roles.py walks every route)."""
    stranger = identities.stranger(daemon)
    ids = {"execution_id": paused["executionId"], "interaction_id": paused["interactions"][0]["id"], "source": "shop"}
    walked = 0
    for row in roles_table.documented_rows():
        names = re.findall(r"{(\w+)}", row.path)
        if names and names[0] in ids and not row.is_public:
            body = None if row.method == "GET" else {}
            there = stranger.request(row.method, row.path.replace(f"{{{names[0]}}}", ids[names[0]]), body)
            assert there.status in (400, 404), (row, there.status)
            walked += there.status == 404
    assert walked > 10
    assert operator(daemon).get(f"/v1/executions/{paused['executionId']}").json["status"] == "paused"
