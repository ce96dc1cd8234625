"""Sign-in at an identity provider, attacked: replay, login CSRF, mix-up, open redirects, borrowed addresses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from executor.identity.oidc.sign_in import FLOW_MS
from executor.storage.tables.access import sign_ins
from tests.support.rate_limits import stop_rate_limit_clocks
from tests.support.sign_in_browser import (
    CALLBACK,
    CLIENT,
    SECRET,
    START,
    Browser,
    consent,
    query_of,
    running_daemon_with,
)
from tests.support.token_issuer import TokenIssuer, a_key, issuing
from tests.surfaces.api.daemon_server import Answer, Daemon
from tests.surfaces.api.identities import expect_created, operator


@pytest.fixture(scope="module")
def authority() -> Iterator[TokenIssuer]:
    with issuing() as authority:
        yield authority


@pytest.fixture(scope="module")
def daemon(authority: TokenIssuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon_with(authority, tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def member(daemon: Daemon, authority: TokenIssuer) -> None:
    """`ann` is one already, so that only the attack stands between the attacker and a session."""
    daemon.executor.authenticator.attempts.clear()
    daemon.executor.issuers.sign_ins.starts.clear()  # type: ignore[union-attr]
    authority.changes, authority.states_issuer, authority.issuer_in_answer = {}, True, ""
    authority.person = {"sub": "ann", "name": "Ann", "email": "ann@example.org", "email_verified": True}
    if Browser(daemon).sign_in().status != 303:
        expect_created(operator(daemon).post("/v1/invitations", {"role": "member", "email": "ann@example.org"}))
        assert Browser(daemon).sign_in().status == 303


def expect_refusal(browser: Browser, answer: Answer, status: int = 401) -> bytes:
    assert answer.status == status, (answer.status, answer.body)
    assert "set-cookie" not in answer.headers and "executor_session" not in browser.cookies
    assert "location" not in answer.headers
    return answer.body


def change_query(url: str, **changes: str | None) -> str:
    query = {**dict(parse_qsl(urlsplit(url).query)), **changes}
    return f"{url.partition('?')[0]}?{urlencode({name: value for name, value in query.items() if value is not None})}"


def test_state_replay(daemon: Daemon) -> None:
    """The defence: `used_at.is_(None)` in storage/identity/oidc_sign_ins.py."""
    browser = Browser(daemon)
    back = consent(browser.start())
    assert browser.come_back(back).status == 303
    browser.cookies.pop("executor_session")
    assert b"is complete, or has expired" in expect_refusal(browser, browser.come_back(back))


def test_state_of_a_sign_in_that_failed_can_not_be_tried_again(daemon: Daemon) -> None:
    browser = Browser(daemon)
    back = consent(browser.start())
    expect_refusal(browser, browser.come_back(change_query(back, code="guessed")))
    expect_refusal(browser, browser.come_back(back))


def test_login_csrf_the_answer_to_an_attackers_sign_in_in_a_victims_browser(daemon: Daemon) -> None:
    """The defence: `browser_digest` in storage/identity/oidc_sign_ins.py."""
    attacker, victim = Browser(daemon), Browser(daemon)
    back = consent(attacker.start())
    expect_refusal(victim, victim.come_back(back))
    victim.start()  # a sign-in of its own does not help, nor does a cookie of that name
    victim.cookies |= dict.fromkeys(attacker.cookies, "x" * 43)
    expect_refusal(victim, victim.come_back(back))
    assert attacker.come_back(back).status == 303  # and was not spoiled by the victim


def test_an_attackers_code_under_the_victims_own_state(daemon: Daemon, authority: TokenIssuer) -> None:
    """Code injection. The defence: the verifier of the code, and the nonce, in identity/oidc/sign_in.py."""
    attacker, victim = Browser(daemon), Browser(daemon)
    stolen = query_of(consent(attacker.start()))["code"]
    expect_refusal(victim, victim.come_back(change_query(consent(victim.start()), code=stolen)))


@pytest.mark.parametrize("nonce", ["x", "", None, 5, ["x"]])
def test_nonce_replay(daemon: Daemon, authority: TokenIssuer, nonce: Any) -> None:
    """An ID token of another sign-in. The defence: the comparison of `nonce` in identity/oidc/provider.py."""
    authority.changes = {"nonce": nonce}
    browser = Browser(daemon)
    assert b"does not belong to this sign-in" in expect_refusal(browser, browser.sign_in())


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"aud": ["another-client"]},
        {"aud": [CLIENT, "another-client"]},
        {"aud": [CLIENT, "another-client"], "azp": "another-client"},
        {"azp": "another-client"},
        {"exp": 1},
        {"iat": int(time.time()) + 86_400},
        {"sub": ""},
        {"sub": 5},
    ],
)
def test_an_id_token_for_someone_else(daemon: Daemon, authority: TokenIssuer, changes: dict[str, Any]) -> None:
    """Token substitution. The defence: `signed.check` and the check of `azp` in identity/oidc/provider.py."""
    authority.changes = changes
    browser = Browser(daemon)
    expect_refusal(browser, browser.sign_in())


def test_an_id_token_signed_by_another_key(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: `self._keys.verify` in identity/oidc/provider.py."""
    browser = Browser(daemon)
    back = consent(browser.start())
    kept, authority.key = authority.key, a_key("RS256", "attacker")
    authority.published = [kept.as_dict(private=False)]
    try:
        expect_refusal(browser, browser.come_back(back))
    finally:
        authority.key, authority.published = kept, None


def test_mix_up_an_answer_that_names_another_issuer(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: `_check_sender` in identity/oidc/sign_in.py."""
    for iss in ("https://evil.example", "", authority.issuer + "/", None):
        browser = Browser(daemon)
        back = change_query(consent(browser.start()), iss=iss)
        asked = authority.ledger.asked["/token"]
        assert b"does not come from" in expect_refusal(browser, browser.come_back(back))
        assert authority.ledger.asked["/token"] == asked  # the code went nowhere


def test_mix_up_a_sign_in_that_began_with_another_provider(daemon: Daemon, authority: TokenIssuer) -> None:
    """The settings changed in between. The defence: nonce and verifier are `derived` with the issuer's name."""
    provider = daemon.executor.issuers.sign_ins._provider  # type: ignore[union-attr]
    browser = Browser(daemon)
    url = browser.start()
    kept, provider.issuer.url = provider.issuer.url, "https://new.example"
    asked = authority.ledger.asked["/token"]
    try:
        expect_refusal(browser, browser.come_back(change_query(consent(url), iss="https://new.example")))
    finally:
        provider.issuer.url = kept
    assert authority.ledger.asked["/token"] == asked


@pytest.mark.parametrize(
    "where",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/ok\r\nSet-Cookie: a=b",
        "/\u2028x",
        "https:/evil.example",
        "///evil.example",
        "/" + "x" * 600,
        " /x",
    ],
)
def test_open_redirect_in_return_to(daemon: Daemon, where: str) -> None:
    """The defence: `check_return` in identity/oidc/sign_in.py."""
    browser = Browser(daemon)
    expect_refusal(browser, browser.get(f"{START}?return_to={quote(where, safe='')}"), 400)
    assert not browser.cookies


def test_two_values_for_one_name(daemon: Daemon) -> None:
    """The defence: `single` in surfaces/api/routes/identity/oidc.py."""
    browser = Browser(daemon)
    back = consent(browser.start())
    expect_refusal(browser, browser.come_back(f"{back}&code=other"))
    expect_refusal(browser, browser.get(f"{START}?return_to=/a&return_to=//evil.example"))


@pytest.mark.parametrize("verified", [False, None, "true", "yes", 1, ["true"]])
def test_an_address_that_no_one_verified(daemon: Daemon, authority: TokenIssuer, verified: Any) -> None:
    """Anybody can type in the address of whoever was invited. The defence: `verified_email` in
    identity/oidc/provider.py."""
    expect_created(operator(daemon).post("/v1/invitations", {"role": "owner", "email": "boss@example.org"}))
    authority.person = {"sub": "mallory", "email": "boss@example.org", "email_verified": verified}
    browser = Browser(daemon)
    assert b"not a member" in expect_refusal(browser, browser.sign_in(), 403)


def test_the_address_of_a_member_does_not_make_one_that_member(daemon: Daemon, authority: TokenIssuer) -> None:
    """Addresses change hands. The defence: `subjects.account` looks by issuer and subject alone."""
    authority.person = {"sub": "mallory", "email": "ann@example.org", "email_verified": True}
    browser = Browser(daemon)
    expect_refusal(browser, browser.sign_in(), 403)


def test_userinfo_of_someone_else(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: the comparison of `sub` in `_userinfo`, identity/oidc/provider.py."""
    expect_created(operator(daemon).post("/v1/invitations", {"role": "owner", "email": "boss@example.org"}))
    authority.person = {"sub": "boss", "email": "boss@example.org", "email_verified": True}
    authority.changes, authority.tells_in_token = {"sub": "mallory"}, False
    browser = Browser(daemon)
    try:
        expect_refusal(browser, browser.sign_in(), 403)
    finally:
        authority.tells_in_token = True


def test_an_access_token_or_an_id_token_of_the_provider_is_no_key_of_ours(
    daemon: Daemon, authority: TokenIssuer
) -> None:
    """Signing people in there does not let its tokens in here: that is another setting."""
    token = authority.token(aud=CLIENT)
    assert daemon.get("/v1/auth/whoami", role=token).status == 401
    assert daemon.post("/mcp", {}, role=token).status == 401


def test_a_sign_in_that_took_too_long(daemon: Daemon) -> None:
    """The defence: `expires_at > now` in storage/identity/oidc_sign_ins.py."""
    browser = Browser(daemon)
    back = consent(browser.start())

    def age(c: Any) -> None:
        c.execute(sign_ins.update().values(expires_at=sign_ins.c.expires_at - FLOW_MS))

    async def write() -> None:
        await daemon.executor.database.write(age)

    daemon.run(write())
    expect_refusal(browser, browser.come_back(back))


def test_what_the_provider_says_is_shown_as_text(daemon: Daemon) -> None:
    """The defence: `escape` in surfaces/api/routes/identity/oidc.py, and a policy that runs no script."""
    browser = Browser(daemon)
    back = query_of(consent(browser.start()))
    told = {"state": back["state"], "iss": back["iss"], "error": "x", "error_description": "<script>alert(1)</script>"}
    body = expect_refusal(browser, browser.come_back(f"{CALLBACK}?{urlencode(told)}"))
    assert b"<script>" not in body and b"&lt;script&gt;" in body


def test_a_provider_that_repeats_the_client_secret(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: `said.replace(secret` in identity/oidc/provider.py."""
    browser = Browser(daemon)
    back = consent(browser.start())
    said = {"error": "invalid_client", "error_description": f"wrong secret {SECRET} for you"}
    authority.hook = lambda path, data: (401, said, {}) if path == "/token" else None
    try:
        body = expect_refusal(browser, browser.come_back(back)).decode()
    finally:
        authority.hook = lambda path, data: None
    assert "wrong secret … for you" in body


def test_a_flood_of_sign_ins(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defence: `starts.take` in identity/oidc/sign_in.py."""
    stop_rate_limit_clocks(daemon, monkeypatch)
    answers = [Browser(daemon).get(START).status for _ in range(40)]
    assert answers[0] == 303 and answers[-1] == 429
