"""The check of an execution: nothing is sent before it has spoken, and it speaks only once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from executor.checking.checkers import typescript
from executor.daemon.wiring import executor as wiring
from executor.daemon.wiring.executor import Executor
from executor.settings import Settings
from executor.sources.source_request import Consent, SourceRequest
from tests.checking.conftest import CheckerHarness
from tests.execution.conftest import ExecutorHarness, value
from tests.support.ledger import Ledger

WRONG = "await tools.ledger.entries.listEntries(); return await tools.ledger.entries.addEntry({key: 5})"


async def test_wrong_code_fails_before_anything_is_sent(harness: ExecutorHarness) -> None:
    await harness.policy("ledger.**", "allow")
    outcome = await harness.run(WRONG)
    failure = outcome.execution.failure
    assert outcome.execution.status == "failed" and failure is not None
    assert failure.code == "type_error"
    assert failure.details["line"] == 1
    assert failure.details["diagnostics"][0]["tool"] == "ledger.entries.addEntry"
    assert harness.effects() == []


async def test_with_warn_the_code_runs_and_the_answer_has_the_diagnostics(harness: ExecutorHarness) -> None:
    outcome = await harness.run("return await tools.ledger.entries.addEntry({key: 5})", typecheck="warn")
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "invalid_arguments"
    assert [one["severity"] for one in outcome.diagnostics] == ["warning"]
    again = await harness.executor.engine.outcome(harness.executor.tenancy.agent, outcome.execution.id)
    assert again.diagnostics == outcome.diagnostics


async def test_with_off_nothing_is_checked(harness: ExecutorHarness) -> None:
    outcome = await harness.run("return await tools.ledger.entries.addEntry({key: 5})", typecheck="off")
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "invalid_arguments"
    assert outcome.diagnostics == () and harness.executor.checker.typescript.pid == 0


async def test_no_checker_runs_before_code_names_a_tool(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process is a third of the memory of an idle daemon."""
    monkeypatch.setattr(wiring, "WARM_SECONDS", 0)
    await harness.executor._warm()
    await harness.run("return 1")
    assert harness.executor.checker.typescript.pid == 0
    await harness.run("return await tools.ledger.entries.listEntries()")
    assert harness.executor.checker.typescript.pid > 0


async def test_a_syntax_error_is_reported_as_one(harness: ExecutorHarness) -> None:
    outcome = await harness.run("const x = ; return await tools.ledger.entries.addEntry({key: 5})")
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "syntax_error"


async def test_without_a_checker_code_runs_with_a_warning(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typescript, "find_program", lambda: None)
    outcome = await harness.run("return await tools.discover({query: 'x'})")
    assert outcome.execution.status == "completed"
    assert [one["code"] for one in outcome.diagnostics] == ["unchecked"]


async def test_without_a_checker_code_fails_where_that_is_the_setting(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typescript, "find_program", lambda: None)
    executor = await Executor.open(replace(settings, typecheck_unavailable="fail"))
    try:
        code = "return await tools.discover({query: 'x'})"
        outcome = await executor.engine.run(executor.tenancy.agent, code, seconds=120)
        assert outcome.execution.failure is not None
        assert outcome.execution.failure.code == "typecheck_unavailable"
    finally:
        await executor.close()


async def test_a_resumed_execution_is_not_checked_again(
    reopen: Callable[[], Awaitable[ExecutorHarness]], monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = await reopen()
    paused = await harness.run("return await tools.ledger.entries.addEntry({key: 'a'})")
    assert paused.execution.status == "paused"
    harness = await reopen()
    monkeypatch.setattr(typescript, "find_program", lambda: pytest.fail("it was checked again"))
    await harness.settle(paused, "approve")
    assert value(await harness.wait(paused.execution.id, through_pause=True))
    assert len(harness.effects()) == 1


async def test_a_changed_catalog_changes_the_verdict(checks: CheckerHarness, ledger: Ledger) -> None:
    code = "return await tools.second.entries.listEntries()"
    assert [one.code for one in await checks.errors(code)] == ["unknown_tool"]
    request = SourceRequest(
        location=f"{ledger.url}/openapi.json", namespace="second", consented=Consent(private_network=True)
    )
    await checks.harness.executor.catalog.add_source(checks.workspace_id, request)
    assert await checks.errors(code) == []


async def test_the_same_code_is_checked_once(checks: CheckerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "return await tools.ledger.entries.listEntries()"
    assert checks.checker.find_known(checks.workspace_id, "typescript", code) is None
    await checks.verdict(code)
    monkeypatch.setattr(checks.checker.typescript, "check", lambda *_, **__: pytest.fail("it was checked twice"))
    assert value(await checks.harness.run(code)) is not None
