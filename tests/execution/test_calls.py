from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

import pytest

from executor.errors import CodeTooLarge, Conflict, EmptyCode, NotFound, UnknownRuntime
from executor.model.execution import Limits
from executor.runtime.protocol import Answer, Step
from executor.runtime.worker.process import sandbox_lost
from executor.runtime.worker.sandbox import PlacedSandbox
from executor.storage.executions import calls, events
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import until
from tests.support.submission import submit


async def test_code_runs_and_gives_its_value(harness: ExecutorHarness) -> None:
    outcome = await harness.run("return {sum: 1 + 1}")
    assert value(outcome) == {"sum": 2}


async def test_a_read_is_sent_without_asking_and_journalled(harness: ExecutorHarness) -> None:
    outcome = await harness.run('const e = await tools.ledger.entries.listEntries({key: "a"}); return e.key')
    assert value(outcome) == "a"
    workspace_id = harness.executor.tenancy.workspace.id
    [call] = await harness.executor.database.read(lambda c: calls.of_execution(c, workspace_id, outcome.execution.id))
    assert (call.seq, call.path, call.state, call.done_seq) == (1, "ledger.entries.listEntries", "succeeded", 1)
    assert json.loads(call.result or "") == {"key": "a"}


async def test_parallel_calls_are_answered_to_the_right_promise(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        const keys = Array.from({length: 40}, (_, i) => `k${i}`);
        const answers = await Promise.all(keys.map(async (key) => {
          const first = await tools.ledger.entries.listEntries({key});
          return (await tools.ledger.entries.listEntries({key: first.key + "!"})).key;
        }));
        return answers.every((answer, i) => answer === keys[i] + "!") && answers.length;
    """)
    assert value(outcome) == 40


async def test_a_failing_call_throws_a_typed_error_that_code_can_handle(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        try { await tools.ledger.fail.fail({status: 404}); }
        catch (error) { return [error instanceof ToolError, error.code, error.status, error.details, error.retryable]; }
    """)
    assert value(outcome) == [True, "upstream_error", 404, {"reason": "as asked"}, False]


async def test_an_unhandled_failing_call_fails_the_execution_with_its_code(harness: ExecutorHarness) -> None:
    outcome = await harness.run("await tools.ledger.fail.fail({status: 503})")
    assert outcome.execution.status == "failed"
    assert outcome.execution.failure is not None
    assert outcome.execution.failure.code == "upstream_error"


async def test_an_answer_that_is_not_what_the_document_promises_is_reported(harness: ExecutorHarness) -> None:
    outcome = await harness.run("try { await tools.ledger.wrong.wrong() } catch (e) { return e.code }")
    assert value(outcome) == "unexpected_response"


async def test_an_unknown_tool_names_the_nearest_ones(harness: ExecutorHarness) -> None:
    outcome = await harness.run("try { await tools.ledger.entries.listEntrys() } catch (e) { return [e.code, e.hint] }")
    code, hint = value(outcome)
    assert code == "unknown_tool"
    assert "ledger.entries.listEntries" in hint


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "try { await tools.ledger.wrong.wrong.all() } catch (e) { return [e.code, e.hint] }"),
        (
            "python",
            "try:\n    await tools.ledger.wrong.wrong.all()\nexcept ToolError as e:\n    return [e.code, e.hint]",
        ),
    ],
)
async def test_a_missing_all_names_the_tool_itself(harness: ExecutorHarness, language: Any, code: str) -> None:
    outcome = await harness.run(code, language=language)
    assert value(outcome) == ["unknown_tool", "ledger.wrong.wrong has no `.all`: call it as it is, without `.all`"]


@pytest.mark.parametrize("arguments", ["{key: 5}", "{}", '{key: "a", amuont: 1}'])
async def test_wrong_arguments_are_refused_before_anything_is_asked_or_sent(
    harness: ExecutorHarness, arguments: str
) -> None:
    code = f"try {{ await tools.ledger.entries.addEntry({arguments}) }} catch (e) {{ return e.code }}"
    assert value(await harness.run(code)) == "invalid_arguments"
    assert harness.effects() == []


async def test_a_result_that_is_too_large_fails_only_that_call(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        try { await tools.ledger.big.big({bytes: 9000000}); return "no" }
        catch (e) { return [e.code, (await tools.ledger.big.big({bytes: 10})).data.length] }
    """)
    assert value(outcome) == ["result_too_large", 10]


async def test_console_lines_are_reported_and_kept_as_events(harness: ExecutorHarness) -> None:
    outcome = await harness.run('console.log("one", 1); console.warn("two"); return null')
    assert [(line.level, line.text) for line in outcome.logs] == [("log", "one 1"), ("warn", "two")]
    again = await harness.executor.engine.outcome(harness.executor.tenancy.agent, outcome.execution.id)
    assert [line.text for line in again.logs] == ["one 1", "two"]


async def test_everything_that_happens_is_an_event_in_order(harness: ExecutorHarness) -> None:
    outcome = await harness.run('console.log("hi"); return await tools.ledger.entries.listEntries({key: "a"})')
    workspace_id = harness.executor.tenancy.workspace.id
    found = await harness.executor.database.read(
        lambda c: events.after(c, workspace_id, execution_id=outcome.execution.id)
    )
    assert [event.type for event in found] == [
        "execution.created",
        "execution.log",
        "call.started",
        "call.succeeded",
        "execution.completed",
    ]


async def test_calls_no_one_awaits_are_not_sent_and_that_is_said(harness: ExecutorHarness) -> None:
    await harness.policy("ledger.**", "allow")
    outcome = await harness.run('tools.ledger.entries.addEntry({key: "lost"}); return 1')
    assert value(outcome) == 1
    assert harness.effects() == []
    assert "ledger.entries.addEntry" in outcome.logs[-1].text


async def test_a_timer_waits_and_a_race_with_a_call_is_won_by_the_faster(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        const late = new Promise((resolve) => setTimeout(() => resolve("timer"), 5000));
        const fast = tools.ledger.entries.listEntries({key: "call"}).then((e) => e.key);
        const first = await Promise.race([late, fast]);
        const before = Date.now();
        await new Promise((resolve) => setTimeout(resolve, 30));
        return [first, Date.now() - before >= 30];
    """)
    assert value(outcome) == ["call", True]


async def test_the_active_time_limit_ends_the_execution(harness: ExecutorHarness) -> None:
    limits = Limits(wall_ms=300)
    outcome = await harness.run("await tools.ledger.slow.wait({ms: 20000})", limits=limits)
    assert outcome.execution.failure is not None
    assert outcome.execution.failure.code == "wall_limit"


async def test_more_calls_than_allowed_end_the_execution(harness: ExecutorHarness) -> None:
    code = 'for (let i = 0; i < 9; i++) await tools.ledger.entries.listEntries({key: "a"})'
    outcome = await harness.run(code, limits=Limits(calls=5))
    assert outcome.execution.failure is not None
    assert outcome.execution.failure.code == "call_limit"


async def test_cancelling_ends_a_running_execution_at_once(harness: ExecutorHarness) -> None:
    agent = harness.executor.tenancy.agent
    execution = await submit(harness.executor.engine, agent, "await tools.ledger.slow.wait({ms: 30000})")
    cancelled = await harness.executor.engine.cancel(agent, execution.id)
    assert cancelled.status == "cancelled"
    outcome = await harness.wait(execution.id)
    assert outcome.execution.status == "cancelled"
    with pytest.raises(Conflict):
        await harness.executor.engine.cancel(agent, execution.id)


async def unknown_writes(harness: ExecutorHarness, execution_id: str) -> list[str]:
    workspace_id = harness.executor.tenancy.workspace.id
    found = await harness.executor.database.read(lambda c: calls.of_execution(c, workspace_id, execution_id))
    return [call.path for call in found if (call.failure or {}).get("code") == "unknown_outcome"]


async def test_a_write_under_way_at_the_time_limit_is_reported_as_unknown(harness: ExecutorHarness) -> None:
    await harness.policy("ledger.**", "allow")
    harness.ledger.delay = 120.0
    for wall_ms in (1_500, 6_000, 24_000):  # a busy machine may need longer until the write is sent
        outcome = await harness.run(
            'await tools.ledger.entries.addEntry({key: "late"})', limits=Limits(wall_ms=wall_ms)
        )
        if harness.ledger.posts:
            break
    failure = outcome.execution.failure
    assert failure is not None
    assert failure.details["unknownOutcomes"] == [{"seq": 1, "path": "ledger.entries.addEntry"}]
    assert await unknown_writes(harness, outcome.execution.id) == ["ledger.entries.addEntry"]


async def test_a_write_under_way_at_a_cancel_is_reported_as_unknown(harness: ExecutorHarness) -> None:
    await harness.policy("ledger.**", "allow")
    harness.ledger.delay = 120.0
    agent = harness.executor.tenancy.agent
    execution = await submit(harness.executor.engine, agent, 'await tools.ledger.entries.addEntry({key: "late"})')
    await until(lambda: harness.ledger.posts > 0)
    cancelled = await harness.executor.engine.cancel(agent, execution.id)
    assert cancelled.failure is not None
    assert cancelled.failure.details["unknownOutcomes"] == [{"seq": 1, "path": "ledger.entries.addEntry"}]
    assert await unknown_writes(harness, execution.id) == ["ledger.entries.addEntry"]


async def test_all_results_of_an_execution_together_are_bounded(harness: ExecutorHarness) -> None:
    code = """
        const sizes = [];
        for (let i = 0; i < 4; i++) {
          try { sizes.push((await tools.ledger.big.big({bytes: 1000})).data.length) } catch (e) { sizes.push(e.code) }
        }
        return sizes;
    """
    outcome = await harness.run(code, limits=Limits(result_bytes=2500))
    assert value(outcome) == [1000, 1000, "result_too_large", "result_too_large"]


async def test_bad_submissions_are_refused_with_their_reason(harness: ExecutorHarness) -> None:
    with pytest.raises(EmptyCode):
        await harness.run("  \n ")
    with pytest.raises(UnknownRuntime, match="cobol"):
        await harness.run("return 1", language="cobol")
    with pytest.raises(CodeTooLarge):
        await harness.run("x" * 10_000_000)
    with pytest.raises(NotFound):
        await harness.wait("exec_unknown")


async def test_a_syntax_error_tells_line_and_column(harness: ExecutorHarness) -> None:
    outcome = await harness.run("const a = 1;\nconst = 2;")
    failure = outcome.execution.failure
    assert failure is not None
    assert (failure.code, failure.details["line"]) == ("syntax_error", 2)


async def test_a_lost_worker_loses_no_execution_and_repeats_no_call(harness: ExecutorHarness) -> None:
    await harness.policy("ledger.**", "allow")
    agent = harness.executor.tenancy.agent
    code = """
        const entry = await tools.ledger.entries.addEntry({key: "once"});
        await tools.ledger.slow.wait({ms: 300});
        await tools.ledger.entries.addEntry({key: "then"});
        return entry.key;
    """
    execution = await submit(harness.executor.engine, agent, code)
    await until(lambda: len(harness.effects()) == 1)
    for pid in harness.executor.runtime.worker_pids:
        os.kill(pid, signal.SIGKILL)
    outcome = await harness.wait(execution.id)
    assert value(outcome) == "once"
    assert harness.effects() == [("entries", "once"), ("entries", "then")]


async def test_an_answer_that_comes_before_a_replay_is_lost_has_its_place_after_the_others(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox is lost, and the next one in the middle of the replay: what was recorded before keeps its place."""
    await harness.policy("ledger.**", "allow")
    executor = harness.executor
    code = """
        for (const key of ["a", "b", "c"]) await tools.ledger.entries.addEntry({key});
        await Promise.all([50, 250_000].map((ms) => new Promise((resolve) => setTimeout(resolve, ms))));
        return "done";
    """
    deliver = PlacedSandbox.answer
    lost: list[int] = []

    async def lose(sandbox: PlacedSandbox, answer: Answer) -> Step:
        if answer.seq == 4 and not lost:
            lost.append(4)
            raise sandbox_lost("it is lost", innocent=True)
        if answer.seq == 2 and lost == [4]:
            lost.append(2)
            [run] = executor.engine._dispatch.runs.values()
            call, timer = run._calls.sends._under_way[5]
            timer.cancel()
            run._calls.sends.arrive(call, "null")
            raise sandbox_lost("it is lost in the middle of a replay", innocent=True)
        return await deliver(sandbox, answer)

    monkeypatch.setattr(PlacedSandbox, "answer", lose)
    outcome = await harness.run(code)
    assert value(outcome) == "done" and lost == [4, 2]
    assert harness.effects() == [("entries", "a"), ("entries", "b"), ("entries", "c")]
    workspace_id = executor.tenancy.workspace.id
    done = await executor.database.read(lambda c: calls.of_execution(c, workspace_id, outcome.execution.id))
    assert [call.done_seq for call in done] == [1, 2, 3, 4, 5]
    report = await executor.engine.replay(executor.tenancy.operator, outcome.execution.id)
    assert report.matches, report.detail


async def test_an_endless_loop_in_one_execution_leaves_the_others_alone(harness: ExecutorHarness) -> None:
    agent = harness.executor.tenancy.agent
    hog = await submit(harness.executor.engine, agent, "while (true) {}", limits=Limits(cpu_ms=120_000))
    for _ in range(10):
        assert value(await harness.run("return 1 + 1")) == 2
    assert not (await harness.executor.engine.outcome(agent, hog.id)).execution.is_final
    assert (await harness.executor.engine.cancel(agent, hog.id)).status == "cancelled"


async def test_many_executions_at_once_all_end(harness: ExecutorHarness) -> None:
    outcomes = await asyncio.gather(*(harness.run(f"return {n} * 2") for n in range(60)))
    assert [value(outcome) for outcome in outcomes] == [n * 2 for n in range(60)]
