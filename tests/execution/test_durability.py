"""What survives a restart. A restart here closes the Executor; the chaos suite kills the whole process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import sqlalchemy as sa

from executor.errors import Busy
from executor.model.execution import Execution
from executor.storage.executions import calls, executions
from executor.storage.tables.core import calls as calls_table
from executor.storage.tables.core import executions as executions_table
from executor.storage.tables.core import tools as tools_table
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import until
from tests.support.submission import submit

Reopen = Callable[[], Awaitable[ExecutorHarness]]


async def test_a_paused_run_survives_a_restart_and_repeats_nothing(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.entries.*", "allow")
    outcome = await harness.run("""
        const stamp = [Date.now(), Math.random(), crypto.randomUUID()];
        const first = await tools.ledger.entries.addEntry({key: "before"});
        const second = await tools.ledger.transfers.transfer({key: "asked"});
        return {stamp, keys: [first.key, second.key]};
    """)
    assert outcome.execution.status == "paused"
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert value(finished)["keys"] == ["before", "asked"]
    assert harness.effects() == [("entries", "before"), ("transfers", "asked")]


async def test_time_and_randomness_are_the_same_when_a_run_is_resumed(reopen: Reopen) -> None:
    harness = await reopen()
    outcome = await harness.run("""
        const seen = [Date.now(), Math.random(), crypto.randomUUID()];
        const read = await tools.ledger.entries.listEntries({key: String(seen[1])});
        const later = [Date.now(), performance.now(), new Date().toISOString(), Math.random()];
        console.log(JSON.stringify([seen, later]));
        await tools.ledger.transfers.transfer({key: JSON.stringify([seen, later])});
        return [seen, later];
    """)
    before = outcome.logs[0].text
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    import json

    assert value(finished) == json.loads(before)
    assert [line.text for line in finished.logs] == [before]


async def test_log_lines_are_kept_once_however_often_a_run_is_resumed(reopen: Reopen) -> None:
    harness = await reopen()
    outcome = await harness.run("""
        for (const key of ["a", "b", "c"]) {
          console.log("before " + key);
          await tools.ledger.transfers.transfer({key});
        }
        console.log("end");
    """)
    for _ in range(3):
        harness = await reopen()
        await harness.settle(outcome, "approve")
        outcome = await harness.wait(outcome.execution.id)
    assert [line.text for line in outcome.logs] == ["before a", "before b", "before c", "end"]
    again = await harness.executor.engine.outcome(harness.executor.tenancy.agent, outcome.execution.id)
    assert [line.text for line in again.logs] == ["before a", "before b", "before c", "end"]


async def test_stopping_the_daemon_parks_running_work_and_the_next_start_goes_on(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.entries.*", "allow")
    code = """
        await tools.ledger.entries.addEntry({key: "one"});
        await new Promise((resolve) => setTimeout(resolve, 1500));
        await tools.ledger.entries.addEntry({key: "two"});
        return "whole";
    """
    execution = await submit(harness.executor.engine, harness.executor.tenancy.agent, code)
    await until(lambda: len(harness.effects()) == 1)
    harness = await reopen()
    assert value(await harness.wait(execution.id)) == "whole"
    assert harness.effects() == [("entries", "one"), ("entries", "two")]


async def interrupt(harness: ExecutorHarness, path: str, state: str = "started") -> Execution:
    """Leave an execution as a crash between the send and the record would: `path` sent, its answer unknown."""
    outcome = await harness.run(f'try {{ return await tools.{path}({{key: "x"}}) }} catch (e) {{ return e.code }}')
    execution_id = outcome.execution.id

    def forget(c: sa.Connection) -> None:
        blank = {"state": state, "result": None, "failure": None, "done_seq": None, "done_ms": None}
        c.execute(sa.update(calls_table).where(calls_table.c.execution_id == execution_id).values(**blank))
        running = {"status": "running", "result": None, "failure": None, "finished_at": None}
        c.execute(sa.update(executions_table).where(executions_table.c.id == execution_id).values(**running))

    await harness.executor.database.write(forget)
    return outcome.execution


async def test_an_interrupted_write_is_never_repeated_silently(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.**", "allow")
    execution = await interrupt(harness, "ledger.entries.addEntry")
    harness = await reopen()
    outcome = await harness.wait(execution.id)
    assert outcome.execution.status == "paused"
    assert [asked.kind for asked in outcome.interactions] == ["unknown_outcome"]
    assert harness.effects() == [("entries", "x")]
    await harness.settle(outcome, "deny")
    assert value(await harness.wait(execution.id)) == "unknown_outcome"
    assert harness.effects() == [("entries", "x")]


async def test_a_human_can_have_an_interrupted_write_sent_again(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.**", "allow")
    execution = await interrupt(harness, "ledger.entries.addEntry")
    harness = await reopen()
    await harness.settle(await harness.wait(execution.id), "approve")
    assert value(await harness.wait(execution.id)) == {"kind": "entries", "key": "x"}
    assert harness.effects() == [("entries", "x"), ("entries", "x")]


async def test_a_human_can_tell_what_an_interrupted_write_gave(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.**", "allow")
    execution = await interrupt(harness, "ledger.entries.addEntry")
    harness = await reopen()
    await harness.settle(await harness.wait(execution.id), "approve", result='{"kind":"seen","key":"x"}')
    assert value(await harness.wait(execution.id)) == {"kind": "seen", "key": "x"}
    assert harness.effects() == [("entries", "x")]


async def change_tool(harness: ExecutorHarness, tool: str, **values: object) -> None:
    def job(c: sa.Connection) -> None:
        c.execute(sa.update(tools_table).where(tools_table.c.path == tool).values(**values))

    await harness.executor.database.write(job)


async def test_an_interrupted_read_is_not_sent_to_what_has_become_another_tool(reopen: Reopen) -> None:
    harness = await reopen()
    execution = await interrupt(harness, "ledger.entries.listEntries")
    await change_tool(harness, "ledger.entries.listEntries", effect="destructive", schema_digest="another")
    harness = await reopen()
    assert value(await harness.wait(execution.id)) == "tool_changed"


async def test_an_interrupted_read_that_is_denied_meanwhile_is_not_sent_again(reopen: Reopen) -> None:
    harness = await reopen()
    execution = await interrupt(harness, "ledger.entries.listEntries")
    await harness.policy("ledger.**", "deny")
    harness = await reopen()
    assert value(await harness.wait(execution.id)) == "denied"


async def test_an_interrupted_write_stays_unknown_when_its_tool_is_gone(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.**", "allow")
    execution = await interrupt(harness, "ledger.entries.addEntry")
    await change_tool(harness, "ledger.entries.addEntry", path="ledger.entries.renamed")
    harness = await reopen()
    outcome = await harness.wait(execution.id)
    assert [asked.kind for asked in outcome.interactions] == ["unknown_outcome"]
    assert outcome.interactions[0].prompt["tool"] == "ledger.entries.addEntry"
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(execution.id)) == "unknown_outcome"
    assert harness.effects() == [("entries", "x")]


async def test_an_interrupted_read_is_sent_again(reopen: Reopen) -> None:
    harness = await reopen()
    execution = await interrupt(harness, "ledger.entries.listEntries")
    harness = await reopen()
    assert value(await harness.wait(execution.id)) == {"key": "x"}


async def test_an_interrupted_write_with_an_idempotency_key_is_sent_again_and_acts_once(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.**", "allow")
    execution = await interrupt(harness, "ledger.charges.charge")
    harness = await reopen()
    assert value(await harness.wait(execution.id)) == {"kind": "charge", "key": "x"}
    assert harness.effects() == [("charge", "x")]


async def test_code_that_does_not_repeat_itself_is_stopped(reopen: Reopen) -> None:
    harness = await reopen()
    outcome = await harness.run(
        'await tools.ledger.entries.listEntries({key: "a"}); await tools.ledger.transfers.transfer({key: "b"})'
    )

    def forge(c: sa.Connection) -> None:
        first = (calls_table.c.execution_id == outcome.execution.id, calls_table.c.seq == 1)
        c.execute(sa.update(calls_table).where(*first).values(arguments_digest="another"))

    await harness.executor.database.write(forge)
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert finished.execution.failure is not None
    assert finished.execution.failure.code == "nondeterminism"
    assert harness.effects() == []


async def test_a_parked_run_holds_nothing_in_memory(reopen: Reopen) -> None:
    harness = await reopen()
    for _ in range(5):
        await harness.run('await tools.ledger.transfers.transfer({key: "b"})')
    await until(lambda: harness.executor.engine.live == 0)
    await until(lambda: harness.executor.runtime.open_sandboxes == 0)


async def test_replaying_a_finished_journal_gives_the_same_result_and_sends_nothing(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.**", "allow")
    outcome = await harness.run("""
        const results = await Promise.all([1, 2, 3].map(async (n) => {
          const entry = await tools.ledger.entries.addEntry({key: `${n}:${Math.random()}`});
          await new Promise((resolve) => setTimeout(resolve, n));
          return [entry.key, Date.now()];
        }));
        return results;
    """)
    count = len(harness.effects())
    report = await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)
    assert report.matches, report.detail
    assert len(harness.effects()) == count


async def test_a_tampered_journal_does_not_replay(reopen: Reopen) -> None:
    harness = await reopen()
    outcome = await harness.run('return (await tools.ledger.entries.listEntries({key: "a"})).key')

    def forge(c: sa.Connection) -> None:
        c.execute(sa.update(calls_table).values(result='{"key":"forged"}'))

    await harness.executor.database.write(forge)
    report = await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)
    assert not report.matches


async def test_a_run_fenced_off_by_another_owner_writes_nothing_more(reopen: Reopen) -> None:
    harness = await reopen()
    await harness.policy("ledger.**", "allow")
    agent = harness.executor.tenancy.agent
    code = 'await tools.ledger.slow.wait({ms: 3000}); await tools.ledger.entries.addEntry({key: "late"})'
    execution = await submit(harness.executor.engine, agent, code)
    await harness.executor.database.write(lambda c: executions.claim(c, execution.id))
    await until(lambda: harness.executor.engine.live == 0)
    assert harness.effects() == []
    found = await harness.executor.database.read(lambda c: calls.of_execution(c, agent.workspace_id, execution.id))
    assert [call.path for call in found if call.done_seq] == []


async def test_a_run_whose_sandbox_can_not_be_opened_is_reported_as_failed_at_once(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = await reopen()

    async def refuse() -> None:
        raise Busy("no place", hint="none")

    monkeypatch.setattr(harness.executor.runtime, "launch", lambda program: None)
    monkeypatch.setattr(harness.executor.runtime, "open", refuse)
    outcome = await harness.run("return 1")
    assert outcome.execution.status == "failed"
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "busy"
