"""The login on another device, and how politely the server is asked about it."""

from __future__ import annotations

import pytest

from executor.connections.oauth import device_flow
from executor.errors import OAuthFailed
from executor.model.actor import Actor
from executor.model.ids import now_ms
from tests.support.logins import World


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


def answer(world: World, word: str, **more: object) -> None:
    for one in world.authority.ledger.devices.values():
        one.update(answer=word, **more)


async def test_a_person_agrees_elsewhere_and_the_connection_is_ready(world: World, clock: Clock) -> None:
    shown = await world.logins.begin_device(world.operator, world.wish())
    assert shown.user_code in shown.complete_url
    assert (await world.logins.ask_device(world.operator, shown.flow)).status == "pending"
    answer(world, "yes")
    clock.wait(shown.interval)
    standing = await world.logins.ask_device(world.operator, shown.flow)
    assert standing.connected is not None
    assert world.told == [standing.connected]
    assert await world.logins.grants.access_token(await world.connection())
    with pytest.raises(OAuthFailed, match="already completed"):
        await world.logins.ask_device(world.operator, shown.flow)


async def test_the_server_is_not_asked_sooner_than_it_wants(world: World, clock: Clock) -> None:
    shown = await world.logins.begin_device(world.operator, world.wish())
    for _ in range(5):
        assert (await world.logins.ask_device(world.operator, shown.flow)).interval == 5
    assert world.authority.ledger.asked["/token"] == 1


async def test_slow_down_means_five_seconds_more(world: World, clock: Clock) -> None:
    shown = await world.logins.begin_device(world.operator, world.wish())
    answer(world, "", slow=True)
    assert (await world.logins.ask_device(world.operator, shown.flow)).interval == 10
    clock.wait(5)
    await world.logins.ask_device(world.operator, shown.flow)
    assert world.authority.ledger.asked["/token"] == 1
    clock.wait(5)
    await world.logins.ask_device(world.operator, shown.flow)
    assert world.authority.ledger.asked["/token"] == 2


async def test_a_person_who_declines_ends_it(world: World, clock: Clock) -> None:
    shown = await world.logins.begin_device(world.operator, world.wish())
    answer(world, "no")
    with pytest.raises(OAuthFailed, match="access_denied"):
        await world.logins.ask_device(world.operator, shown.flow)
    with pytest.raises(OAuthFailed, match="already completed"):
        await world.logins.ask_device(world.operator, shown.flow)


async def test_a_login_by_device_is_its_starters_alone(world: World, clock: Clock) -> None:
    shown = await world.logins.begin_device(world.operator, world.wish())
    other = Actor("act_other", world.operator.workspace_id, "human", "Eve")
    with pytest.raises(OAuthFailed, match="already completed"):
        await world.logins.ask_device(other, shown.flow)


async def test_a_code_that_nobody_types_in_runs_out(world: World, clock: Clock) -> None:
    shown = await world.logins.begin_device(world.operator, world.wish())
    clock.wait(31 * 60)
    with pytest.raises(OAuthFailed, match="has expired"):
        await world.logins.ask_device(world.operator, shown.flow)


async def test_a_server_without_it_says_so(world: World) -> None:
    world.authority.metadata["device_authorization_endpoint"] = None
    with pytest.raises(OAuthFailed, match="does not support device login"):
        await world.logins.begin_device(world.operator, world.wish())
