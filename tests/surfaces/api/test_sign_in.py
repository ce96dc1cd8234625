"""Browsers: links that work once, cookies, sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import expect_created, fragment, nobody, operator

DAY = 86_400_000


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("browsers")) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def forgiven(daemon: Daemon) -> None:
    daemon.executor.authenticator.attempts.clear()


def test_a_link_signs_one_browser_in_and_then_no_other(daemon: Daemon) -> None:
    link = expect_created(operator(daemon).post("/v1/auth/links"))
    address, _, token = link["url"].partition("#")
    assert address == f"{daemon.url}/sign-in" and "?" not in address
    first = nobody(daemon).post("/v1/auth/sign-in", {"token": token})
    assert (first.status, first.json["role"]) == (200, "owner")
    assert nobody(daemon).post("/v1/auth/sign-in", {"token": token}).status == 401


def test_the_cookie_is_for_no_script_and_no_other_site(daemon: Daemon) -> None:
    link = expect_created(operator(daemon).post("/v1/auth/links"))
    answer = nobody(daemon).post("/v1/auth/sign-in", {"token": fragment(link["url"])})
    value, *attributes = [part.strip().lower() for part in answer.headers["set-cookie"].split(";")]
    assert value.startswith("executor_session=exs_")
    assert {"httponly", "samesite=strict", "path=/"} <= set(attributes)
    assert "secure" not in attributes
    assert value.partition("=")[2].encode() not in answer.body.lower()


def test_under_https_the_cookie_is_secure_and_links_name_the_public_address(tmp_path: Path) -> None:
    public = "https://executor.example"
    with running_daemon(tmp_path, public_url=public) as daemon:
        host = {"Host": "executor.example"}
        link = expect_created(operator(daemon).post("/v1/auth/links"))
        assert link["url"].startswith(f"{public}/sign-in#")
        body = {"token": fragment(link["url"])}
        answer = nobody(daemon).post("/v1/auth/sign-in", body, **host, Origin=public)
        assert "Secure" in answer.headers["set-cookie"]
        cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0], **host}
        assert daemon.post("/v1/keys", {"name": "k"}, role=None, headers={**cookie, "Origin": public}).status == 201
        plain = {**cookie, "Origin": "http://executor.example"}
        assert daemon.post("/v1/keys", {"name": "k"}, role=None, headers=plain).status == 403


def test_an_old_link_and_an_old_session_are_of_no_use(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    from executor.identity import authentication, sessions
    from executor.model.ids import now_ms

    link = expect_created(operator(daemon).post("/v1/auth/links"))
    browser = identities.signed_in(daemon)
    at = now_ms()
    monkeypatch.setattr(sessions, "now_ms", lambda: at + 10 * 60_000 + 1)
    assert nobody(daemon).post("/v1/auth/sign-in", {"token": fragment(link["url"])}).status == 401
    monkeypatch.setattr(authentication, "now_ms", lambda: at + 14 * DAY + 1)
    assert browser.get("/v1/auth/whoami").status == 401


def test_signing_out_ends_this_browser_and_no_other(daemon: Daemon) -> None:
    one, other = identities.signed_in(daemon), identities.signed_in(daemon)
    gone = one.post("/v1/auth/sign-out")
    assert gone.status == 204 and "Max-Age=0" in gone.headers["set-cookie"]
    assert one.get("/v1/auth/whoami").status == 401
    assert other.get("/v1/auth/whoami").json["via"] == "browser"


def test_sessions_are_listed_and_ended_by_their_owner(daemon: Daemon) -> None:
    member = identities.invite(daemon, "member")
    [session] = member.get("/v1/auth/sessions").json["items"]
    assert session["current"] is True
    assert session["id"] not in operator(daemon).get("/v1/auth/sessions").body.decode()
    assert operator(daemon).delete(f"/v1/auth/sessions/{session['id']}").status == 404
    assert member.delete(f"/v1/auth/sessions/{session['id']}").status == 204
    assert member.get("/v1/auth/sessions").status == 401


def test_only_an_owner_makes_a_link_for_someone_else(daemon: Daemon) -> None:
    member, admin = identities.invite(daemon, "member"), identities.invite(daemon, "admin")
    body = {"accountId": member.account}
    assert admin.post("/v1/auth/links", body).status == 403
    link = expect_created(operator(daemon).post("/v1/auth/links", body))
    again = nobody(daemon).post("/v1/auth/sign-in", {"token": fragment(link["url"])})
    assert again.json["accountId"] == member.account
    assert operator(daemon).post("/v1/auth/links", {"accountId": "acc_nobody"}).status == 404


def test_a_session_is_worth_what_the_role_is_worth_now(daemon: Daemon) -> None:
    admin = identities.invite(daemon, "admin")
    assert admin.post("/v1/agents", {"name": "helper"}).status == 201
    operator(daemon).patch(f"/v1/members/{admin.account}", {"role": "viewer"})
    assert admin.post("/v1/agents", {"name": "helper2"}).status == 403
    operator(daemon).delete(f"/v1/members/{admin.account}")
    assert admin.get("/v1/auth/whoami").status == 401


def test_a_browser_acts_in_another_of_its_workspaces_when_it_says_so(daemon: Daemon) -> None:
    browser = identities.signed_in(daemon)
    place = expect_created(browser.post("/v1/workspaces", {"name": "second"}))
    there = browser.get("/v1/auth/whoami", **{"X-Executor-Workspace": place["id"]}).json
    assert there["workspace"] == {"id": place["id"], "name": "second"}
    key = identities.create_key(daemon, "read")
    assert key.get("/v1/auth/whoami", **{"X-Executor-Workspace": place["id"]}).status == 404
