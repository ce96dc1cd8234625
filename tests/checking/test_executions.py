"""The check of an execution: nothing is sent before it has spoken, and it speaks only once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from executor.checking.checkers import language_server
from executor.daemon.wiring.executor import Executor
from executor.settings import Settings
from executor.sources.source_request import Consent, SourceRequest
from tests.checking.conftest import Desk
from tests.execution.conftest import House, value
from tests.support.ledger import Ledger

WRONG = "await tools.ledger.entries.listEntries(); return await tools.ledger.entries.addEntry({key: 5})"


async def test_wrong_code_fails_before_anything_is_sent(house: House) -> None:
    await house.policy("ledger.**", "allow")
    outcome = await house.run(WRONG)
    failure = outcome.execution.failure
    assert outcome.execution.status == "failed" and failure is not None
    assert failure.code == "type_error"
    assert failure.details["line"] == 1
    assert failure.details["diagnostics"][0]["tool"] == "ledger.entries.addEntry"
    assert house.effects() == []


async def test_with_warn_the_code_runs_and_the_answer_has_the_diagnostics(house: House) -> None:
    outcome = await house.run("return await tools.ledger.entries.addEntry({key: 5})", typecheck="warn")
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "invalid_arguments"
    assert [one["severity"] for one in outcome.diagnostics] == ["warning"]
    again = await house.executor.engine.outcome(house.executor.tenancy.agent, outcome.execution.id)
    assert again.diagnostics == outcome.diagnostics


async def test_with_off_nothing_is_checked(house: House) -> None:
    outcome = await house.run("return await tools.ledger.entries.addEntry({key: 5})", typecheck="off")
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "invalid_arguments"
    assert outcome.diagnostics == () and house.executor.checker.typescript.pid == 0


async def test_a_syntax_error_is_told_as_one(house: House) -> None:
    outcome = await house.run("const x = ; return await tools.ledger.entries.addEntry({key: 5})")
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "syntax_error"


async def test_without_a_checker_code_runs_with_a_warning(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_server, "program", lambda: None)
    outcome = await house.run("return await tools.discover({query: 'x'})")
    assert outcome.execution.status == "completed"
    assert [one["code"] for one in outcome.diagnostics] == ["unchecked"]


async def test_without_a_checker_code_fails_where_that_is_the_setting(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_server, "program", lambda: None)
    executor = await Executor.open(replace(settings, typecheck_unavailable="fail"))
    try:
        code = "return await tools.discover({query: 'x'})"
        outcome = await executor.engine.run(executor.tenancy.agent, code, seconds=30)
        assert outcome.execution.failure is not None
        assert outcome.execution.failure.code == "typecheck_unavailable"
    finally:
        await executor.close()


async def test_a_resumed_execution_is_not_checked_again(
    reopen: Callable[[], Awaitable[House]], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = await reopen()
    paused = await house.run("return await tools.ledger.entries.addEntry({key: 'a'})")
    assert paused.execution.status == "paused"
    house = await reopen()
    monkeypatch.setattr(language_server, "program", lambda: pytest.fail("it was checked again"))
    await house.settle(paused, "approve")
    assert value(await house.wait(paused.execution.id, through_pause=True))
    assert len(house.effects()) == 1


async def test_a_changed_catalog_changes_the_verdict(desk: Desk, ledger: Ledger) -> None:
    code = "return await tools.second.entries.listEntries()"
    assert [one.code for one in await desk.errors(code)] == ["unknown_tool"]
    request = SourceRequest(
        location=f"{ledger.url}/openapi.json", namespace="second", consented=Consent(private_network=True)
    )
    await desk.house.executor.catalog.add_source(desk.workspace_id, request)
    assert await desk.errors(code) == []


async def test_the_same_code_is_checked_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "return await tools.ledger.entries.listEntries()"
    assert desk.checker.known(desk.workspace_id, "typescript", code) is None
    await desk.verdict(code)
    monkeypatch.setattr(desk.checker.typescript, "check", lambda *_, **__: pytest.fail("it was checked twice"))
    assert value(await desk.house.run(code)) is not None
