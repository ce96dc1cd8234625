"""Attacks on the login: replays, mixed-up servers and browsers, missing PKCE, redirects, and `javascript:` addresses.

Each docstring names the line without which the attack works.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from executor.connections.oauth import code_flow
from executor.errors import OAuthFailed
from executor.model.ids import now_ms
from executor.storage.credentials import connections
from executor.storage.executions import events
from tests.support.login_harness import BASE, LoginHarness, browse, open_harness
from tests.support.loopback import Answer


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[LoginHarness]:
    async with open_harness(tmp_path) as harness:
        yield harness


async def nothing_connected(harness: LoginHarness) -> bool:
    return not await harness.database.read(lambda c: connections.of_source(c, harness.source.id))


async def has_recorded(harness: LoginHarness) -> bool:
    """A refusal is in the audit."""
    found = await harness.database.read(lambda c: events.after(c, harness.operator.workspace_id))
    return found[-1].type == "login.failed"


def token_requests(harness: LoginHarness) -> int:
    return harness.authority.ledger.asked["/token"]


async def test_28_state_replay(harness: LoginHarness) -> None:
    """Defence: `used_at.is_(None)` in storage/credentials/oauth_flows.py `_live`: a state is spent by whoever comes
    first."""
    begun = await harness.begin()
    query = browse(begun.url)
    await harness.come_back(begun, query)
    asked = token_requests(harness)
    with pytest.raises(OAuthFailed, match="already used"):
        await harness.come_back(begun, query)
    assert token_requests(harness) == asked
    assert await has_recorded(harness)


async def test_28_a_guessed_state(harness: LoginHarness) -> None:
    """Defence: `if flow is None` in flow.py `finish`: only a state that was made here, for a login under way."""
    begun = await harness.begin()
    query = browse(begun.url)
    for state in ("", "x" * 43):
        with pytest.raises(OAuthFailed, match="no pending login"):
            await harness.come_back(begun, {**query, "state": state})
    assert token_requests(harness) == 0


async def test_28_a_state_that_is_too_old(harness: LoginHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defence: `expires_at > now` in storage/credentials/oauth_flows.py `_live`."""
    begun = await harness.begin()
    query = browse(begun.url)
    monkeypatch.setattr(code_flow, "now_ms", lambda: now_ms() + code_flow.LIFETIME_MS + 1)
    with pytest.raises(OAuthFailed, match="has expired"):
        await harness.come_back(begun, query)
    assert token_requests(harness) == 0


async def test_28_a_stolen_code_in_another_login(harness: LoginHarness) -> None:
    """Defence: `code_verifier` in flow.py `_exchange`: one made for this login, and known to nobody else."""
    stolen, mine = await harness.begin(), await harness.begin()
    code = browse(stolen.url)["code"]
    with pytest.raises(OAuthFailed, match="invalid_grant"):
        await harness.come_back(mine, {**browse(mine.url), "code": code})
    assert await nothing_connected(harness)


@pytest.mark.parametrize("methods", [None, ["plain"], []])
async def test_28_missing_pkce(harness: LoginHarness, methods: list[str] | None) -> None:
    """Defence: `if not server.pkce` in flow.py `_check`: no browser is sent where a stolen code would be enough."""
    harness.authority.metadata["code_challenge_methods_supported"] = methods
    with pytest.raises(OAuthFailed, match="PKCE"):
        await harness.begin()


async def test_28_iss_mix_up(harness: LoginHarness) -> None:
    """Defence: `same_issuer(issuer, server.issuer)` in flow.py `_code`: the code goes to who issued it or nowhere."""
    harness.authority.issuer_in_answer = "https://attacker.example"
    begun = await harness.begin()
    with pytest.raises(OAuthFailed, match=r"attacker\.example"):
        await harness.come_back(begun, browse(begun.url))
    assert token_requests(harness) == 0


async def test_28_iss_left_out_by_a_server_that_promises_it(harness: LoginHarness) -> None:
    """Defence: `server.states_issuer` in flow.py `_code`: what is promised can't be stripped."""
    begun = await harness.begin()
    query = browse(begun.url)
    query.pop("iss")
    with pytest.raises(OAuthFailed, match="from an unknown server"):
        await harness.come_back(begun, query)
    assert token_requests(harness) == 0


async def test_28_metadata_in_anothers_name(harness: LoginHarness) -> None:
    """Defence: `same_issuer(said, issuer)` in metadata.py `read_server`."""
    harness.service.publishes = True
    harness.authority.metadata["issuer"] = "https://bank.example"
    with pytest.raises(OAuthFailed, match=r"bank\.example"):
        await harness.begin()


async def test_28_an_answer_in_another_browser(harness: LoginHarness) -> None:
    """Defence: `hmac.compare_digest` in flow.py `finish`: an attacker's answer does not become the victim's account."""
    for browser in ("", "someone-elses-cookie"):
        begun = await harness.begin()
        with pytest.raises(OAuthFailed, match="different browser"):
            await harness.come_back(begun, browse(begun.url), browser=browser)
        assert await has_recorded(harness)
    assert token_requests(harness) == 0
    assert await nothing_connected(harness)


async def test_28_a_link_opened_twice(harness: LoginHarness) -> None:
    """Defence: `browser_digest == ticket_digest` in storage/credentials/oauth_flows.py `bind_flow`: the first browser
    has it."""
    begun = await harness.logins.begin(harness.operator, harness.wish(), in_browser=False)
    victim = await harness.logins.code.take_up(begun.ticket)
    with pytest.raises(OAuthFailed, match="already used"):
        await harness.logins.code.take_up(begun.ticket)
    with pytest.raises(OAuthFailed, match="different browser"):
        await harness.come_back(victim, browse(victim.url), browser=begun.ticket)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
@pytest.mark.parametrize(
    "address", ["javascript:alert(document.cookie)", "data:text/html,x", "file:///etc/passwd", "//evil.example/x"]
)
async def test_28_javascript_address(harness: LoginHarness, name: str, address: str) -> None:
    """Defence: `parse(value)` in metadata.py `address`: only http and https, with a host and no user."""
    harness.service.publishes = True
    harness.authority.metadata[name] = address
    with pytest.raises(OAuthFailed, match=f"unusable {name}"):
        await harness.begin()


async def test_28_javascript_address_to_type_the_code_in(harness: LoginHarness) -> None:
    """Defence: `address(answer, "verification_uri")` in device.py `begin`: it is printed, and clicked."""

    def hostile(path: str, data: dict[str, str]) -> Answer | None:
        answer = {"device_code": "d", "user_code": "U", "verification_uri": "javascript:alert(1)", "expires_in": 60}
        return (200, answer, {}) if path == "/device_authorization" else None

    harness.authority.hook = hostile
    with pytest.raises(OAuthFailed, match="unusable verification_uri"):
        await harness.logins.begin_device(harness.operator, harness.wish())


async def test_28_open_redirect_by_the_endpoints_own_parameters(harness: LoginHarness) -> None:
    """Defence: `if name not in OWN` in flow.py `_authorization_url`: what is ours to say is said once, by us."""
    harness.service.publishes = True
    harness.authority.metadata["authorization_endpoint"] = (
        f"{harness.authority.issuer}/authorize?tenant=1&redirect_uri=https%3A%2F%2Fevil.example&state=known"
        "&client_id=evil&response_mode=fragment&code_challenge_method=plain&request_uri=https%3A%2F%2Fevil.example"
    )
    begun = await harness.begin()
    asked = parse_qs(urlsplit(begun.url).query)
    assert asked["redirect_uri"] == [f"{BASE}/oauth/callback"]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["tenant"] == ["1"]
    assert [len(values) for values in asked.values()] == [1] * len(asked)
    assert not {"request_uri", "response_mode"} & set(asked)
    assert "evil" not in begun.url


async def test_28_code_sent_to_an_endpoint_that_redirects(harness: LoginHarness) -> None:
    """Defence: the last `raise` of network/client.py `redirect`: a body never leaves the origin it was meant for."""
    begun = await harness.begin()
    query = browse(begun.url)
    target = f"{harness.service.origin}/api/steal"

    def redirecting(path: str, data: dict[str, str]) -> Answer | None:
        return (307, {}, {"Location": target}) if path == "/token" else None

    harness.authority.hook = redirecting
    with pytest.raises(OAuthFailed):
        await harness.come_back(begun, query)
    assert harness.service.seen == []


@pytest.mark.parametrize("where", ["http://169.254.169.254/token", "http://[::1]:1/token", "http://10.0.0.1/token"])
async def test_28_token_endpoint_on_a_private_network(harness: LoginHarness, where: str) -> None:
    """Defence: `self._egress.reach(target, origins)` in wire.py `check`, and network/client.py itself behind it."""
    harness.service.publishes = True
    begun = await harness.begin()
    query = browse(begun.url)
    harness.authority.metadata["token_endpoint"] = where
    await harness.come_back(begun, query)  # what was found when it began holds
    with pytest.raises(OAuthFailed, match="private network"):
        await harness.begin()


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_28_login_without_encryption(harness: LoginHarness, name: str) -> None:
    """Defence: `if target.scheme == "http" and reach == PUBLIC` in wire.py `check`."""
    harness.service.publishes = True
    harness.authority.metadata[name] = "http://login.example/x"
    with pytest.raises(OAuthFailed, match="not encrypted"):
        await harness.begin()


async def test_28_an_error_that_echoes_what_was_sent(harness: LoginHarness) -> None:
    """Defence: `redact(...)` in tokens.py `clean`: an error's words go to people, logs and events."""
    begun = await harness.begin()
    query = browse(begun.url)

    def echoing(path: str, data: dict[str, str]) -> Answer | None:
        told = f"\x1b[2Jcode {data.get('code')} verifier {data.get('code_verifier')}"
        return (400, {"error": "invalid_grant", "error_description": told}, {}) if path == "/token" else None

    harness.authority.hook = echoing
    with pytest.raises(OAuthFailed) as refused:
        await harness.come_back(begun, query)
    told = f"{refused.value.message} {refused.value.details}"
    assert query["code"] not in told
    assert "verifier [redacted]" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "a b", "", "x" * 20_000, 7, None, "\x00"])
async def test_28_a_token_that_is_no_header(harness: LoginHarness, token: object) -> None:
    """Defence: `_TOKEN.match(access)` in tokens.py `read`: what comes in is sent out again in a header."""
    begun = await harness.begin()
    query = browse(begun.url)
    harness.authority.hook = lambda path, data: (200, {"access_token": token}, {}) if path == "/token" else None
    with pytest.raises(OAuthFailed, match="without a usable access token"):
        await harness.come_back(begun, query)
    assert await nothing_connected(harness)


async def test_28_a_token_that_must_be_proved_is_not_sent_as_a_bearer_token(harness: LoginHarness) -> None:
    """Defence: the check of `token_type` in tokens.py `read`."""
    begun = await harness.begin()
    query = browse(begun.url)
    answer = {"access_token": "abc", "token_type": "DPoP"}
    harness.authority.hook = lambda path, data: (200, answer, {}) if path == "/token" else None
    with pytest.raises(OAuthFailed, match="not bearer tokens"):
        await harness.come_back(begun, query)
