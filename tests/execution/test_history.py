"""The functions that all surfaces share check by themselves what an actor may see and change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executor.errors import Forbidden, NotFound
from executor.execution import history
from executor.execution.artifacts import access
from executor.execution.policies import administration
from executor.model.execution import ExecutionFilter
from executor.model.identity.permissions import VIEWER
from tests.execution.conftest import ExecutorHarness


async def test_an_actor_sees_its_own_executions_and_with_read_all_of_them(harness: ExecutorHarness) -> None:
    database, local = harness.executor.database, harness.executor.tenancy
    done = (await harness.run("console.log('hi'); return 'x'.repeat(100_000)")).execution
    other = replace(local.agent, id="act_other", name="other")
    for read in (
        history.find(database, other, done.id),
        history.read_calls(harness.executor.contents, other, done.id, whole=True),
        history.read_call_heads(database, other, done.id),
        history.read_logs(database, other, done.id),
        history.read_events(database, other, done.id, after=0, limit=10),
    ):
        with pytest.raises(NotFound, match="there is no execution"):
            await read
    kept = await access.search(database, local.agent, execution_id="", limit=10, before="")
    with pytest.raises(NotFound, match="there is no artifact"):
        await access.find(database, other, kept[0].id)
    with pytest.raises(NotFound, match="there is no artifact"):
        await access.delete(harness.executor.contents, other, kept[0].id)
    assert not await access.search(database, other, execution_id="", limit=10, before="")
    assert not await history.search(database, other, ExecutionFilter(), actor=local.agent.name)
    for seeing in (local.agent, replace(other, permissions=VIEWER)):
        found = await history.search(database, seeing, ExecutionFilter(), actor=local.agent.name)
        assert [(one.execution.id, one.actor) for one in found] == [(done.id, local.agent.name)]
        assert [event.data["text"] for event in await history.read_logs(database, seeing, done.id)] == ["hi"]


async def test_a_policy_is_changed_only_with_the_permission_of_its_level(harness: ExecutorHarness) -> None:
    database, operator = harness.executor.database, harness.executor.tenancy.operator
    made = await harness.policy("ledger.**", "deny")
    viewer = replace(operator, permissions=VIEWER)
    for change in (
        administration.add(database, viewer, made, None),
        administration.change(database, viewer, made.id, replace(made, note="mine")),
        administration.move(database, viewer, made.id, 0),
        administration.renew(harness.executor.pipeline, viewer, made.id),
        administration.remove(database, viewer, made.id),
    ):
        with pytest.raises(Forbidden, match="need the permission `administer`"):
            await change
    assert await administration.list_in_force(database, viewer) == [made]
    await administration.remove(database, operator, made.id)
    assert await administration.list_in_force(database, viewer) == []
