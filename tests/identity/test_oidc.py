"""Sign-in at a standard identity provider: who becomes which account, and whether it may come in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from executor.daemon.wiring.issuers import secret_of
from executor.errors import InvalidRequest, SecretUnavailable
from executor.settings import Settings
from executor.storage.tables.core import accounts
from tests.support.sign_in_browser import (
    CALLBACK,
    CLIENT,
    SECRET,
    START,
    Browser,
    query_of,
    running_daemon_with,
    settings_of,
)
from tests.support.token_issuer import TokenIssuer, a_key, issuing
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import expect_created, operator


@pytest.fixture(scope="module")
def authority() -> Iterator[TokenIssuer]:
    with issuing("/tenant") as authority:
        yield authority


@pytest.fixture(scope="module")
def daemon(authority: TokenIssuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon_with(authority, tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def forget_attempts(daemon: Daemon, authority: TokenIssuer) -> None:
    daemon.executor.authenticator.attempts.clear()
    assert daemon.executor.issuers.sign_ins is not None
    daemon.executor.issuers.sign_ins.starts.clear()
    authority.changes, authority.tells_in_token = {}, True


def invite(daemon: Daemon, email: str, role: str = "member") -> Any:
    return expect_created(operator(daemon).post("/v1/invitations", {"role": role, "email": email}))


def somebody(authority: TokenIssuer, sub: str, **about: Any) -> str:
    email = f"{sub}@example.org"
    authority.person = {"sub": sub, "name": sub.title(), "email": email, "email_verified": True, **about}
    return email


def test_the_way_to_the_provider_carries_state_nonce_and_pkce(daemon: Daemon, authority: TokenIssuer) -> None:
    browser = Browser(daemon)
    answer = browser.get(START)
    url, asked = answer.headers["location"], query_of(answer.headers["location"])
    assert url.startswith(f"{authority.issuer}/authorize?")
    assert asked["response_type"] == "code" and asked["client_id"] == CLIENT
    assert asked["redirect_uri"] == f"{daemon.url}{CALLBACK}"
    assert asked["scope"].split() == ["openid", "profile", "email"]
    assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3 and len(asked["state"]) == 43
    attributes = answer.headers["set-cookie"].lower()
    assert "httponly" in attributes and "samesite=lax" in attributes and "path=/v1/auth/oidc" in attributes
    assert query_of(browser.start())["state"] != asked["state"]


def test_an_invited_person_signs_in_and_is_a_member(daemon: Daemon, authority: TokenIssuer) -> None:
    invite(daemon, somebody(authority, "ann"), "viewer")
    browser = Browser(daemon)
    back = browser.sign_in("/approvals?page=2")
    assert (back.status, back.headers["location"]) == (303, "/approvals?page=2")
    assert browser.cookies["executor_session"].startswith("exs_")
    assert "samesite=strict" in back.headers["set-cookie"].lower()
    who = browser.whoami()
    assert (who["name"], who["role"], who["via"]) == ("Ann", "viewer", "browser")
    events = [one["type"] for one in daemon.get("/v1/events?limit=1000").json["items"]]
    assert "invitation.accepted" in events and "session.opened" in events


def test_the_same_person_comes_back_as_the_same_account(daemon: Daemon, authority: TokenIssuer) -> None:
    invite(daemon, somebody(authority, "bea"))
    first, second = Browser(daemon), Browser(daemon)
    first.sign_in()
    authority.person |= {"name": "Beatrice", "email": "new@example.org", "email_verified": False}
    assert second.sign_in().status == 303
    assert second.whoami()["accountId"] == first.whoami()["accountId"]


def test_a_stranger_is_asked_to_get_an_invitation(daemon: Daemon, authority: TokenIssuer) -> None:
    somebody(authority, "cal")
    browser = Browser(daemon)
    refused = browser.sign_in()
    assert refused.status == 403 and b"invite" in refused.body
    assert "executor_session" not in browser.cookies
    rows = daemon.run(daemon.executor.database.read(lambda c: list(c.execute(sa.select(accounts.c.subject)).scalars())))
    assert "cal" not in rows


def test_an_invitation_is_used_once(daemon: Daemon, authority: TokenIssuer) -> None:
    invitation = invite(daemon, somebody(authority, "dan"))
    assert Browser(daemon).sign_in().status == 303
    somebody(authority, "dan-two", email="DAN@example.org")
    assert Browser(daemon).sign_in().status == 403
    [found] = [one for one in operator(daemon).get("/v1/invitations").json["items"] if one["id"] == invitation["id"]]
    assert found["status"] == "accepted"


def test_a_revoked_invitation_opens_nothing(daemon: Daemon, authority: TokenIssuer) -> None:
    invitation = invite(daemon, somebody(authority, "eve"))
    assert operator(daemon).delete(f"/v1/invitations/{invitation['id']}").status in (200, 204)
    assert Browser(daemon).sign_in().status == 403


def test_name_and_address_may_come_from_the_userinfo_endpoint(daemon: Daemon, authority: TokenIssuer) -> None:
    invite(daemon, somebody(authority, "fay"))
    authority.tells_in_token = False
    browser = Browser(daemon)
    assert browser.sign_in().status == 303
    assert browser.whoami()["name"] == "Fay"


def test_anyone_who_was_removed_comes_back_by_invitation_alone(tmp_path: Path, authority: TokenIssuer) -> None:
    email = somebody(authority, "gus")
    options = {**settings_of(authority), "oidc_client_secret": "", "oidc_default_role": "viewer"}
    with running_daemon(tmp_path, **options) as daemon:
        authority.register_client("public", f"{daemon.url}{CALLBACK}")
        authority.ledger.clients[CLIENT], kept = authority.ledger.clients["public"], authority.ledger.clients[CLIENT]
        authority.ledger.clients[CLIENT].client_id = CLIENT
        try:
            browser = Browser(daemon)
            assert browser.sign_in().status == 303
            who = browser.whoami()
            assert who["role"] == "viewer"
            assert "member.added" in [one["type"] for one in daemon.get("/v1/events?limit=1000").json["items"]]
            assert operator(daemon).delete(f"/v1/members/{who['accountId']}").status in (200, 204)
            assert Browser(daemon).sign_in().status == 403
            invite(daemon, email)
            assert Browser(daemon).sign_in().status == 303
        finally:
            authority.ledger.clients[CLIENT] = kept


def test_two_tabs_do_not_disturb_each_other(daemon: Daemon, authority: TokenIssuer) -> None:
    from tests.support.sign_in_browser import consent

    invite(daemon, somebody(authority, "hal"))
    browser = Browser(daemon)
    first, second = browser.start("/one"), browser.start("/two")
    assert browser.come_back(consent(first)).headers["location"] == "/one"
    assert browser.come_back(consent(second)).headers["location"] == "/two"


def test_a_person_who_says_no_sees_it(daemon: Daemon, authority: TokenIssuer) -> None:
    authority.consents = False
    try:
        refused = Browser(daemon).sign_in()
    finally:
        authority.consents = True
    assert refused.status == 401 and b"refused the sign-in" in refused.body
    assert "default-src 'none'" in refused.headers["content-security-policy"]


def test_a_provider_with_elliptic_keys_works_too(daemon: Daemon, authority: TokenIssuer) -> None:
    invite(daemon, somebody(authority, "ida"))
    authority.published = [authority.key.as_dict(private=False), a_key("ES256").as_dict(private=False)]
    daemon.executor.issuers.sign_ins._provider._keys._tried_at = None  # type: ignore[union-attr]  # as if time had passed
    kept, authority.key, authority.algorithm = authority.key, a_key("ES256"), "ES256"
    try:
        assert Browser(daemon).sign_in().status == 303
    finally:
        authority.key, authority.algorithm = kept, "RS256"


def test_nothing_secret_of_a_sign_in_is_stored(daemon: Daemon, authority: TokenIssuer) -> None:
    browser = Browser(daemon)
    asked = query_of(browser.start())
    held = [value for name, value in browser.cookies.items() if name.startswith("executor_sign_in_")]
    files = [path for path in daemon.executor.settings.data_dir.rglob("*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in files)
    for value in (asked["state"], asked["nonce"], SECRET, *held):
        assert value.encode() not in content


def test_without_a_provider_there_is_nothing_to_start(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as plain:
        assert Browser(plain).get(START).status == 404
        assert Browser(plain).get(f"{CALLBACK}?state=x&code=y").status == 404


async def test_the_client_secret_is_only_ever_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from-a-file\n")
    monkeypatch.setenv("OIDC", "from-a-variable")
    assert await secret_of(f"file:{tmp_path / 'secret'}")() == "from-a-file"
    assert await secret_of("env:OIDC")() == "from-a-variable"
    assert await secret_of("")() == ""
    for missing in ("env:NOT_THERE", f"file:{tmp_path / 'none'}"):
        with pytest.raises(SecretUnavailable):
            await secret_of(missing)()


@pytest.mark.parametrize("typed", ["hunter2-in-clear", "env:not a name", "file:", "hunter2:x"])
def test_a_client_secret_typed_in_clear_is_refused_and_not_repeated(tmp_path: Path, typed: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'oidc_client_secret = "{typed}"\n')
    with pytest.raises(InvalidRequest) as caught:
        Settings.load({"EXECUTOR_CONFIG": str(config)})
    assert "hunter2" not in str(caught.value) + str(caught.value.details) + caught.value.hint
