"""NUL characters, which not every database can store, are refused where they come in."""

from __future__ import annotations

import pytest

from executor.errors import InvalidRequest
from executor.execution.journal.verification import replay_journal
from executor.storage.executions import calls
from executor.surfaces.http.guard import check_address
from executor.surfaces.http.strict_json import parse
from tests.execution.conftest import ExecutorHarness, value


async def test_code_with_a_nul_character_is_refused_and_an_escape_is_not(harness: ExecutorHarness) -> None:
    with pytest.raises(InvalidRequest, match="NUL"):
        await harness.run("return 'a\0b'")
    assert value(await harness.run("return 'a\\u0000b'.length")) == 3


async def test_a_path_with_a_nul_character_is_refused_and_stored_without_it(harness: ExecutorHarness) -> None:
    outcome = await harness.run("try { await tools.ledger['a\\u0000b']({}) } catch (e) { return [e.code, e.message] }")
    code, message = value(outcome)
    assert code == "unknown_tool"
    assert "NUL" in message
    workspace, database = harness.executor.tenancy.workspace.id, harness.executor.database
    [call] = await database.read(lambda c: calls.of_execution(c, workspace, outcome.execution.id))
    assert "\0" not in call.path
    runtime = harness.executor.runtimes.get(outcome.execution.runtime)
    assert (await replay_journal(runtime, outcome.execution, [call])).matches


async def test_a_reason_with_a_nul_character_is_refused_and_decides_nothing(harness: ExecutorHarness) -> None:
    outcome = await harness.run('return await tools.ledger.entries.addEntry({key: "a", amount: 5})')
    with pytest.raises(InvalidRequest, match="NUL"):
        await harness.settle(outcome, "deny", reason="no\0")
    assert (await harness.settle(outcome, "deny", reason="no")).status == "denied"


@pytest.mark.parametrize("body", [rb'{"name": "a\u0000"}', rb'{"list": [{"a\u0000": 1}]}', rb'"\u0000"'])
def test_a_body_with_a_nul_character_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest, match="NUL"):
        parse(body)


def test_a_body_that_only_writes_about_one_is_read() -> None:
    assert parse(rb'{"code": "return \\u0000"}') == {"code": "return \\u0000"}


@pytest.mark.parametrize("scope", [{"path": "/v1/sources/a\0"}, {"path": "/v1/sources", "query_string": b"name=a%00"}])
def test_an_address_with_a_nul_character_is_refused(scope: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match="NUL"):
        check_address(scope)  # type: ignore[arg-type]
