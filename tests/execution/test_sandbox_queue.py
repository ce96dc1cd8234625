"""Fewer sandboxes than executions: those that only wait make room."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from executor.execution.submissions import Submission
from executor.settings import Settings
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import until
from tests.support.submission import submit


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, workers=1, slots=2)


async def test_executions_that_wait_for_a_timer_do_not_keep_others_out(harness: ExecutorHarness) -> None:
    agent = harness.executor.tenancy.agent
    sleeper = "await new Promise((resolve) => setTimeout(resolve, 8000)); return %d"
    sleepers = [await submit(harness.executor.engine, agent, sleeper % n) for n in range(6)]
    for _ in range(3):
        assert value(await harness.run("return 1 + 1")) == 2
    statuses = [(await harness.executor.engine.outcome(agent, each.id)).execution.status for each in sleepers]
    assert statuses == ["running"] * 6
    outcomes = await asyncio.gather(*(harness.wait(each.id) for each in sleepers))
    assert [value(outcome) for outcome in outcomes] == list(range(6))


async def test_a_run_that_gave_its_place_up_repeats_no_call_when_it_goes_on(harness: ExecutorHarness) -> None:
    await harness.policy("ledger.**", "allow")
    agent = harness.executor.tenancy.agent
    code = """
        const key = `%d:${Math.random()}`;
        await tools.ledger.entries.addEntry({key: key + ":before"});
        const [slow] = await Promise.all([tools.ledger.slow.wait({ms: 1200}), tools.ledger.slow.wait({ms: 600})]);
        const entry = await tools.ledger.entries.addEntry({key: key + ":after"});
        return [slow.waited, entry.key === key + ":after"];
    """
    slow = [await submit(harness.executor.engine, agent, code % n) for n in range(4)]
    await until(lambda: len(harness.effects()) >= 4)
    assert value(await harness.run("return 7")) == 7
    outcomes = await asyncio.gather(*(harness.wait(each.id) for each in slow))
    assert [value(outcome) for outcome in outcomes] == [["1200", True]] * 4
    assert len(harness.effects()) == 8
    for each in slow:
        report = await harness.executor.engine.replay(harness.executor.tenancy.operator, each.id)
        assert report.matches, report.detail


async def test_a_resting_run_can_be_cancelled_and_survives_a_restart_of_the_daemon(
    harness: ExecutorHarness, settings: Settings, tmp_path: Path
) -> None:
    agent = harness.executor.tenancy.agent
    sleeper = "await new Promise((resolve) => setTimeout(resolve, 60000)); return 1"
    sleepers = [await submit(harness.executor.engine, agent, sleeper) for _ in range(4)]
    assert value(await harness.run("return 2")) == 2
    for each in sleepers:
        assert (await harness.executor.engine.cancel(agent, each.id)).status == "cancelled"
    await until(lambda: harness.executor.engine.live == 0)
    assert value(await harness.run("return 3")) == 3


async def test_a_run_that_is_cancelled_before_it_begins_gives_its_sandbox_back(harness: ExecutorHarness) -> None:
    engine, agent = harness.executor.engine, harness.executor.tenancy.agent
    for _ in range(4):
        submitted = await engine.begin(agent, Submission("return 1"))
        engine._dispatch.runs[submitted.execution_id].abort()
    assert value(await harness.run("return 2")) == 2
    await until(lambda: harness.executor.runtime.open_sandboxes == 0)


async def test_a_program_is_on_its_way_before_its_run_begins(harness: ExecutorHarness) -> None:
    engine, agent = harness.executor.engine, harness.executor.tenancy.agent
    submitted = await engine.begin(agent, Submission("return 1 + 2"))
    assert harness.executor.runtime.open_sandboxes == 1
    assert value(await submitted.outcome(60)) == 3
