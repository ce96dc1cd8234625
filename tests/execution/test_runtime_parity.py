"""Whatever runs the code, an execution behaves the same: the same scenarios through the engine for every runtime."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from executor.execution.outcome import Outcome
from executor.model.execution import Failure
from executor.storage.executions import calls
from tests.execution.conftest import ExecutorHarness, value
from tests.execution.scenarios import PROGRAMS, RUNTIMES
from tests.support.conditions import until
from tests.support.daemon import Daemon
from tests.support.ledger import Ledger, effects
from tests.support.submission import submit

Reopen = Callable[[], Awaitable[ExecutorHarness]]


@dataclass(frozen=True)
class RuntimeCase:
    """A runtime and the programs it is tried with."""

    runtime: str
    language: str

    def code(self, name: str) -> str:
        return PROGRAMS[name][self.language]

    async def run(self, harness: ExecutorHarness, name: str, **limits: int) -> Outcome:
        chosen = replace(harness.executor.limits, **limits)
        return await harness.run(self.code(name), language=self.language, runtime=self.runtime, limits=chosen)

    async def failure(self, harness: ExecutorHarness, name: str, **limits: int) -> Failure:
        outcome = await self.run(harness, name, **limits)
        assert outcome.execution.status == "failed", outcome.execution
        assert outcome.execution.failure is not None
        return outcome.execution.failure


@pytest.fixture(params=RUNTIMES)
def case(request: pytest.FixtureRequest) -> RuntimeCase:
    return RuntimeCase(request.param, RUNTIMES[request.param])


# -- values, calls, errors ---------------------------------------------------------------------------------------------


async def test_a_value_comes_out_as_it_is(harness: ExecutorHarness, case: RuntimeCase) -> None:
    outcome = await case.run(harness, "value")
    assert value(outcome) == {"list": [1, 2.5, "é\n", None, True], "nested": {"deep": {"er": []}}}
    assert (outcome.execution.runtime, outcome.execution.language) == (case.runtime, case.language)


async def test_code_without_a_value_gives_null(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert value(await case.run(harness, "no value")) is None


async def test_a_call_gives_its_data(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert value(await case.run(harness, "read")) == "k"


async def test_calls_follow_each_other_with_what_came_before(harness: ExecutorHarness, case: RuntimeCase) -> None:
    await harness.policy("ledger.entries.*", "allow")
    assert value(await case.run(harness, "write and read")) == [{"kind": "entries", "key": "new"}, "new"]
    assert harness.effects() == [("entries", "new")]


async def test_a_failing_call_can_be_caught_with_its_fields(harness: ExecutorHarness, case: RuntimeCase) -> None:
    caught = value(await case.run(harness, "failing call"))
    assert (caught[0], caught[2], caught[5]) == (True, 404, True)


async def test_both_languages_see_the_same_fields_of_an_error(harness: ExecutorHarness) -> None:
    seen = [
        value(await RuntimeCase(runtime, language).run(harness, "failing call"))
        for runtime, language in RUNTIMES.items()
    ]
    assert all(one == seen[0] for one in seen)


async def test_a_failing_call_that_no_one_catches_ends_the_execution_with_its_code(
    harness: ExecutorHarness, case: RuntimeCase
) -> None:
    failure = await case.failure(harness, "uncaught failing call")
    assert failure.details["status"] == 404
    assert failure.code not in ("code_error", "internal")
    assert failure.details["line"] == 2


async def test_arguments_that_the_schema_refuses_are_a_typed_error(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert value(await case.run(harness, "wrong argument")) == "invalid_arguments"


async def test_an_unknown_tool_is_a_typed_error_with_a_hint(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert value(await case.run(harness, "unknown tool")) == ["unknown_tool", True]


async def test_an_uncaught_error_tells_its_line(harness: ExecutorHarness, case: RuntimeCase) -> None:
    failure = await case.failure(harness, "uncaught error")
    assert failure.code == "code_error"
    assert "stop" in failure.message
    assert failure.details["line"] == 3


async def test_what_does_not_parse_is_a_syntax_error_with_its_line(harness: ExecutorHarness, case: RuntimeCase) -> None:
    failure = await case.failure(harness, "syntax error")
    assert (failure.code, failure.details["line"]) == ("syntax_error", 2)


async def test_calls_made_together_run_together_and_come_back_in_their_places(
    harness: ExecutorHarness, case: RuntimeCase
) -> None:
    assert value(await case.run(harness, "parallel")) == ["a", "b", "c", "d", "e"]


async def test_a_call_that_no_one_awaits_is_not_sent(harness: ExecutorHarness, case: RuntimeCase) -> None:
    await harness.policy("ledger.**", "allow")
    outcome = await case.run(harness, "not awaited")
    assert value(outcome) == 1
    assert "not sent" in outcome.logs[-1].text
    assert harness.effects() == []


async def test_printed_lines_are_the_log(harness: ExecutorHarness, case: RuntimeCase) -> None:
    lines = [(line.level, line.text) for line in (await case.run(harness, "console")).logs]
    assert ("log", "one 2") in lines
    assert ("error", "bad") in lines
    assert "two" in "".join(text for _, text in lines)


async def test_a_large_result_reaches_the_code(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert value(await case.run(harness, "large result")) == 2_000_000


async def test_a_result_within_the_limit_comes_out_whole(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert len(value(await case.run(harness, "output within"))) == 3_000_000


async def test_a_value_that_is_no_json_is_refused_with_its_place(harness: ExecutorHarness, case: RuntimeCase) -> None:
    failure = await case.failure(harness, "not JSON")
    assert failure.code == "unserializable_result"
    assert failure.details["path"] == "$.a[0]"
    assert failure.hint


async def test_a_value_that_is_nested_too_deeply_is_refused(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert (await case.failure(harness, "deep value")).code in ("unserializable_result", "code_error")


# -- approvals and durability ------------------------------------------------------------------------------------------


async def test_an_approved_call_is_sent_once(harness: ExecutorHarness, case: RuntimeCase) -> None:
    outcome = await case.run(harness, "approval")
    assert outcome.execution.status == "paused"
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(outcome.execution.id)) == "asked"
    assert harness.effects() == [("transfers", "asked")]


async def test_a_denial_reaches_the_code_with_its_reason(harness: ExecutorHarness, case: RuntimeCase) -> None:
    outcome = await case.run(harness, "handled denial")
    await harness.settle(outcome, "deny", reason="too much")
    assert value(await harness.wait(outcome.execution.id)) == ["denied", True]
    assert harness.effects() == []


async def test_a_denial_that_no_one_catches_ends_the_execution(harness: ExecutorHarness, case: RuntimeCase) -> None:
    outcome = await case.run(harness, "approval")
    await harness.settle(outcome, "deny", reason="no")
    finished = await harness.wait(outcome.execution.id)
    assert finished.execution.failure is not None
    assert finished.execution.failure.code == "denied"


async def test_a_pause_survives_a_restart_and_nothing_is_done_twice(reopen: Reopen, case: RuntimeCase) -> None:
    harness = await reopen()
    await harness.policy("ledger.entries.*", "allow")
    outcome = await case.run(harness, "pause")
    assert outcome.execution.status == "paused"
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert value(finished) == ["before", "asked", "after"]
    assert harness.effects() == [("entries", "before"), ("transfers", "asked"), ("entries", "after")]
    assert [line.text for line in finished.logs] == ["asking"]


async def test_time_and_chance_are_the_same_after_a_restart(reopen: Reopen, case: RuntimeCase) -> None:
    harness = await reopen()
    outcome = await case.run(harness, "time and chance")
    before = json.loads(outcome.logs[0].text)
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert value(finished) == before
    assert (await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)).matches


async def test_two_executions_see_other_numbers(harness: ExecutorHarness, case: RuntimeCase) -> None:
    first, second = value(await case.run(harness, "chance")), value(await case.run(harness, "chance"))
    assert first != second
    assert first[0] != first[1]


async def test_answers_of_parallel_branches_are_replayed_in_the_order_in_which_they_came(
    reopen: Reopen, case: RuntimeCase
) -> None:
    harness = await reopen()
    outcome = await case.run(harness, "branches")
    assert outcome.execution.status == "paused"
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = value(await harness.wait(outcome.execution.id))
    assert finished["all"] == [["x.1", "x.2"], ["y.1", "y.2"], ["z.1", "z.2"]]
    journalled = await harness.executor.database.read(
        lambda c: calls.of_execution(c, harness.executor.tenancy.workspace.id, outcome.execution.id)
    )
    assert json.loads(json.loads(journalled[-1].arguments)["key"]) == finished["order"]
    assert (await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)).matches


async def test_code_that_does_not_repeat_itself_ends_with_nondeterminism(reopen: Reopen, case: RuntimeCase) -> None:
    harness = await reopen()
    outcome = await case.run(harness, "pause")
    await harness.policy("ledger.entries.*", "allow")

    def change(c: Any) -> None:
        c.exec_driver_sql("UPDATE calls SET arguments_digest = 'other' WHERE seq = 1")

    await harness.executor.database.write(change)
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert finished.execution.failure is not None
    assert finished.execution.failure.code == "nondeterminism"


async def test_a_timer_is_journalled_and_passes(harness: ExecutorHarness, case: RuntimeCase) -> None:
    outcome = await case.run(harness, "timer")
    assert value(outcome) is True
    journalled = await harness.executor.database.read(
        lambda c: calls.of_execution(c, harness.executor.tenancy.workspace.id, outcome.execution.id)
    )
    assert [(call.kind, call.state) for call in journalled] == [("timer", "succeeded")]


async def test_workers_killed_in_the_middle_lose_no_execution(harness: ExecutorHarness, case: RuntimeCase) -> None:
    await harness.policy("ledger.entries.*", "allow")
    engine, agent = harness.executor.engine, harness.executor.tenancy.agent
    code = case.code("slow pair")
    execution = await submit(engine, agent, code, language=case.language, runtime=case.runtime)
    await until(lambda: len(harness.effects()) == 1)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # gone with its parent, or not yet reaped
            if "ledger" not in " ".join(process.cmdline()):
                process.kill()
    assert value(await harness.wait(execution.id)) == ["one", "two"]
    assert harness.effects() == [("entries", "one"), ("entries", "two")]


# -- limits ------------------------------------------------------------------------------------------------------------


async def test_cpu_time_is_limited(harness: ExecutorHarness, case: RuntimeCase) -> None:
    failure = await case.failure(harness, "endless loop", cpu_ms=300)
    assert failure.code == "cpu_limit"
    assert "0.3 s" in failure.message


async def test_memory_is_limited(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert (await case.failure(harness, "memory")).code == "memory_limit"


async def test_active_time_is_limited(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert (await case.failure(harness, "long wait", wall_ms=300)).code == "wall_limit"


async def test_calls_are_limited(harness: ExecutorHarness, case: RuntimeCase) -> None:
    failure = await case.failure(harness, "many calls", calls=10)
    assert failure.code == "call_limit"
    assert harness.ledger.reads == 10


async def test_output_is_limited(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert (await case.failure(harness, "large output")).code == "output_limit"


async def test_the_log_is_limited_and_says_so(harness: ExecutorHarness, case: RuntimeCase) -> None:
    outcome = await case.run(harness, "much log", log_bytes=10_000)
    assert value(outcome) == 1
    assert len(outcome.logs) == 10
    assert "log limit" in outcome.logs[-1].text


async def test_recursion_without_end_is_an_error_of_the_code(harness: ExecutorHarness, case: RuntimeCase) -> None:
    assert (await case.failure(harness, "recursion")).code == "code_error"
    assert value(await case.run(harness, "caught recursion")) == "caught"


async def test_nothing_is_left_behind_for_the_next_execution(harness: ExecutorHarness, case: RuntimeCase) -> None:
    for _ in range(8):
        assert value(await case.run(harness, "leave something behind")) == 1
    for _ in range(8):
        assert value(await case.run(harness, "look for it")) == ["undefined", "undefined"]


# -- a daemon that is killed -------------------------------------------------------------------------------------------


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    started = Daemon(tmp_path, EXECUTOR_WORKERS="1", EXECUTOR_SLOTS="4", EXECUTOR_ALLOW_PRIVATE_HOSTS="true")
    started.start()
    yield started
    started.kill()


def test_an_execution_goes_on_after_kill_9_of_the_daemon(daemon: Daemon, ledger: Ledger, case: RuntimeCase) -> None:
    daemon.post("/v1/sources", {"location": f"{ledger.url}/openapi.json", "namespace": "ledger"})
    daemon.post("/v1/policies", {"pattern": "ledger.entries.*", "action": "allow"})
    body = {"code": case.code("pause"), "language": case.language, "runtime": case.runtime}
    paused = daemon.post("/v1/executions", body)
    assert paused["status"] == "paused", paused
    assert (paused["runtime"], paused["language"]) == (case.runtime, case.language)
    daemon.kill()
    daemon.start()
    daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve")
    finished = daemon.get(f"/v1/executions/{paused['executionId']}?wait=60")
    assert finished["result"] == ["before", "asked", "after"]
    assert effects(ledger.effects) == [("entries", "before"), ("transfers", "asked"), ("entries", "after")]
