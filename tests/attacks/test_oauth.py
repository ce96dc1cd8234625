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
from tests.support.logins import BASE, World, browse, opened
from tests.support.loopback import Answer


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with opened(tmp_path) as world:
        yield world


async def nothing_connected(world: World) -> bool:
    return not await world.database.read(lambda c: connections.of_source(c, world.source.id))


async def recorded(world: World) -> bool:
    """A refusal is in the audit."""
    found = await world.database.read(lambda c: events.after(c, world.operator.workspace_id))
    return found[-1].type == "login.failed"


def token_requests(world: World) -> int:
    return world.authority.ledger.asked["/token"]


async def test_28_state_replay(world: World) -> None:
    """Defence: `used_at.is_(None)` in storage/credentials/oauth_flows.py `_live`: a state is spent by whoever comes
    first."""
    begun = await world.begin()
    query = browse(begun.url)
    await world.come_back(begun, query)
    asked = token_requests(world)
    with pytest.raises(OAuthFailed, match="already used"):
        await world.come_back(begun, query)
    assert token_requests(world) == asked
    assert await recorded(world)


async def test_28_a_guessed_state(world: World) -> None:
    """Defence: `if flow is None` in flow.py `finish`: only a state that was made here, for a login under way."""
    begun = await world.begin()
    query = browse(begun.url)
    for state in ("", "x" * 43):
        with pytest.raises(OAuthFailed, match="no pending login"):
            await world.come_back(begun, {**query, "state": state})
    assert token_requests(world) == 0


async def test_28_a_state_that_is_too_old(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defence: `expires_at > now` in storage/credentials/oauth_flows.py `_live`."""
    begun = await world.begin()
    query = browse(begun.url)
    monkeypatch.setattr(code_flow, "now_ms", lambda: now_ms() + code_flow.LIFETIME_MS + 1)
    with pytest.raises(OAuthFailed, match="has expired"):
        await world.come_back(begun, query)
    assert token_requests(world) == 0


async def test_28_a_stolen_code_in_another_login(world: World) -> None:
    """Defence: `code_verifier` in flow.py `_exchange`: one made for this login, and known to nobody else."""
    stolen, mine = await world.begin(), await world.begin()
    code = browse(stolen.url)["code"]
    with pytest.raises(OAuthFailed, match="invalid_grant"):
        await world.come_back(mine, {**browse(mine.url), "code": code})
    assert await nothing_connected(world)


@pytest.mark.parametrize("methods", [None, ["plain"], []])
async def test_28_missing_pkce(world: World, methods: list[str] | None) -> None:
    """Defence: `if not server.pkce` in flow.py `_check`: no browser is sent where a stolen code would be enough."""
    world.authority.metadata["code_challenge_methods_supported"] = methods
    with pytest.raises(OAuthFailed, match="PKCE"):
        await world.begin()


async def test_28_iss_mix_up(world: World) -> None:
    """Defence: `same_issuer(issuer, server.issuer)` in flow.py `_code`: the code goes to who issued it or nowhere."""
    world.authority.issuer_in_answer = "https://attacker.example"
    begun = await world.begin()
    with pytest.raises(OAuthFailed, match=r"attacker\.example"):
        await world.come_back(begun, browse(begun.url))
    assert token_requests(world) == 0


async def test_28_iss_left_out_by_a_server_that_promises_it(world: World) -> None:
    """Defence: `server.states_issuer` in flow.py `_code`: what is promised can't be stripped."""
    begun = await world.begin()
    query = browse(begun.url)
    query.pop("iss")
    with pytest.raises(OAuthFailed, match="from nobody"):
        await world.come_back(begun, query)
    assert token_requests(world) == 0


async def test_28_metadata_in_anothers_name(world: World) -> None:
    """Defence: `same_issuer(said, issuer)` in metadata.py `read_server`."""
    world.service.publishes = True
    world.authority.metadata["issuer"] = "https://bank.example"
    with pytest.raises(OAuthFailed, match=r"bank\.example"):
        await world.begin()


async def test_28_an_answer_in_another_browser(world: World) -> None:
    """Defence: `hmac.compare_digest` in flow.py `finish`: an attacker's answer does not become the victim's account."""
    for browser in ("", "someone-elses-cookie"):
        begun = await world.begin()
        with pytest.raises(OAuthFailed, match="different browser"):
            await world.come_back(begun, browse(begun.url), browser=browser)
        assert await recorded(world)
    assert token_requests(world) == 0
    assert await nothing_connected(world)


async def test_28_a_link_opened_twice(world: World) -> None:
    """Defence: `browser_digest == ticket_digest` in storage/credentials/oauth_flows.py `bind_flow`: the first browser
    has it."""
    begun = await world.logins.begin(world.operator, world.wish(), in_browser=False)
    victim = await world.logins.code.take_up(begun.ticket)
    with pytest.raises(OAuthFailed, match="already used"):
        await world.logins.code.take_up(begun.ticket)
    with pytest.raises(OAuthFailed, match="different browser"):
        await world.come_back(victim, browse(victim.url), browser=begun.ticket)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
@pytest.mark.parametrize(
    "address", ["javascript:alert(document.cookie)", "data:text/html,x", "file:///etc/passwd", "//evil.example/x"]
)
async def test_28_javascript_address(world: World, name: str, address: str) -> None:
    """Defence: `parse(value)` in metadata.py `address`: only http and https, with a host and no user."""
    world.service.publishes = True
    world.authority.metadata[name] = address
    with pytest.raises(OAuthFailed, match=f"unusable {name}"):
        await world.begin()


async def test_28_javascript_address_to_type_the_code_in(world: World) -> None:
    """Defence: `address(answer, "verification_uri")` in device.py `begin`: it is printed, and clicked."""

    def hostile(path: str, data: dict[str, str]) -> Answer | None:
        answer = {"device_code": "d", "user_code": "U", "verification_uri": "javascript:alert(1)", "expires_in": 60}
        return (200, answer, {}) if path == "/device_authorization" else None

    world.authority.hook = hostile
    with pytest.raises(OAuthFailed, match="unusable verification_uri"):
        await world.logins.begin_device(world.operator, world.wish())


async def test_28_open_redirect_by_the_endpoints_own_parameters(world: World) -> None:
    """Defence: `if name not in OWN` in flow.py `_authorization_url`: what is ours to say is said once, by us."""
    world.service.publishes = True
    world.authority.metadata["authorization_endpoint"] = (
        f"{world.authority.issuer}/authorize?tenant=1&redirect_uri=https%3A%2F%2Fevil.example&state=known"
        "&client_id=evil&response_mode=fragment&code_challenge_method=plain&request_uri=https%3A%2F%2Fevil.example"
    )
    begun = await world.begin()
    asked = parse_qs(urlsplit(begun.url).query)
    assert asked["redirect_uri"] == [f"{BASE}/oauth/callback"]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["tenant"] == ["1"]
    assert [len(values) for values in asked.values()] == [1] * len(asked)
    assert not {"request_uri", "response_mode"} & set(asked)
    assert "evil" not in begun.url


async def test_28_code_sent_to_an_endpoint_that_redirects(world: World) -> None:
    """Defence: the last `raise` of network/client.py `redirect`: a body never leaves the origin it was meant for."""
    begun = await world.begin()
    query = browse(begun.url)
    target = f"{world.service.origin}/api/steal"

    def redirecting(path: str, data: dict[str, str]) -> Answer | None:
        return (307, {}, {"Location": target}) if path == "/token" else None

    world.authority.hook = redirecting
    with pytest.raises(OAuthFailed):
        await world.come_back(begun, query)
    assert world.service.seen == []


@pytest.mark.parametrize("where", ["http://169.254.169.254/token", "http://[::1]:1/token", "http://10.0.0.1/token"])
async def test_28_token_endpoint_on_a_private_network(world: World, where: str) -> None:
    """Defence: `self._egress.reach(target, origins)` in wire.py `check`, and network/client.py itself behind it."""
    world.service.publishes = True
    begun = await world.begin()
    query = browse(begun.url)
    world.authority.metadata["token_endpoint"] = where
    await world.come_back(begun, query)  # what was found when it began holds
    with pytest.raises(OAuthFailed, match="private network"):
        await world.begin()


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_28_login_without_encryption(world: World, name: str) -> None:
    """Defence: `if target.scheme == "http" and reach == PUBLIC` in wire.py `check`."""
    world.service.publishes = True
    world.authority.metadata[name] = "http://login.example/x"
    with pytest.raises(OAuthFailed, match="not encrypted"):
        await world.begin()


async def test_28_an_error_that_echoes_what_was_sent(world: World) -> None:
    """Defence: `redact(...)` in tokens.py `clean`: an error's words go to people, logs and events."""
    begun = await world.begin()
    query = browse(begun.url)

    def echoing(path: str, data: dict[str, str]) -> Answer | None:
        told = f"\x1b[2Jcode {data.get('code')} verifier {data.get('code_verifier')}"
        return (400, {"error": "invalid_grant", "error_description": told}, {}) if path == "/token" else None

    world.authority.hook = echoing
    with pytest.raises(OAuthFailed) as refused:
        await world.come_back(begun, query)
    told = f"{refused.value.message} {refused.value.details}"
    assert query["code"] not in told
    assert "verifier [redacted]" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "a b", "", "x" * 20_000, 7, None, "\x00"])
async def test_28_a_token_that_is_no_header(world: World, token: object) -> None:
    """Defence: `_TOKEN.match(access)` in tokens.py `read`: what comes in is sent out again in a header."""
    begun = await world.begin()
    query = browse(begun.url)
    world.authority.hook = lambda path, data: (200, {"access_token": token}, {}) if path == "/token" else None
    with pytest.raises(OAuthFailed, match="without a usable access token"):
        await world.come_back(begun, query)
    assert await nothing_connected(world)


async def test_28_a_token_that_must_be_proved_is_not_sent_as_a_bearer_token(world: World) -> None:
    """Defence: the check of `token_type` in tokens.py `read`."""
    begun = await world.begin()
    query = browse(begun.url)
    answer = {"access_token": "abc", "token_type": "DPoP"}
    world.authority.hook = lambda path, data: (200, answer, {}) if path == "/token" else None
    with pytest.raises(OAuthFailed, match="not bearer tokens"):
        await world.come_back(begun, query)
