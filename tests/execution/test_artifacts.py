"""Large results in executions: kept whole, told as a preview, read by code, the same in a replay, written once."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
import sqlalchemy as sa

from executor.errors import Conflict, StorageFull
from executor.execution import dispatch
from executor.execution.artifacts.tools import TOOLS
from executor.execution.journal import journal
from executor.model.artifact import Artifact
from executor.storage.executions import artifacts, calls, executions
from executor.storage.tables.core import artifacts as artifacts_table
from executor.storage.tables.core import calls as calls_table
from executor.storage.tables.core import chunks
from executor.storage.tables.core import executions as executions_table
from tests.execution.conftest import ExecutorHarness, value
from tests.support.submission import submit

Reopen = Callable[[], Awaitable[ExecutorHarness]]
ROWS = "Array.from({length: 4000}, (_, i) => ({id: i, name: `customer ${i}`}))"
BIG = "tools.ledger.big.big({bytes: 200000})"


async def list_artifacts(harness: ExecutorHarness) -> list[Artifact]:
    return await harness.executor.database.read(lambda c: artifacts.page(c, harness.executor.tenancy.workspace.id))


async def content(harness: ExecutorHarness, artifact: Artifact) -> bytes:
    return await harness.executor.database.read(lambda c: artifacts.content(c, artifact))


async def scalar(harness: ExecutorHarness, query: Any) -> Any:
    return await harness.executor.database.read(lambda c: c.execute(query).scalar())


async def test_a_large_result_is_kept_beside_its_execution_and_comes_back_letter_by_letter(
    harness: ExecutorHarness,
) -> None:
    outcome = await harness.run(f"return {ROWS}")
    assert outcome.artifact is not None and outcome.artifact.name == "result.json"
    again = await harness.executor.engine.outcome(harness.executor.tenancy.agent, outcome.execution.id)
    assert again.execution.result == outcome.execution.result
    assert again.artifact == outcome.artifact
    assert (await content(harness, outcome.artifact)).decode() == outcome.execution.result
    assert await scalar(harness, sa.select(executions_table.c.result)) is None
    shown = orjson.loads(outcome.artifact.preview)
    assert shown["value"][0] == {"id": 0, "name": "customer 0"}
    assert shown["cut"][0]["total"] == 4000


async def test_a_small_result_is_not(harness: ExecutorHarness) -> None:
    outcome = await harness.run("return 'x'.repeat(30000)")
    assert outcome.artifact is None and await list_artifacts(harness) == []
    assert len(value(outcome)) == 30_000


async def test_a_large_text_is_kept_as_that_text(harness: ExecutorHarness) -> None:
    outcome = await harness.run(r'return "é\n\"\u0001\u007f\u2028/".repeat(10000)')
    assert outcome.artifact is not None and outcome.artifact.media_type == "text/plain"
    assert (await content(harness, outcome.artifact)).decode() == value(outcome)
    again = await harness.executor.engine.outcome(harness.executor.tenancy.agent, outcome.execution.id)
    assert again.execution.result == outcome.execution.result
    assert (await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)).matches


async def test_what_unicode_can_not_write_is_kept_as_it_came(harness: ExecutorHarness) -> None:
    outcome = await harness.run(r'return ["\ud800", "x".repeat(40000)]')
    if outcome.execution.status == "completed":
        assert outcome.artifact is not None and outcome.artifact.form == "json"
        assert (await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)).matches


async def test_the_code_works_on_the_whole_result_of_a_call_and_the_journal_keeps_it_apart(
    harness: ExecutorHarness,
) -> None:
    outcome = await harness.run(f"return (await {BIG}).data.length")
    assert value(outcome) == 200_000
    [artifact] = await list_artifacts(harness)
    assert (artifact.call_seq, artifact.name) == (1, "ledger.big.big-1.json")
    assert json.loads(await content(harness, artifact)) == {"data": "x" * 200_000}
    assert await scalar(harness, sa.select(calls_table.c.result)) is None
    report = await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)
    assert report.matches, report.detail


async def test_equal_content_of_an_execution_is_stored_once(harness: ExecutorHarness) -> None:
    await harness.run(f"await Promise.all([{BIG}, {BIG}]); return 1")
    assert sorted(one.call_seq for one in await list_artifacts(harness)) == [1, 2]
    assert await scalar(harness, sa.select(sa.func.count()).select_from(chunks)) == 1


async def test_a_resumed_run_finds_its_large_answers_again_and_writes_nothing_twice(reopen: Reopen) -> None:
    harness = await reopen()
    outcome = await harness.run(f"""
        const big = (await {BIG}).data;
        await tools.ledger.transfers.transfer({{key: "asked " + big.length}});
        return [big, big];
    """)
    assert outcome.execution.status == "paused"
    before = await list_artifacts(harness)
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert [len(part) for part in value(finished)] == [200_000, 200_000]
    after = await list_artifacts(harness)
    assert len(after) == 2 and before[0] in after
    assert harness.effects() == [("transfers", "asked 200000")]
    report = await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)
    assert report.matches, report.detail


async def test_a_tampered_artifact_does_not_replay(harness: ExecutorHarness) -> None:
    outcome = await harness.run(f"return {ROWS}")

    def forge(c: sa.Connection) -> None:
        c.execute(sa.update(chunks).values(data=b"[]"))

    await harness.executor.database.write(forge)
    report = await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)
    assert not report.matches


async def test_a_run_that_lost_its_epoch_keeps_nothing(harness: ExecutorHarness) -> None:
    agent = harness.executor.tenancy.agent
    execution = await submit(
        harness.executor.engine, agent, f"await tools.ledger.slow.wait({{ms: 3000}}); return {ROWS}"
    )
    await harness.executor.database.write(lambda c: executions.claim(c, execution.id))
    run = harness.executor.engine._dispatch.runs[execution.id]
    await run.done.wait()
    assert await list_artifacts(harness) == []


async def test_a_full_disk_leaves_no_half_artifact_and_loses_nothing(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "RETRY_SECONDS", 0.0)
    finish, refused = executions.finish, []

    def full(c: sa.Connection, *args: Any) -> None:
        if not refused:
            refused.append(c.execute(sa.select(sa.func.count()).select_from(artifacts_table)).scalar())
            raise StorageFull("the disk that holds the database is full")
        finish(c, *args)

    monkeypatch.setattr(journal.executions, "finish", full)
    agent = harness.executor.tenancy.agent
    code = f"return (await {BIG}).data.length + {ROWS}.length + 'y'.repeat(40000)"
    execution = await submit(harness.executor.engine, agent, code)
    outcome = await harness.wait(execution.id)
    assert value(outcome).startswith("204000y")
    assert refused == [2]  # the result was written already when the disk was full, and taken back with the rest
    assert sorted(one.call_seq for one in await list_artifacts(harness)) == [0, 1]


async def test_files_in_results_become_artifacts_of_their_own(harness: ExecutorHarness) -> None:
    data = base64.b64encode(b"\x89PNG\r\n" + bytes(9_000)).decode()
    outcome = await harness.run(f'return {{page: 1, contentType: "image/png", base64: "{data}"}}')
    found = {one.form: one for one in await list_artifacts(harness)}
    assert found["bytes"].media_type == "image/png" and found["bytes"].name == "result.png"
    assert await content(harness, found["bytes"]) == base64.b64decode(data)
    assert outcome.artifact is not None and outcome.artifact.form == "json"
    shown = orjson.loads(outcome.artifact.preview)["value"]
    assert found["bytes"].id in shown["base64"] and len(shown["base64"]) < 200
    assert value(outcome)["base64"] == data


async def test_code_reads_searches_and_lists_what_its_actor_kept(harness: ExecutorHarness) -> None:
    first = await harness.run(f"return {{rows: {ROWS}}}")
    assert first.artifact is not None
    outcome = await harness.run(f"""
        const id = "{first.artifact.id}";
        const whole = await tools.executor.artifacts.read({{id, pointer: "/rows"}});
        const page = await tools.executor.artifacts.read({{id, pointer: "/rows", offset: 3999, limit: 5}});
        const found = await tools.executor.artifacts.search({{id, query: "CUSTOMER 399", limit: 3}});
        const [listed] = await tools.executor.artifacts.list({{executionId: "{first.execution.id}"}});
        return [whole.value.filter((row) => row.id % 1000 === 0).length, page.value, page.total, page.next,
                found.matches.map((one) => one.pointer), found.more, listed.name];
    """)
    assert value(outcome) == [
        4,
        [{"id": 3999, "name": "customer 3999"}],
        4000,
        None,
        ["/rows/399/name", "/rows/3990/name", "/rows/3991/name"],
        True,
        "result.json",
    ]
    assert [one.execution_id for one in await list_artifacts(harness)] == [
        first.execution.id
    ]  # reading keeps nothing more
    report = await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)
    assert report.matches, report.detail


async def test_python_code_reads_them_too(harness: ExecutorHarness) -> None:
    first = await harness.run(f"return {ROWS}")
    assert first.artifact is not None
    code = f'len((await tools.executor.artifacts.read(id="{first.artifact.id}"))["value"])'
    assert value(await harness.run(code, language="python")) == 4000


async def test_code_of_another_actor_finds_nothing(harness: ExecutorHarness) -> None:
    first = await harness.run(f"return {ROWS}")
    assert first.artifact is not None
    code = f"""
        const codes = [];
        for (const id of ["{first.artifact.id}", "art_nothing"])
          for (const tool of ["read", "search"])
            try {{ await tools.executor.artifacts[tool]({{id, query: "a"}}) }} catch (e) {{ codes.push(e.code) }}
        return [codes, await tools.executor.artifacts.list({{}})];
    """
    code = code.replace('"read", "search"', '"search"')
    other = harness.executor.tenancy.operator
    outcome = await harness.executor.engine.run(other, code, seconds=120.0)
    assert value(outcome) == [["not_found", "not_found"], []]


async def test_a_policy_can_deny_the_tools_like_any_other(harness: ExecutorHarness) -> None:
    await harness.policy("executor.artifacts.*", "deny")
    for tool in TOOLS:
        given = '{id: "art_1", query: "x"}' if tool.path.endswith("search") else '{id: "art_1"}'
        given = "{}" if tool.path.endswith("list") else given
        outcome = await harness.run(f"try {{ await tools.{tool.path}({given}) }} catch (e) {{ return e.code }}")
        assert value(outcome) == "denied", tool.path


async def test_what_was_deleted_is_reported_and_a_replay_says_why_it_can_not_be(harness: ExecutorHarness) -> None:
    outcome = await harness.run(f"return (await {BIG}).data.length")
    [artifact] = await list_artifacts(harness)
    await harness.executor.database.write(lambda c: artifacts.delete(c, artifact))
    assert await scalar(harness, sa.select(sa.func.count()).select_from(chunks)) == 0
    with pytest.raises(Conflict, match=artifact.id):
        await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)
    told = f'try {{ await tools.executor.artifacts.read({{id: "{artifact.id}"}}) }} catch (e) {{ return e.message }}'
    assert "deleted" in value(await harness.run(told))


async def test_results_of_an_older_database_stay_where_they_are(harness: ExecutorHarness) -> None:
    outcome = await harness.run("return 1")
    large = json.dumps(["y" * 50_000])

    def old(c: sa.Connection) -> None:
        c.execute(sa.update(executions_table).values(result=large))

    await harness.executor.database.write(old)
    again = await harness.executor.engine.outcome(harness.executor.tenancy.agent, outcome.execution.id)
    assert again.execution.result == large and again.artifact is None


async def test_the_largest_result_of_a_call_can_be_returned(harness: ExecutorHarness) -> None:
    outcome = await harness.run("return await tools.ledger.big.big({bytes: 8000000})")
    assert outcome.artifact is not None and outcome.artifact.size > 8_000_000
    found = await harness.executor.database.read(
        lambda c: calls.of_execution(c, outcome.execution.workspace_id, outcome.execution.id)
    )
    assert found[0].result is None and found[0].artifact_id
