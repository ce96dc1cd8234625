"""Attacks on grants that are there: races, diverted refresh tokens, grants moved from one connection to another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from executor.errors import CredentialRequired, SecretUnavailable
from executor.model.ids import now_ms
from executor.storage.credentials import connections
from executor.storage.tables.access import grants
from tests.support.logins import World, opened


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with opened(tmp_path) as world:
        yield world


async def expire(world: World) -> None:
    await world.database.write(lambda c: c.execute(sa.update(grants).values(expires_at=now_ms() - 1)))
    world.logins.grants._known.clear()


async def test_28_refresh_race(world: World) -> None:
    """Defence: `grants.c.generation == generation` with the claim in storage/credentials/connections.py
    `claim_refresh`, and
    `self._renewing` in grants.py before it. Without them the server sees a token twice and revokes the grant."""
    await world.login()
    connection = await world.connection()
    others = [await world.another() for _ in range(5)]
    for _ in range(3):
        await expire(world)
        for one in others:
            one.grants._known.clear()
        tokens = await asyncio.gather(
            *(one.grants.access_token(connection) for one in (world.logins, *others) for _ in range(10))
        )
        assert len(set(tokens)) == 1
    assert world.authority.ledger.asked["refresh_token"] == 3
    assert not world.authority.ledger.revoked


async def test_28_a_refresh_token_diverted_by_later_metadata(world: World) -> None:
    """Defence: `saving.unpacked(connection.options[OAUTH])` in grants.py `_ask`: what was consented to is fixed."""
    world.service.publishes = True
    await world.login()
    await expire(world)
    world.authority.metadata["token_endpoint"] = f"{world.service.origin}/api/steal"
    assert await world.logins.grants.access_token(await world.connection())
    assert world.service.seen == []


async def test_28_a_grant_copied_over_another_connections(world: World) -> None:
    """Defence: `grant_context` in keeping.py: a sealed grant opens for its own connection only."""
    await world.login()
    await world.login(name="other")
    found = await world.database.read(lambda c: connections.of_source(c, world.source.id))
    one, other = sorted(found, key=lambda connection: connection.name)

    def copy(c: sa.Connection) -> None:
        stolen = connections.grant(c, one.id)
        assert stolen is not None
        connections.store_grant(c, replace(stolen, connection_id=other.id))

    await world.database.write(copy)
    assert await world.logins.grants.access_token(one)
    with pytest.raises(SecretUnavailable):
        await world.logins.grants.access_token(other)


async def test_28_a_refused_grant_is_not_tried_in_a_loop(world: World) -> None:
    """Defence: `set_status` in grants.py `_failed`, which resolving then takes as a missing credential."""
    await world.login()
    await expire(world)
    world.authority.ledger.revoked.add(world.authority.ledger.tokens[-1].family)
    connection = await world.connection()
    with pytest.raises(CredentialRequired):
        await world.logins.grants.access_token(connection)
    assert (await world.connection()).status == "revoked"
    found = await world.connections.of_source(world.source.id)
    assert [one.status for one in found] == ["revoked"]


async def test_28_a_refresh_token_shown_again_by_a_thief_costs_the_grant_and_nothing_else(world: World) -> None:
    """Defence: `lost and mine` in grants.py `_failed`: a revoked family becomes a question, for one connection."""
    await world.login()
    await world.login(name="other")
    found = await world.database.read(lambda c: connections.of_source(c, world.source.id))
    victim, other = sorted(found, key=lambda connection: connection.name)
    [first, _] = world.authority.ledger.tokens
    world.authority.ledger.revoked.add(first.family)
    await expire(world)
    with pytest.raises(CredentialRequired):
        await world.logins.grants.access_token(victim)
    assert await world.logins.grants.access_token(other)
