"""What two sides do at once: one of them wins, the other changes nothing, and no call is left behind."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.engine import Connection

from executor.errors import AlreadySettled, Conflict
from executor.execution.approvals.expiry import expire
from executor.execution.approvals.orphans import deny_orphans
from executor.execution.approvals.settlement import settle
from executor.execution.outcome import Outcome
from executor.execution.policies.always import draft_policy
from executor.model.execution import Call
from executor.model.ids import now_ms
from executor.storage.catalog import policies
from executor.storage.executions import calls, events, executions, interactions, permits
from tests.execution.conftest import ExecutorHarness, value
from tests.support.interleaving import interleave, record_tables

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'
CAUGHT = f"try {{ {WRITE} }} catch (e) {{ return e.code }}"


def deny(harness: ExecutorHarness, outcome: Outcome) -> Any:
    return lambda c: settle(c, outcome.interactions[0], "denied", by=harness.executor.tenancy.operator, reason="no")


async def read(harness: ExecutorHarness, job: Any) -> Any:
    return await harness.executor.database.read(job)


async def types(harness: ExecutorHarness) -> list[str]:
    found = await read(harness, lambda c: events.after(c, harness.executor.tenancy.workspace.id))
    return [event.type for event in found]


async def test_an_approval_that_lost_to_a_denial_changes_nothing_and_says_who_decided(
    harness: ExecutorHarness,
) -> None:
    outcome = await harness.run(CAUGHT)
    with interleave(harness.executor.database, deny(harness, outcome)), pytest.raises(AlreadySettled) as refused:
        await harness.settle(outcome, "approve", scope="execution")
    assert "denied by operator" in refused.value.message
    assert refused.value.details["settledBy"] == harness.executor.tenancy.operator.id
    decisions = await read(harness, lambda c: permits.of_execution(c, outcome.execution.id))
    assert decisions.permits == {}
    assert "interaction.approved" not in await types(harness)
    assert harness.effects() == []


async def test_a_decision_that_came_too_late_changes_nothing_by_its_own_transaction(harness: ExecutorHarness) -> None:
    """Whatever its caller read before: the permit, the event and the claim come only after the row is won."""
    outcome = await harness.run(CAUGHT)
    asked = outcome.interactions[0]

    def twice(c: Connection) -> None:
        settle(c, asked, "denied", by=harness.executor.tenancy.operator)
        before = len(events.after(c, asked.workspace_id))
        epoch = executions.get(c, asked.workspace_id, asked.execution_id)
        with pytest.raises(AlreadySettled):
            settle(c, asked, "approved", by=harness.executor.tenancy.operator, scope="execution")
        assert permits.of_execution(c, asked.execution_id).permits == {}
        assert len(events.after(c, asked.workspace_id)) == before
        assert executions.get(c, asked.workspace_id, asked.execution_id) == epoch

    await harness.executor.database.write(twice)


async def test_an_always_that_lost_adds_no_policy(harness: ExecutorHarness) -> None:
    outcome = await harness.run(CAUGHT)
    asked = outcome.interactions[0]
    call = await read(harness, lambda c: calls.one(c, asked.workspace_id, asked.execution_id, asked.call_seq))
    always = await draft_policy(harness.executor.pipeline, asked, call)
    with interleave(harness.executor.database, deny(harness, outcome)), pytest.raises(AlreadySettled):
        await harness.settle(outcome, "approve", scope="always", always=always)
    assert await read(harness, lambda c: policies.in_force(c, asked.workspace_id)) == []


async def test_the_sweep_leaves_alone_what_a_person_has_just_approved(harness: ExecutorHarness) -> None:
    outcome = await harness.run(CAUGHT)
    by, asked = harness.executor.tenancy.operator, outcome.interactions[0]
    with interleave(harness.executor.database, lambda c: settle(c, asked, "approved", by=by)):
        assert await expire(harness.executor.database, harness.executor.engine.settle_by, asked.expires_at + 1) == 0
    assert "interaction.expired" not in await types(harness)


async def test_removing_a_source_leaves_alone_what_was_decided_meanwhile(harness: ExecutorHarness) -> None:
    outcome = await harness.run(CAUGHT)
    by, asked = harness.executor.tenancy.operator, outcome.interactions[0]
    source = await harness.executor.catalog.source(asked.workspace_id, "ledger")
    assert source is not None
    with interleave(harness.executor.database, lambda c: settle(c, asked, "approved", by=by)):
        assert await deny_orphans(harness.executor.engine, source, by=by) == []


async def test_cancelling_closes_a_call_that_was_journalled_while_it_began(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    execution = outcome.execution
    late = Call(execution.id, execution.workspace_id, 7, "tool", "ledger.x", "{}", "d", "started", "write")

    def journal_call(c: Connection) -> None:
        executions.fence(c, execution.id, execution.epoch)
        calls.insert(c, [late])

    with interleave(harness.executor.database, journal_call):
        await harness.executor.engine.cancel(harness.executor.tenancy.operator, execution.id)
    found = await read(harness, lambda c: calls.of_execution(c, execution.workspace_id, execution.id))
    assert "started" not in {call.state for call in found}
    [sent] = [call for call in found if call.seq == 7]
    assert (sent.failure or {})["code"] == "unknown_outcome"


async def test_cancelling_after_the_end_changes_nothing(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    execution = outcome.execution

    def finish(c: Connection) -> None:
        executions.finish(c, execution.id, "completed", now_ms(), 1, "1", None)

    with interleave(harness.executor.database, finish), pytest.raises(Conflict, match="already completed"):
        await harness.executor.engine.cancel(harness.executor.tenancy.operator, execution.id)
    asked = await read(harness, lambda c: interactions.of_execution(c, execution.id))
    assert [one.status for one in asked] == ["pending"]


async def test_everyone_takes_the_execution_first(harness: ExecutorHarness) -> None:
    """Two who take the same rows in another order would wait for each other."""
    database, engine, by = harness.executor.database, harness.executor.engine, harness.executor.tenancy.operator
    taken: dict[str, list[str]] = {}
    outcome = await harness.run(CAUGHT)
    with record_tables(database) as taken["settle"]:
        await harness.settle(outcome, "approve", scope="execution")
    assert value(await harness.wait(outcome.execution.id)) == {"kind": "entries", "key": "a"}
    outcome = await harness.run(CAUGHT)
    with record_tables(database) as taken["expire"]:
        await expire(database, engine.settle_by, outcome.interactions[0].expires_at + 1)
    await harness.wait(outcome.execution.id)
    outcome = await harness.run(CAUGHT)
    with record_tables(database) as taken["cancel"]:
        await engine.cancel(by, outcome.execution.id)
    await harness.run(CAUGHT)
    source = await harness.executor.catalog.source(harness.executor.tenancy.workspace.id, "ledger")
    assert source is not None
    with record_tables(database) as taken["orphans"]:
        await deny_orphans(engine, source, by=by)
    assert {name: tables[0] for name, tables in taken.items()} == dict.fromkeys(taken, "executions")
