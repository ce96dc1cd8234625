from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from executor.errors import AlreadySettled, Forbidden, InteractionExpired, InvalidRequest, NotFound
from executor.execution.approvals.expiry import expire
from executor.execution.approvals.requests import ApprovalRequests
from executor.model.ids import now_ms
from executor.model.interaction import Interaction
from executor.model.tool import Tool
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions import calls, events, interactions
from tests.execution.conftest import ExecutorHarness, value
from tests.support.conditions import until
from tests.support.submission import submit

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'


async def test_a_write_pauses_and_shows_exactly_what_it_would_do(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    assert outcome.execution.status == "paused"
    [approval] = outcome.interactions
    assert approval.kind == "approval"
    assert approval.prompt["tool"] == "ledger.entries.addEntry"
    assert approval.prompt["arguments"] == {"key": "a", "amount": 5}
    assert approval.prompt["effect"] == "write"
    assert approval.prompt["host"] == harness.ledger.url
    assert harness.effects() == []


async def test_the_prompt_names_the_server_the_call_really_goes_to(harness: ExecutorHarness) -> None:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Two hosts", "version": "1"},
        "servers": [{"url": harness.ledger.url}],
        "paths": {
            "/x": {"post": {"operationId": "act", "servers": [{"url": "https://elsewhere.example"}], "responses": {}}}
        },
    }
    request = SourceRequest(
        location="two.json",
        document=json.dumps(document).encode(),
        namespace="two",
        consented=Consent(private_network=True),
    )
    await harness.executor.catalog.add_source(harness.executor.tenancy.workspace.id, request)
    found = await harness.executor.catalog.page(harness.executor.tenancy.workspace.id, prefix="two")
    outcome = await harness.run(f"await tools.{found[0].path}({{}})")
    assert outcome.interactions[0].prompt["host"] == "https://elsewhere.example"


async def test_approving_sends_the_call_once_and_finishes(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    settled = await harness.settle(outcome, "approve")
    assert settled.status == "approved"
    assert settled.settled_by == harness.executor.tenancy.operator.id
    finished = await harness.wait(outcome.execution.id)
    assert value(finished) == {"kind": "entries", "key": "a"}
    assert harness.effects() == [("entries", "a")]


async def test_denying_fails_only_that_call_and_says_why(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        try { await tools.ledger.entries.addEntry({key: "a"}) }
        catch (e) { return [e.code, e.message, (await tools.ledger.entries.listEntries({key: "b"})).key] }
    """)
    await harness.settle(outcome, "deny", reason="too much")
    code, message, after = value(await harness.wait(outcome.execution.id))
    assert (code, after) == ("denied", "b")
    assert "too much" in message
    assert harness.effects() == []


async def test_a_denial_that_code_does_not_handle_fails_the_execution_as_denied(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    await harness.settle(outcome, "deny")
    finished = await harness.wait(outcome.execution.id)
    assert finished.execution.failure is not None
    assert finished.execution.failure.code == "denied"


async def test_an_agent_can_never_decide(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    agent = harness.executor.tenancy.agent
    with pytest.raises(Forbidden):
        await harness.executor.engine.settle(agent, outcome.interactions[0].id, "approve")
    assert harness.effects() == []


async def test_a_decision_is_made_once_even_when_two_race(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    raced = await asyncio.gather(
        harness.settle(outcome, "approve"), harness.settle(outcome, "approve"), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in raced) == ["AlreadySettled", "Interaction"]
    await harness.wait(outcome.execution.id)
    assert harness.effects() == [("entries", "a")]
    with pytest.raises(AlreadySettled):
        await harness.settle(outcome, "deny")


async def test_another_workspace_does_not_see_the_approval(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    stranger = replace(harness.executor.tenancy.operator, workspace_id="ws_other")
    with pytest.raises(NotFound):
        await harness.executor.engine.settle(stranger, outcome.interactions[0].id, "approve")
    with pytest.raises(NotFound):
        await harness.executor.engine.wait(stranger, outcome.execution.id, 0)
    with pytest.raises(NotFound):
        await harness.executor.engine.cancel(stranger, outcome.execution.id)


async def test_nothing_can_be_approved_after_a_cancel(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    await harness.executor.engine.cancel(harness.executor.tenancy.operator, outcome.execution.id)
    with pytest.raises(AlreadySettled, match="cancelled"):
        await harness.settle(outcome, "approve")
    assert harness.effects() == []


async def test_an_approval_that_no_one_answers_expires_and_the_code_learns_it(harness: ExecutorHarness) -> None:
    outcome = await harness.run("try { " + WRITE + " } catch (e) { return e.code }")
    in_ten_days = now_ms() + 10 * 86_400_000
    assert await expire(harness.executor.database, harness.executor.engine.settle_by, in_ten_days) == 1
    assert value(await harness.wait(outcome.execution.id)) == "approval_expired"
    with pytest.raises(InteractionExpired):
        await harness.settle(outcome, "approve")
    assert harness.effects() == []


async def test_an_approval_that_is_used_too_late_is_asked_again(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    asked = outcome.interactions[0]
    approvals = ApprovalRequests(outcome.execution, harness.executor.pipeline, 1000)
    late = replace(asked, status="approved", expires_at=now_ms() - 1)
    workspace_id = harness.executor.tenancy.workspace.id
    [call] = await harness.executor.database.read(lambda c: calls.of_execution(c, workspace_id, outcome.execution.id))
    assert isinstance(await approvals.judge(call, replace(asked, status="approved")), Tool)
    again = await approvals.judge(call, late)
    assert isinstance(again, Interaction)
    assert "expired" in again.prompt["reason"]


async def test_a_changed_policy_asks_again_before_sending(harness: ExecutorHarness) -> None:
    code = """
        const [entry] = await Promise.all([
          tools.ledger.entries.addEntry({key: "a"}), tools.ledger.transfers.transfer({key: "b"})]);
        return entry.key;
    """
    outcome = await harness.run(code)
    assert len(outcome.interactions) == 2
    await harness.policy("other.**", "deny")
    await harness.settle(outcome, "approve", 0)
    again = await harness.wait(outcome.execution.id)
    assert again.execution.status == "paused"
    assert harness.effects() == []
    fresh = [asked for asked in again.interactions if asked.id != outcome.interactions[1].id]
    assert len(fresh) == 1
    assert "changed" in fresh[0].prompt["reason"]
    workspace_id, first = harness.executor.tenancy.workspace.id, outcome.interactions[0].id
    old = await harness.executor.database.read(lambda c: interactions.get(c, workspace_id, first))
    assert old is not None
    assert old.status == "superseded"


async def test_a_policy_that_denies_meanwhile_overrules_the_approval(harness: ExecutorHarness) -> None:
    outcome = await harness.run("try { " + WRITE + " } catch (e) { return e.code }")
    await harness.policy("ledger.entries.addEntry", "deny")
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(outcome.execution.id)) == "denied"
    assert harness.effects() == []


async def test_policies_allow_deny_and_require_approval_in_order(harness: ExecutorHarness) -> None:
    await harness.policy("ledger.entries.removeEntry", "deny")
    await harness.policy("ledger.entries.*", "allow")
    await harness.policy("ledger.slow.**", "require_approval")
    outcome = await harness.run("""
        await tools.ledger.entries.addEntry({key: "a"});
        try { await tools.ledger.entries.removeEntry({key: "a"}) } catch (e) { console.log(e.code) }
        await tools.ledger.slow.wait({ms: 1});
    """)
    assert outcome.execution.status == "paused"
    assert [asked.prompt["tool"] for asked in outcome.interactions] == ["ledger.slow.wait"]
    assert [line.text for line in outcome.logs] == ["denied"]
    assert harness.effects() == [("entries", "a")]


@pytest.mark.parametrize(
    "written",
    ['tools["ledger.entries.removeEntry"]', 'tools.ledger["entries.removeEntry"]', "tools.ledger.entries.removeEntry"],
)
async def test_no_spelling_of_a_path_dodges_a_policy(harness: ExecutorHarness, written: str) -> None:
    await harness.policy("ledger.entries.removeEntry", "deny")
    outcome = await harness.run(f'try {{ await {written}({{key: "a"}}) }} catch (e) {{ return e.code }}')
    assert value(outcome) == "denied"


@pytest.mark.parametrize(
    "path",
    [
        "Ledger.entries.removeEntry",
        "ledger.entries.removeEntry.",
        "ledger.entries%2eremoveEntry",
        "ledger..entries.removeEntry",
    ],
)
async def test_a_path_that_is_not_spelled_exactly_is_unknown(harness: ExecutorHarness, path: str) -> None:
    outcome = await harness.run(f'try {{ await tools[{path!r}]({{key: "a"}}) }} catch (e) {{ return e.code }}')
    assert value(outcome) == "unknown_tool"
    assert harness.effects() == []


async def test_parallel_approvals_can_be_settled_in_any_order(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        const done = await Promise.all(["a", "b", "c"].map((key) =>
          tools.ledger.entries.addEntry({key}).then((e) => e.key, (e) => e.code)));
        return done;
    """)
    keys = [asked.prompt["arguments"]["key"] for asked in outcome.interactions]
    for key, decision in (("c", "approve"), ("a", "deny"), ("b", "approve")):
        await harness.settle(outcome, decision, keys.index(key))
        await harness.wait(outcome.execution.id)
    assert value(await harness.wait(outcome.execution.id)) == ["denied", "b", "c"]
    assert harness.effects() == [("entries", "c"), ("entries", "b")]


async def test_a_run_with_work_left_takes_a_decision_without_parking(harness: ExecutorHarness) -> None:
    agent = harness.executor.tenancy.agent
    code = """
        const slow = tools.ledger.slow.wait({ms: 6000});
        const entry = await tools.ledger.entries.addEntry({key: "a"});
        const after = await tools.ledger.entries.listEntries({key: "early"});
        await slow;
        return [entry.key, after.key];
    """
    execution = await submit(harness.executor.engine, agent, code)
    pending: list[Interaction] = []
    async with asyncio.timeout(120):
        while not pending:
            pending = await harness.executor.database.read(
                lambda c: interactions.page(c, agent.workspace_id, status="pending")
            )
    await harness.executor.engine.settle(harness.executor.tenancy.operator, pending[0].id, "approve")
    await until(lambda: harness.effects() == [("entries", "a")])
    outcome = await harness.wait(execution.id)
    assert value(outcome) == ["a", "early"]
    found = await harness.executor.database.read(
        lambda c: events.after(c, agent.workspace_id, execution_id=execution.id)
    )
    assert "execution.paused" not in [event.type for event in found]


async def test_a_result_can_only_be_given_for_an_unknown_outcome(harness: ExecutorHarness) -> None:
    outcome = await harness.run(WRITE)
    with pytest.raises(InvalidRequest):
        await harness.settle(outcome, "approve", result='{"forged": true}')
