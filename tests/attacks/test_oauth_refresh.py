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
from tests.support.login_harness import LoginHarness, open_harness


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[LoginHarness]:
    async with open_harness(tmp_path) as harness:
        yield harness


async def expire(harness: LoginHarness) -> None:
    await harness.database.write(lambda c: c.execute(sa.update(grants).values(expires_at=now_ms() - 1)))
    harness.logins.grants._known.clear()


async def test_28_refresh_race(harness: LoginHarness) -> None:
    """Defence: `grants.c.generation == generation` with the claim in storage/credentials/connections.py
    `claim_refresh`, and
    `self._renewing` in grants.py before it. Without them the server sees a token twice and revokes the grant."""
    await harness.login()
    connection = await harness.connection()
    others = [await harness.another() for _ in range(5)]
    for _ in range(3):
        await expire(harness)
        for one in others:
            one.grants._known.clear()
        tokens = await asyncio.gather(
            *(one.grants.access_token(connection) for one in (harness.logins, *others) for _ in range(10))
        )
        assert len(set(tokens)) == 1
    assert harness.authority.ledger.asked["refresh_token"] == 3
    assert not harness.authority.ledger.revoked


async def test_28_a_refresh_token_diverted_by_later_metadata(harness: LoginHarness) -> None:
    """Defence: `saving.unpacked(connection.options[OAUTH])` in grants.py `_ask`: what was consented to is fixed."""
    harness.service.publishes = True
    await harness.login()
    await expire(harness)
    harness.authority.metadata["token_endpoint"] = f"{harness.service.origin}/api/steal"
    assert await harness.logins.grants.access_token(await harness.connection())
    assert harness.service.seen == []


async def test_28_a_grant_copied_over_another_connections(harness: LoginHarness) -> None:
    """Defence: `grant_context` in keeping.py: a sealed grant opens for its own connection only."""
    await harness.login()
    await harness.login(name="other")
    found = await harness.database.read(lambda c: connections.of_source(c, harness.source.id))
    one, other = sorted(found, key=lambda connection: connection.name)

    def copy(c: sa.Connection) -> None:
        stolen = connections.grant(c, one.id)
        assert stolen is not None
        connections.store_grant(c, replace(stolen, connection_id=other.id))

    await harness.database.write(copy)
    assert await harness.logins.grants.access_token(one)
    with pytest.raises(SecretUnavailable):
        await harness.logins.grants.access_token(other)


async def test_28_a_refused_grant_is_not_tried_in_a_loop(harness: LoginHarness) -> None:
    """Defence: `set_status` in grants.py `_failed`, which resolving then takes as a missing credential."""
    await harness.login()
    await expire(harness)
    harness.authority.ledger.revoked.add(harness.authority.ledger.tokens[-1].family)
    connection = await harness.connection()
    with pytest.raises(CredentialRequired):
        await harness.logins.grants.access_token(connection)
    assert (await harness.connection()).status == "revoked"
    found = await harness.connections.of_source(harness.source.id)
    assert [one.status for one in found] == ["revoked"]


async def test_28_a_refresh_token_shown_again_by_a_thief_costs_the_grant_and_nothing_else(
    harness: LoginHarness,
) -> None:
    """Defence: `lost and mine` in grants.py `_failed`: a revoked family becomes an interaction, for one connection."""
    await harness.login()
    await harness.login(name="other")
    found = await harness.database.read(lambda c: connections.of_source(c, harness.source.id))
    victim, other = sorted(found, key=lambda connection: connection.name)
    [first, _] = harness.authority.ledger.tokens
    harness.authority.ledger.revoked.add(first.family)
    await expire(harness)
    with pytest.raises(CredentialRequired):
        await harness.logins.grants.access_token(victim)
    assert await harness.logins.grants.access_token(other)
