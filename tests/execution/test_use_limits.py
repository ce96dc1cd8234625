"""Limits of workspaces and actors, in an Executor on SQLite and in one on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from executor.errors import Forbidden, LimitReached
from executor.execution import limit_administration
from executor.execution.submissions import Submission
from executor.model.execution import Execution
from executor.model.identity.actor import Actor
from executor.settings import Settings
from executor.storage.executions import executions
from tests.execution.conftest import ExecutorHarness, value
from tests.support import postgres
from tests.support.conditions import until
from tests.support.submission import submit

HOLD = "await new Promise((done) => setTimeout(done, 3600000)); return 1"
GATED = 'return await tools.ledger.entries.addEntry({key: "%s", amount: 1})'


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    if request.param == "sqlite":
        return settings
    server = postgres.server()
    return replace(settings, database_url=server.url(server.create_migrated()))


async def limit(harness: ExecutorHarness, actor: Actor | None = None, **changes: Any) -> None:
    executor = harness.executor
    args = (executor.database, executor.use_limits, executor.tenancy.operator)
    if actor is None:
        await limit_administration.change_workspace(*args, executor.tenancy.workspace.id, changes)
    else:
        await limit_administration.change_actor(*args, actor.id, changes)


async def statuses(harness: ExecutorHarness, *found: Execution) -> Counter[str]:
    workspace_id = harness.executor.tenancy.workspace.id

    def read(c: Any) -> Counter[str]:
        rows = (executions.get(c, workspace_id, one.id) for one in found)
        return Counter(row.status for row in rows if row is not None)

    return await harness.executor.database.read(read)


async def until_statuses(harness: ExecutorHarness, found: list[Execution], expected: dict[str, int]) -> None:
    for _ in range(1200):
        if await statuses(harness, *found) == expected:
            return
        await asyncio.sleep(0.1)
    assert await statuses(harness, *found) == expected


@pytest.mark.parametrize("of", ["workspace", "actor"])
async def test_as_many_run_as_may_and_each_that_ends_lets_the_next_one_run(harness: ExecutorHarness, of: str) -> None:
    agent, engine = harness.executor.tenancy.agent, harness.executor.engine
    await limit(harness, agent if of == "actor" else None, running=2)
    submitted = await asyncio.gather(*(submit(engine, agent, HOLD) for _ in range(5)))
    assert await statuses(harness, *submitted) == {"running": 2, "queued": 3}
    if of == "actor":
        assert value(await engine.run(harness.executor.tenancy.operator, "return 1 + 1", seconds=120)) == 2
    running = [one for one in submitted if (await statuses(harness, one))["running"]]
    await engine.cancel(agent, running[0].id)
    await until_statuses(harness, submitted, {"running": 2, "queued": 2, "cancelled": 1})
    await limit(harness, agent if of == "actor" else None, running=None)
    await until_statuses(harness, submitted, {"running": 4, "cancelled": 1})
    for one in submitted:
        if one.id != running[0].id:
            await engine.cancel(agent, one.id)
    await until(lambda: engine.live == 0)
    assert not harness.executor.engine._dispatch._running


async def test_a_parked_execution_does_not_count_and_waits_for_a_place_when_it_is_approved(
    harness: ExecutorHarness,
) -> None:
    agent, engine = harness.executor.tenancy.agent, harness.executor.engine
    await harness.policy("ledger.**", "require_approval")
    await limit(harness, agent, running=1)
    parked = await harness.run(GATED % "a")
    assert parked.execution.status == "paused"
    held = await submit(engine, agent, HOLD)
    await until_statuses(harness, [held], {"running": 1})
    await harness.settle(parked, "approve")
    await until_statuses(harness, [parked.execution, held], {"queued": 1, "running": 1})
    assert harness.effects() == []
    await engine.cancel(agent, held.id)
    assert (await harness.wait(parked.execution.id)).execution.status == "completed"
    assert len(harness.effects()) == 1


async def test_a_submission_beyond_a_limit_is_refused_and_leaves_nothing_behind(harness: ExecutorHarness) -> None:
    agent, engine = harness.executor.tenancy.agent, harness.executor.engine
    await limit(harness, agent, running=1, queued=2)
    outcomes = await asyncio.gather(*(submit(engine, agent, HOLD) for _ in range(10)), return_exceptions=True)
    accepted = [one for one in outcomes if isinstance(one, Execution)]
    refused = [one for one in outcomes if isinstance(one, LimitReached)]
    assert (len(accepted), len(refused)) == (3, 7)
    assert refused[0].code == "limit_reached" and refused[0].details == {"limit": "queued", "of": "actor", "most": 2}
    counted = await harness.executor.database.read(
        lambda c: executions.counts(c, harness.executor.tenancy.workspace.id)
    )
    assert counted == {"running": 1, "queued": 2}
    for one in accepted:
        await engine.cancel(agent, one.id)


async def test_sent_again_a_submission_is_found_although_the_limit_is_reached(harness: ExecutorHarness) -> None:
    agent, engine = harness.executor.tenancy.agent, harness.executor.engine
    await limit(harness, agent, per_minute=1)
    first = Submission("return 7", key="once")
    begun = await asyncio.gather(*(engine.begin(agent, first) for _ in range(5)))
    assert len({one.execution_id for one in begun}) == 1
    assert Counter(one.is_known for one in begun) == {False: 1, True: 4}
    assert value(await begun[0].outcome(120)) == 7
    with pytest.raises(LimitReached) as refused:
        await engine.begin(agent, Submission("return 8", key="twice"))
    assert 1 <= refused.value.details["seconds"] <= 60
    await limit(harness, agent, per_minute=2)
    assert value(await (await engine.begin(agent, Submission("return 8", key="twice"))).outcome(120)) == 8


async def test_only_those_who_may_use_a_high_priority(harness: ExecutorHarness) -> None:
    agent, operator, engine = harness.executor.tenancy.agent, harness.executor.tenancy.operator, harness.executor.engine
    with pytest.raises(Forbidden, match="high"):
        await engine.begin(agent, Submission("return 1", priority="high"))
    assert (await submit(engine, operator, "return 1", priority="high")).priority == "high"
    assert (await submit(engine, agent, "return 1", priority="low")).priority == "low"
    await limit(harness, agent, priority="high")
    assert (await submit(engine, agent, "return 1", priority="high")).priority == "high"
    assert (await submit(engine, agent, "return 1")).priority == "normal"
    await limit(harness, agent, priority="low")
    assert (await submit(engine, agent, "return 1")).priority == "low"
    with pytest.raises(Forbidden, match="normal"):
        await engine.begin(agent, Submission("return 1", priority="normal"))


async def test_those_that_a_limit_holds_back_run_by_priority(harness: ExecutorHarness) -> None:
    agent, operator, engine = harness.executor.tenancy.agent, harness.executor.tenancy.operator, harness.executor.engine
    await limit(harness, running=1)
    held = await submit(engine, agent, HOLD)
    order = [(agent, "low"), (agent, None), (operator, None), (operator, "high")]
    waiting = [await submit(engine, actor, "return 1", priority=wanted) for actor, wanted in order]
    assert await statuses(harness, *waiting) == {"queued": 4}
    await engine.cancel(agent, held.id)
    await asyncio.gather(*(engine.wait(operator, one.id, 120) for one in waiting))
    ended = "SELECT execution_id FROM events WHERE type = 'execution.completed' ORDER BY id"
    order_of_ends = await harness.executor.database.read(lambda c: c.exec_driver_sql(ended).scalars().all())
    priorities = {one.id: one.priority for one in waiting}
    assert [priorities[one] for one in order_of_ends] == ["high", "normal", "normal", "low"]


async def test_what_waits_is_still_limited_after_a_restart(reopen: Callable[[], Any], settings: Settings) -> None:
    harness = await reopen()
    agent = harness.executor.tenancy.agent
    await limit(harness, agent, running=1)
    submitted = [await submit(harness.executor.engine, agent, HOLD) for _ in range(3)]
    harness = await reopen()
    await until_statuses(harness, submitted, {"running": 1, "queued": 2})
    for one in submitted:
        await harness.executor.engine.cancel(agent, one.id)
