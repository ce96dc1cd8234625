"""Executions that wait for their turn: rows, in the order they came, a few of each actor in memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from executor.execution.backlog import STANDBY, Backlog, Waiting
from executor.execution.use_limits import LimitsInForce, Running
from executor.model.fairness import Lane
from executor.model.use_limits import Bounds, ChosenLimits, UseLimits
from executor.settings import Settings
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import until
from tests.support.submission import submit

LANE = Lane("actor", "typescript")


def no_limits() -> Running:
    return Running(LimitsInForce(None))  # type: ignore[arg-type]  # which is never read


def test_only_a_few_of_an_actor_are_in_memory_and_each_that_leaves_makes_room_for_the_next() -> None:
    taken: list[str] = []
    backlog = Backlog(lambda waiting: taken.append(waiting.execution_id), no_limits())
    for n in range(3 * STANDBY):
        backlog.put(Waiting(str(n), LANE))
    assert taken == [str(n) for n in range(STANDBY)] and not backlog.admits(LANE)
    assert backlog.admits(Lane("other", "typescript")) and backlog.admits(Lane("actor", "python"))
    for _ in range(10):
        backlog.leave(LANE)
    assert taken == [str(n) for n in range(STANDBY + 10)]


def test_what_was_cancelled_is_passed_over() -> None:
    taken: list[str] = []
    backlog = Backlog(lambda waiting: taken.append(waiting.execution_id), no_limits())
    waiting = [Waiting(str(n), LANE) for n in range(STANDBY + 3)]
    for one in waiting:
        backlog.put(one)
    for one in waiting[STANDBY : STANDBY + 2]:
        backlog.forget(one)
    backlog.leave(LANE)
    assert taken[STANDBY:] == [str(STANDBY + 2)] and backlog.get(str(STANDBY)) is None


def test_those_that_a_limit_holds_back_are_taken_up_by_priority_and_weight() -> None:
    limits = LimitsInForce(None, None, Bounds(workspace=UseLimits(running=1)))  # type: ignore[arg-type]
    limits._chosen = {("ws", "heavy"): ChosenLimits(weight=3)}
    assert not limits.are_default
    running, taken = Running(limits), list[Lane]()
    backlog = Backlog(lambda waiting: taken.append(waiting.lane), running)
    for number in range(400):
        for lane in (Lane("heavy", "typescript", "ws"), Lane("light", "typescript", "ws")):
            backlog.put(Waiting(f"{lane.actor_id}{number}", lane))
    backlog.put(Waiting("urgent", Lane("light", "typescript", "ws", 0)))
    assert len(taken) == 1
    for number in range(400):
        running.remove(taken[-1])
        backlog.leave(taken[-1])
        backlog.feed_workspace("ws")
        assert len(taken) == number + 2
    assert taken[1].rank == 0
    counted = Counter(lane.actor_id for lane in taken[2:])
    assert 240 < counted["heavy"] < 360


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, workers=1, slots=2)


async def test_a_queued_execution_says_so_ends_can_be_cancelled_and_is_waited_for(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("executor.execution.backlog.STANDBY", 1)
    agent, engine = harness.executor.tenancy.agent, harness.executor.engine
    spin = "const ends = Date.now(); for (let n = 0; n < 3e6; n++); return %d"
    submitted = [await submit(engine, agent, spin % n) for n in range(12)]
    assert {one.status for one in submitted[4:]} == {"queued"}
    assert (await engine.cancel(agent, submitted[8].id)).status == "cancelled"
    others = [one for one in submitted if one is not submitted[8]]
    outcomes = await asyncio.gather(*(harness.wait(one.id) for one in others))
    assert [value(outcome) for outcome in outcomes] == [n for n in range(12) if n != 8]
    await until(lambda: engine.live == 0)
    assert not len(engine._dispatch.backlog) and not engine._dispatch._per_actor
