"""Virtual keys: good for one provider through the socket of one session, until it ends; and the keys behind them."""

from __future__ import annotations

import os
import stat
from dataclasses import replace

import pytest

from executor.errors import Conflict, CredentialRequired, Forbidden, InvalidRequest, NotFound
from executor.model.identity.permissions import MEMBER
from executor.sessions.model_proxy.access import Terms
from executor.sessions.model_proxy.session_models import open_models
from tests.sessions.model_proxy.conftest import REAL_KEY, Place, agent, message


async def post(place: Place, key: str, through: object) -> int:
    async with agent(through) as client:  # type: ignore[arg-type]
        response = await client.post("/v1/messages", json=message(), headers={"x-api-key": key})
        await response.read()
        return response.status


async def test_a_key_is_good_only_through_the_socket_of_its_session(place: Place) -> None:
    mine = await place.open()
    other = await place.proxy.open(place.party("ses_2"), "anthropic")
    assert await post(place, mine.api_key, mine) == 200
    assert await post(place, mine.api_key, other) == 401
    assert await post(place, "", mine) == 401


async def test_a_key_ends_with_its_time(place: Place) -> None:
    key = await place.open(key_ms=0)
    assert await post(place, key.api_key, key) == 401


async def test_a_key_and_its_socket_end_with_the_session(place: Place) -> None:
    key = await place.open()
    await place.proxy.close_session("ses_1")
    assert not key.socket.exists()
    again = await place.open()
    assert await post(place, key.api_key, again) == 401
    assert await post(place, again.api_key, again) == 200
    assert [one["sessionId"] for one in await place.events("model_key.revoked")] == ["ses_1"]


async def test_several_keys_of_a_session_are_good_at_once(place: Place) -> None:
    first, second = await place.open(), await place.open()
    assert first.socket == second.socket and first.api_key != second.api_key
    assert await post(place, first.api_key, first) == 200 == await post(place, second.api_key, first)


async def test_the_socket_is_private(place: Place) -> None:
    key = await place.open()
    assert stat.S_IMODE(key.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.socket.parent.stat().st_mode) == 0o700


async def test_only_the_expected_user_may_connect(place: Place) -> None:
    """Even with a good key and a descriptor of the socket."""
    key = await place.open()
    place.proxy._open["ses_1"].listener._peer_uid = os.geteuid() + 1
    assert await post(place, key.api_key, key) == 403
    assert place.provider.seen == []


async def test_a_session_is_not_opened_twice_for_different_users(place: Place) -> None:
    await place.open()
    with pytest.raises(Conflict):
        await place.proxy.open(place.party("ses_1", "act_other"), "anthropic")


async def test_loopback_is_served_only_if_it_was_asked_for(place: Place) -> None:
    plain = await place.open("openai")
    assert plain.base_url == "" and plain.base_url_at("http://127.0.0.1:9") == "http://127.0.0.1:9/v1"
    key = await place.open("openai", loopback=True)
    assert key.base_url.startswith("http://127.0.0.1:") and key.base_url.endswith("/v1")
    async with agent(key) as client:
        for value, status in ((key.api_key, 200), ("sk-other", 401)):
            response = await client.get("/v1/models", headers={"Authorization": f"Bearer {value}"})
            assert response.status == status


async def test_nothing_shows_a_key(place: Place) -> None:
    key = await place.open()
    assert key.api_key not in repr(key)
    await post(place, key.api_key, key)
    assert REAL_KEY not in repr(place.proxy.__dict__)


async def test_no_key_set_is_said_before_the_session_starts(place: Place) -> None:
    await place.keys.remove("gemini", "workspace", by=place.by)
    with pytest.raises(CredentialRequired, match="gemini"):
        await place.open("gemini")
    with pytest.raises(NotFound):
        await place.keys.remove("gemini", "workspace", by=place.by)


async def test_a_key_of_ones_own_comes_before_that_of_the_workspace(place: Place) -> None:
    await place.keys.set("anthropic", "actor", value="sk-own-key-55555555", by=place.by)
    key = await place.open()
    assert await post(place, key.api_key, key) == 200
    other = await place.proxy.open(place.party("ses_2", "act_other"), "anthropic")
    assert await post(place, other.api_key, other) == 200
    assert [one.header("x-api-key") for one in place.provider.seen] == ["sk-own-key-55555555", REAL_KEY]
    listed = await place.keys.listing(place.by)
    assert [(one.provider, bool(one.actor_id)) for one, _ in listed][:2] == [("anthropic", False), ("anthropic", True)]


async def test_a_key_may_be_a_named_secret_which_is_then_bound_to_the_provider(place: Place) -> None:
    await place.secrets.set(place.workspace_id, "claude", "sk-named-66666666", by=place.by)
    await place.keys.set("anthropic", "workspace", secret="claude", by=place.by)
    key = await place.open()
    assert await post(place, key.api_key, key) == 200
    assert place.provider.seen[0].header("x-api-key") == "sk-named-66666666"
    [secret] = await place.secrets.listing(place.workspace_id)
    assert secret.origins == (place.provider.origin,)
    with pytest.raises(Conflict, match="model key"):
        await place.secrets.remove(place.workspace_id, "claude", by=place.by)
    await place.secrets.remove(place.workspace_id, "claude", by=place.by, force=True)
    assert await post(place, key.api_key, key) == 403


async def test_a_member_sets_a_key_only_for_their_own_sessions(place: Place) -> None:
    member = replace(place.by, id="act_member", permissions=MEMBER)
    with pytest.raises(Forbidden):
        await place.keys.set("anthropic", "workspace", value="sk-x", by=member)
    with pytest.raises(Forbidden):
        await place.keys.set("anthropic", "actor", secret="claude", by=member)
    await place.keys.set("anthropic", "actor", value="sk-members", by=member)
    assert {one.actor_id for one, _ in await place.keys.listing(place.by)} == {""}, "no one sees the key of another"


@pytest.mark.parametrize("value", ["", " ", "two words", "line\nbreak", "ümlaut", "x" * 5000])
async def test_a_value_that_can_be_no_key_is_refused(place: Place, value: str) -> None:
    with pytest.raises(InvalidRequest):
        await place.keys.set("anthropic", "workspace", value=value, by=place.by)


async def test_the_process_of_a_session_gets_its_socket_first_and_keys_by_the_name_of_a_provider(place: Place) -> None:
    models = await open_models(place.proxy, place.party(), Terms())
    assert models.socket.is_socket()
    issued, other = await models.issue("openai"), await models.issue("anthropic")
    assert issued["base_url"].endswith("/v1") and issued["api_key"] != other["api_key"]
    key = await place.open()
    assert key.socket == models.socket and await post(place, other["api_key"], key) == 200
    with pytest.raises(InvalidRequest, match="mistral"):
        await models.issue("mistral")
    await models.close()
    assert not models.socket.exists()
