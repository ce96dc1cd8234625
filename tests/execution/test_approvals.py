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
from tests.execution.conftest import House, until, value

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'


async def test_a_write_pauses_and_shows_exactly_what_it_would_do(house: House) -> None:
    outcome = await house.run(WRITE)
    assert outcome.execution.status == "paused"
    [question] = outcome.interactions
    assert question.kind == "approval"
    assert question.prompt["tool"] == "ledger.entries.addEntry"
    assert question.prompt["arguments"] == {"key": "a", "amount": 5}
    assert question.prompt["effect"] == "write"
    assert question.prompt["host"] == house.ledger.url
    assert house.effects() == []


async def test_the_prompt_names_the_server_the_call_really_goes_to(house: House) -> None:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Two hosts", "version": "1"},
        "servers": [{"url": house.ledger.url}],
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
    await house.executor.catalog.add_source(house.executor.tenancy.workspace.id, request)
    found = await house.executor.catalog.page(house.executor.tenancy.workspace.id, prefix="two")
    outcome = await house.run(f"await tools.{found[0].path}({{}})")
    assert outcome.interactions[0].prompt["host"] == "https://elsewhere.example"


async def test_approving_sends_the_call_once_and_finishes(house: House) -> None:
    outcome = await house.run(WRITE)
    settled = await house.settle(outcome, "approve")
    assert settled.status == "approved"
    assert settled.settled_by == house.executor.tenancy.operator.id
    finished = await house.wait(outcome.execution.id)
    assert value(finished) == {"kind": "entries", "key": "a"}
    assert house.effects() == [("entries", "a")]


async def test_denying_fails_only_that_call_and_says_why(house: House) -> None:
    outcome = await house.run("""
        try { await tools.ledger.entries.addEntry({key: "a"}) }
        catch (e) { return [e.code, e.message, (await tools.ledger.entries.listEntries({key: "b"})).key] }
    """)
    await house.settle(outcome, "deny", reason="too much")
    code, message, after = value(await house.wait(outcome.execution.id))
    assert (code, after) == ("denied", "b")
    assert "too much" in message
    assert house.effects() == []


async def test_a_denial_that_code_does_not_handle_fails_the_execution_as_denied(house: House) -> None:
    outcome = await house.run(WRITE)
    await house.settle(outcome, "deny")
    finished = await house.wait(outcome.execution.id)
    assert finished.execution.failure is not None
    assert finished.execution.failure.code == "denied"


async def test_an_agent_can_never_decide(house: House) -> None:
    outcome = await house.run(WRITE)
    agent = house.executor.tenancy.agent
    with pytest.raises(Forbidden):
        await house.executor.engine.settle(agent, outcome.interactions[0].id, "approve")
    assert house.effects() == []


async def test_a_decision_is_made_once_even_when_two_race(house: House) -> None:
    outcome = await house.run(WRITE)
    raced = await asyncio.gather(
        house.settle(outcome, "approve"), house.settle(outcome, "approve"), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in raced) == ["AlreadySettled", "Interaction"]
    await house.wait(outcome.execution.id)
    assert house.effects() == [("entries", "a")]
    with pytest.raises(AlreadySettled):
        await house.settle(outcome, "deny")


async def test_another_workspace_does_not_see_the_question(house: House) -> None:
    outcome = await house.run(WRITE)
    stranger = replace(house.executor.tenancy.operator, workspace_id="ws_other")
    with pytest.raises(NotFound):
        await house.executor.engine.settle(stranger, outcome.interactions[0].id, "approve")
    with pytest.raises(NotFound):
        await house.executor.engine.wait(stranger, outcome.execution.id, 0)
    with pytest.raises(NotFound):
        await house.executor.engine.cancel(stranger, outcome.execution.id)


async def test_nothing_can_be_approved_after_a_cancel(house: House) -> None:
    outcome = await house.run(WRITE)
    await house.executor.engine.cancel(house.executor.tenancy.operator, outcome.execution.id)
    with pytest.raises(AlreadySettled, match="cancelled"):
        await house.settle(outcome, "approve")
    assert house.effects() == []


async def test_a_question_that_nobody_answers_expires_and_the_code_is_told(house: House) -> None:
    outcome = await house.run("try { " + WRITE + " } catch (e) { return e.code }")
    in_ten_days = now_ms() + 10 * 86_400_000
    assert await expire(house.executor.database, house.executor.engine.settle_by, in_ten_days) == 1
    assert value(await house.wait(outcome.execution.id)) == "approval_expired"
    with pytest.raises(InteractionExpired):
        await house.settle(outcome, "approve")
    assert house.effects() == []


async def test_an_approval_that_is_used_too_late_is_asked_again(house: House) -> None:
    outcome = await house.run(WRITE)
    asked = outcome.interactions[0]
    questions = ApprovalRequests(outcome.execution, house.executor.pipeline, 1000)
    late = replace(asked, status="approved", expires_at=now_ms() - 1)
    workspace_id = house.executor.tenancy.workspace.id
    [call] = await house.executor.database.read(lambda c: calls.of_execution(c, workspace_id, outcome.execution.id))
    assert isinstance(await questions.judge(call, replace(asked, status="approved")), Tool)
    again = await questions.judge(call, late)
    assert isinstance(again, Interaction)
    assert "expired" in again.prompt["reason"]


async def test_a_changed_policy_asks_again_before_sending(house: House) -> None:
    code = """
        const [entry] = await Promise.all([
          tools.ledger.entries.addEntry({key: "a"}), tools.ledger.transfers.transfer({key: "b"})]);
        return entry.key;
    """
    outcome = await house.run(code)
    assert len(outcome.interactions) == 2
    await house.policy("other.**", "deny")
    await house.settle(outcome, "approve", 0)
    again = await house.wait(outcome.execution.id)
    assert again.execution.status == "paused"
    assert house.effects() == []
    fresh = [asked for asked in again.interactions if asked.id != outcome.interactions[1].id]
    assert len(fresh) == 1
    assert "changed" in fresh[0].prompt["reason"]
    workspace_id, first = house.executor.tenancy.workspace.id, outcome.interactions[0].id
    old = await house.executor.database.read(lambda c: interactions.get(c, workspace_id, first))
    assert old is not None
    assert old.status == "superseded"


async def test_a_policy_that_denies_meanwhile_overrules_the_approval(house: House) -> None:
    outcome = await house.run("try { " + WRITE + " } catch (e) { return e.code }")
    await house.policy("ledger.entries.addEntry", "deny")
    await house.settle(outcome, "approve")
    assert value(await house.wait(outcome.execution.id)) == "denied"
    assert house.effects() == []


async def test_a_source_that_moved_meanwhile_is_asked_about_again(house: House) -> None:
    outcome = await house.run(WRITE)
    workspace_id, document = house.executor.tenancy.workspace.id, f"{house.ledger.url}/openapi.json"
    await house.executor.catalog.remove_source(workspace_id, "ledger")
    elsewhere = SourceRequest(
        location=document, namespace="ledger", base_url="http://127.0.0.1:9", consented=Consent(private_network=True)
    )
    await house.executor.catalog.add_source(workspace_id, elsewhere)
    await house.settle(outcome, "approve")
    again = await house.wait(outcome.execution.id)
    assert again.execution.status == "paused"
    assert house.effects() == []


async def test_policies_allow_deny_and_require_approval_in_order(house: House) -> None:
    await house.policy("ledger.entries.removeEntry", "deny")
    await house.policy("ledger.entries.*", "allow")
    await house.policy("ledger.slow.**", "require_approval")
    outcome = await house.run("""
        await tools.ledger.entries.addEntry({key: "a"});
        try { await tools.ledger.entries.removeEntry({key: "a"}) } catch (e) { console.log(e.code) }
        await tools.ledger.slow.wait({ms: 1});
    """)
    assert outcome.execution.status == "paused"
    assert [asked.prompt["tool"] for asked in outcome.interactions] == ["ledger.slow.wait"]
    assert [line.text for line in outcome.logs] == ["denied"]
    assert house.effects() == [("entries", "a")]


@pytest.mark.parametrize(
    "written",
    ['tools["ledger.entries.removeEntry"]', 'tools.ledger["entries.removeEntry"]', "tools.ledger.entries.removeEntry"],
)
async def test_no_spelling_of_a_path_dodges_a_policy(house: House, written: str) -> None:
    await house.policy("ledger.entries.removeEntry", "deny")
    outcome = await house.run(f'try {{ await {written}({{key: "a"}}) }} catch (e) {{ return e.code }}')
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
async def test_a_path_that_is_not_spelled_exactly_is_unknown(house: House, path: str) -> None:
    outcome = await house.run(f'try {{ await tools[{path!r}]({{key: "a"}}) }} catch (e) {{ return e.code }}')
    assert value(outcome) == "unknown_tool"
    assert house.effects() == []


async def test_parallel_approvals_can_be_settled_in_any_order(house: House) -> None:
    outcome = await house.run("""
        const done = await Promise.all(["a", "b", "c"].map((key) =>
          tools.ledger.entries.addEntry({key}).then((e) => e.key, (e) => e.code)));
        return done;
    """)
    keys = [asked.prompt["arguments"]["key"] for asked in outcome.interactions]
    for key, decision in (("c", "approve"), ("a", "deny"), ("b", "approve")):
        await house.settle(outcome, decision, keys.index(key))
        await house.wait(outcome.execution.id)
    assert value(await house.wait(outcome.execution.id)) == ["denied", "b", "c"]
    assert house.effects() == [("entries", "c"), ("entries", "b")]


async def test_a_run_with_work_left_takes_a_decision_without_parking(house: House) -> None:
    agent = house.executor.tenancy.agent
    code = """
        const slow = tools.ledger.slow.wait({ms: 6000});
        const entry = await tools.ledger.entries.addEntry({key: "a"});
        const after = await tools.ledger.entries.listEntries({key: "early"});
        await slow;
        return [entry.key, after.key];
    """
    execution = await house.executor.engine.submit(agent, code)
    pending: list[Interaction] = []
    async with asyncio.timeout(120):
        while not pending:
            pending = await house.executor.database.read(
                lambda c: interactions.page(c, agent.workspace_id, status="pending")
            )
    await house.executor.engine.settle(house.executor.tenancy.operator, pending[0].id, "approve")
    await until(lambda: house.effects() == [("entries", "a")])
    outcome = await house.wait(execution.id)
    assert value(outcome) == ["a", "early"]
    found = await house.executor.database.read(lambda c: events.after(c, agent.workspace_id, execution_id=execution.id))
    assert "execution.paused" not in [event.type for event in found]


async def test_a_result_can_only_be_given_for_an_unknown_outcome(house: House) -> None:
    outcome = await house.run(WRITE)
    with pytest.raises(InvalidRequest):
        await house.settle(outcome, "approve", result='{"forged": true}')
