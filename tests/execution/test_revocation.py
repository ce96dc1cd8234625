"""What was submitted with access that was revoked since stops before its next call."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy.engine import Connection

from executor.execution.outcome import Outcome
from executor.identity import agents, keys
from executor.identity import members as membership
from executor.model.identity.actor import Actor
from executor.model.ids import now_ms
from executor.storage.executions import calls, events
from executor.storage.identity import api_keys, members, tenancy
from tests.execution.conftest import ExecutorHarness, value
from tests.support.interleaving import interleave

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'
READ = 'return (await tools.ledger.entries.listEntries({key: "r"})).key'


async def an_agent(harness: ExecutorHarness) -> Actor:
    local = harness.executor.tenancy
    made, _ = await agents.create(harness.executor.database, local.operator, "helper", None)
    assert made.key is not None
    return replace(made.actor, via="agent_token", credential_id=made.key.id, address="127.0.0.1")


async def a_member(harness: ExecutorHarness) -> Actor:
    local = harness.executor.tenancy

    def join(c: Connection) -> Actor:
        account = members.add_account(c, "Ada")
        members.add(c, local.organization.id, account.id, "member")
        actor = tenancy.human(c, local.workspace.id, account.id)
        assert actor is not None
        return actor

    return replace(await harness.executor.database.write(join), via="browser", credential_id="ses_1")


async def run_as(harness: ExecutorHarness, actor: Actor, code: str) -> Outcome:
    return await harness.executor.engine.run(actor, code, seconds=120.0)


async def revoke(harness: ExecutorHarness, agent: Actor) -> None:
    local = harness.executor.tenancy
    await agents.revoke(harness.executor.database, local, local.operator, agent.id)


async def check_stopped(harness: ExecutorHarness, outcome: Outcome, why: str) -> None:
    finished = await harness.executor.engine.wait(harness.executor.tenancy.operator, outcome.execution.id, 120.0)
    failure = finished.execution.failure
    assert failure is not None
    assert (finished.execution.status, failure.code) == ("failed", "access_revoked")
    assert why in failure.message
    assert harness.effects() == []


async def test_an_approved_call_of_a_revoked_agent_is_not_sent(harness: ExecutorHarness) -> None:
    agent = await an_agent(harness)
    outcome = await run_as(harness, agent, WRITE)
    assert outcome.execution.status == "paused"
    await revoke(harness, agent)
    await harness.settle(outcome, "approve")
    await check_stopped(harness, outcome, "the key 'helper' was revoked")
    found = await harness.executor.database.read(
        lambda c: calls.of_execution(c, agent.workspace_id, outcome.execution.id)
    )
    assert [call.state for call in found] == ["abandoned"]


async def test_a_revoked_agent_that_comes_back_does_not_revive_what_it_submitted(harness: ExecutorHarness) -> None:
    agent = await an_agent(harness)
    outcome = await run_as(harness, agent, WRITE)
    await revoke(harness, agent)
    again = await an_agent(harness)
    assert again.id == agent.id
    await harness.settle(outcome, "approve")
    await check_stopped(harness, outcome, "was revoked")
    assert value(await run_as(harness, again, READ)) == "r"


async def test_code_that_catches_everything_ends_before_its_next_call(harness: ExecutorHarness) -> None:
    agent = await an_agent(harness)
    outcome = await run_as(
        harness, agent, f"try {{ await (async () => {{ {WRITE} }})() }} catch (e) {{ {READ} }} return 1"
    )
    await revoke(harness, agent)
    await harness.settle(outcome, "deny")
    await check_stopped(harness, outcome, "was revoked")


async def test_a_call_that_is_journalled_when_its_agent_is_revoked_is_not_sent(harness: ExecutorHarness) -> None:
    """The revocation is committed after the call was judged, and before it is sent."""
    agent = await an_agent(harness)
    await harness.policy("ledger.**", "allow")
    assert value(await run_as(harness, agent, READ)) == "r"

    def revoke_now(c: Connection) -> None:
        api_keys.revoke(c, agent.workspace_id, agent.credential_id, now_ms())
        events.append(c, agent.workspace_id, "agent.revoked", {"agentId": agent.id})

    with interleave(harness.executor.database, revoke_now, before="calls"):
        outcome = await run_as(harness, agent, f"try {{ {WRITE} }} catch (e) {{ return e.code }}")
    assert value(outcome) == "access_revoked"
    assert harness.effects() == []


@pytest.mark.parametrize("role", ["viewer", None])
async def test_what_a_member_submitted_stops_when_they_may_no_longer_run_code(
    harness: ExecutorHarness, role: str | None
) -> None:
    member, local = await a_member(harness), harness.executor.tenancy
    outcome = await run_as(harness, member, WRITE)
    if role is None:
        await membership.remove(harness.executor.database, local, local.operator, member.account_id)
    else:
        await membership.change(harness.executor.database, local, local.operator, member.account_id, "viewer")
    await harness.settle(outcome, "approve")
    await check_stopped(harness, outcome, "may not run code" if role else "no longer a member")


async def test_what_a_revoked_key_submitted_stops_and_the_rest_of_its_owner_continues(harness: ExecutorHarness) -> None:
    operator, database = harness.executor.tenancy.operator, harness.executor.database
    key, _ = await keys.create(database, operator, "ci", ["execute"], None)
    with_key = replace(operator, via="api_key", credential_id=key.id)
    stopped, continued = await run_as(harness, with_key, WRITE), await run_as(harness, operator, WRITE)
    await keys.revoke(database, operator, key.id)
    await harness.settle(stopped, "approve")
    await check_stopped(harness, stopped, "the key 'ci' was revoked")
    await harness.settle(continued, "approve")
    finished = await harness.executor.engine.wait(operator, continued.execution.id, 120.0)
    assert value(finished) == {"kind": "entries", "key": "a"}


async def test_a_key_that_only_expired_stops_nothing(harness: ExecutorHarness) -> None:
    agent = await an_agent(harness)
    outcome = await run_as(harness, agent, WRITE)
    await harness.executor.database.write(
        lambda c: api_keys.expire(c, agent.workspace_id, agent.credential_id, now_ms())
    )
    await harness.settle(outcome, "approve")
    finished = await harness.executor.engine.wait(agent, outcome.execution.id, 120.0)
    assert value(finished) == {"kind": "entries", "key": "a"}
