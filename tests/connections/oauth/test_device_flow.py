"""The login on another device, and how politely the server is asked about it."""

from __future__ import annotations

import pytest

from executor.connections.oauth import device_flow
from executor.errors import OAuthFailed
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from tests.support.login_harness import LoginHarness


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0
        monkeypatch.setattr(device_flow, "now_ms", lambda: now_ms() + self.ahead)

    def wait(self, seconds: float) -> None:
        self.ahead += int(seconds * 1000) + 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def answer(harness: LoginHarness, word: str, **more: object) -> None:
    for one in harness.authority.ledger.devices.values():
        one.update(answer=word, **more)


async def test_a_person_agrees_elsewhere_and_the_connection_is_ready(harness: LoginHarness, clock: Clock) -> None:
    shown = await harness.logins.begin_device(harness.operator, harness.wish())
    assert shown.user_code in shown.complete_url
    assert (await harness.logins.ask_device(harness.operator, shown.flow)).status == "pending"
    answer(harness, "yes")
    clock.wait(shown.interval)
    state = await harness.logins.ask_device(harness.operator, shown.flow)
    assert state.connected is not None
    assert harness.told == [state.connected]
    assert await harness.logins.grants.access_token(await harness.connection())
    with pytest.raises(OAuthFailed, match="already completed"):
        await harness.logins.ask_device(harness.operator, shown.flow)


async def test_the_server_is_not_asked_sooner_than_it_wants(harness: LoginHarness, clock: Clock) -> None:
    shown = await harness.logins.begin_device(harness.operator, harness.wish())
    for _ in range(5):
        assert (await harness.logins.ask_device(harness.operator, shown.flow)).interval == 5
    assert harness.authority.ledger.asked["/token"] == 1


async def test_slow_down_means_five_seconds_more(harness: LoginHarness, clock: Clock) -> None:
    shown = await harness.logins.begin_device(harness.operator, harness.wish())
    answer(harness, "", slow=True)
    assert (await harness.logins.ask_device(harness.operator, shown.flow)).interval == 10
    clock.wait(5)
    await harness.logins.ask_device(harness.operator, shown.flow)
    assert harness.authority.ledger.asked["/token"] == 1
    clock.wait(5)
    await harness.logins.ask_device(harness.operator, shown.flow)
    assert harness.authority.ledger.asked["/token"] == 2


async def test_a_person_who_declines_ends_it(harness: LoginHarness, clock: Clock) -> None:
    shown = await harness.logins.begin_device(harness.operator, harness.wish())
    answer(harness, "no")
    with pytest.raises(OAuthFailed, match="access_denied"):
        await harness.logins.ask_device(harness.operator, shown.flow)
    with pytest.raises(OAuthFailed, match="already completed"):
        await harness.logins.ask_device(harness.operator, shown.flow)


async def test_a_login_by_device_is_its_starters_alone(harness: LoginHarness, clock: Clock) -> None:
    shown = await harness.logins.begin_device(harness.operator, harness.wish())
    other = Actor("act_other", harness.operator.workspace_id, "human", "Eve")
    with pytest.raises(OAuthFailed, match="already completed"):
        await harness.logins.ask_device(other, shown.flow)


async def test_a_code_that_no_one_types_in_runs_out(harness: LoginHarness, clock: Clock) -> None:
    shown = await harness.logins.begin_device(harness.operator, harness.wish())
    clock.wait(31 * 60)
    with pytest.raises(OAuthFailed, match="has expired"):
        await harness.logins.ask_device(harness.operator, shown.flow)


async def test_a_server_without_it_says_so(harness: LoginHarness) -> None:
    harness.authority.metadata["device_authorization_endpoint"] = None
    with pytest.raises(OAuthFailed, match="does not support device login"):
        await harness.logins.begin_device(harness.operator, harness.wish())
