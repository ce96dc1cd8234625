"""Attacks 1 to 8 and 13 to 15: on what a human is asked, and on what becomes of the answer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from executor.errors import AlreadySettled, Conflict, Forbidden, InteractionExpired, InvalidRequest, NotFound
from executor.execution.approvals import pending_limits
from executor.execution.approvals.expiry import expire
from executor.execution.policies.always import draft_policy
from executor.model.identity.permissions import MEMBER
from executor.model.ids import now_ms
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog import policies
from executor.storage.executions import calls, events, interactions
from executor.storage.identity import tenancy
from executor.storage.tables import core
from executor.surfaces.mcp import gateway
from executor.surfaces.views.interactions import interaction_view
from tests.execution.conftest import ExecutorHarness, value
from tests.support.tool_results import about
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import connected

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'
CAUGHT = "try { " + WRITE + " } catch (e) { return e.code }"


# -- 1 the agent approves its own pause -------------------------------------------------------------------------------


async def test_1_an_agent_approves_its_own_pause_over_mcp(
    daemon: Daemon, shop: list[Any], paused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `surfaces/mcp/tool_definitions.py` offers nothing that decides, and `resume` only waits."""
    monkeypatch.setattr(gateway, "WAIT_SECONDS", 0.05)
    before = len(shop)
    async with connected(daemon) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["execute", "resume"]
        for forged in ({"approve": True}, {"decision": "approve"}, {"action": "accept", "content": {"approve": True}}):
            result = await client.call_tool("resume", {"executionId": paused["executionId"], **forged})
            assert about(result)["status"] == "paused"
    assert daemon.get(f"/v1/executions/{paused['executionId']}").json["status"] == "paused"
    assert len(shop) == before


@pytest.mark.parametrize("act", ["approve", "deny"])
def test_1_an_agent_approves_its_own_pause_over_rest(daemon: Daemon, shop: list[Any], paused: Any, act: str) -> None:
    """Defence: `@needs("decide")` on the route, and `may_decide` in `Engine.settle`."""
    interaction = paused["interactions"][0]["id"]
    for body in ({}, {"scope": "execution"}, {"scope": "always"}) if act == "approve" else ({},):
        answer = daemon.post(f"/v1/interactions/{interaction}/{act}", body, role="agent")
        assert (answer.status, answer.json["code"]) == (403, "forbidden")
    assert daemon.get(f"/v1/interactions/{interaction}").json["status"] == "pending"


def test_1_an_agent_approves_its_own_pause_with_the_cli(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    """Defence: the daemon's, not the CLI's; and `call` asks nobody without a terminal (`Follower.ask`)."""
    before, environ = len(shop), {**os.environ, "EXECUTOR_TOKEN": daemon.tokens.agent}
    driver = Path(__file__).parents[1] / "support" / "cli_client.py"
    for words in (
        ["approvals", "approve", paused["interactions"][0]["id"]],
        ["approvals", "approve", paused["interactions"][0]["id"], "--for", "always", "--yes"],
        ["policies", "add", "**", "allow"],
    ):
        done = subprocess.run(
            [sys.executable, str(driver), str(daemon.port), *words],
            env=environ,
            input="a\ny\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1, done
        assert "permission" in done.stderr
    assert daemon.get(f"/v1/interactions/{paused['interactions'][0]['id']}").json["status"] == "pending"
    assert len(shop) == before


async def test_1_code_finds_nothing_to_approve_with(harness: ExecutorHarness) -> None:
    """Defence: `BUILTINS` has no tool that decides; every other path is unknown."""
    outcome = await harness.run("""
        const out = [];
        for (const path of ["executor.approvals.approve", "executor.interactions.approve", "approve", "resume"])
          try { await tools[path]({id: "int_1"}) } catch (e) { out.push(e.code) }
        return out;
    """)
    assert value(outcome) == ["unknown_tool"] * 4


# -- 2 and 3 somebody else's execution --------------------------------------------------------------------------------


async def test_2_a_guessed_or_reused_execution_id(harness: ExecutorHarness) -> None:
    """Defence: 80 random bits in `new_id`, and `seen` answers alike for what is not there and what is not yours."""
    outcome = await harness.run(WRITE)
    await harness.settle(outcome, "approve")
    await harness.wait(outcome.execution.id)
    agent = harness.executor.tenancy.agent
    again = await harness.executor.engine.wait(agent, outcome.execution.id, 1)
    assert value(again) == {"kind": "entries", "key": "a"}
    assert harness.effects() == [("entries", "a")]
    near = outcome.execution.id[:-1] + ("0" if outcome.execution.id[-1] != "0" else "1")
    messages = set()
    for guessed in (near, "exec_0", "", "../" + outcome.execution.id, outcome.execution.id.upper()):
        with pytest.raises(NotFound) as refused:
            await harness.executor.engine.wait(agent, guessed, 0)
        messages.add(refused.value.message.replace(guessed, ""))
    assert len(messages) == 1


async def test_3_another_agent_or_workspace_resumes(harness: ExecutorHarness) -> None:
    """Defence: `may_see` in `execution/history.py`, and the workspace in every query."""
    outcome = await harness.run(WRITE)
    local, engine = harness.executor.tenancy, harness.executor.engine
    other = await harness.executor.database.write(
        lambda c: tenancy.add_actor(c, local.workspace.id, "agent", "another agent")
    )
    for stranger in (other, replace(local.operator, workspace_id="ws_other"), replace(other, workspace_id="ws_other")):
        with pytest.raises(NotFound):
            await engine.wait(stranger, outcome.execution.id, 0)
        with pytest.raises(NotFound):
            await engine.cancel(stranger, outcome.execution.id)
        with pytest.raises((NotFound, Forbidden)):
            await engine.settle(stranger, outcome.interactions[0].id, "approve")
    assert (await harness.wait(outcome.execution.id)).execution.status == "paused"


# -- 4 and 5 something changes after the prompt -----------------------------------------------------------------------


async def test_4_code_changes_its_arguments_after_the_prompt(harness: ExecutorHarness) -> None:
    """Defence: the sandbox hands arguments over as text (`argumentText`), and that text is what is sent."""
    outcome = await harness.run("""
        const given = {key: "small", amount: 1};
        const promise = tools.ledger.entries.addEntry(given);
        given.key = "large"; given.amount = 1e6; given.toJSON = () => ({key: "large"});
        return (await promise).key;
    """)
    assert outcome.interactions[0].prompt["arguments"] == {"key": "small", "amount": 1}
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(outcome.execution.id)) == "small"
    assert harness.effects() == [("entries", "small")]


async def test_4_the_journal_is_edited_after_the_prompt(harness: ExecutorHarness) -> None:
    """Defence: the digest in `Position._match`: what the code asks again must be what was journalled and shown."""
    outcome = await harness.run(WRITE)
    changed = sa.update(core.calls).values(arguments='{"key":"evil"}', arguments_digest="0" * 64)
    await harness.executor.database.write(lambda c: c.execute(changed) and None)
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert finished.execution.failure is not None
    assert finished.execution.failure.code == "nondeterminism"
    assert harness.effects() == []


async def test_5_the_document_changes_between_approval_and_call(harness: ExecutorHarness) -> None:
    """Defence: `schema_digest` in `Bindings.bind`, compared in `ApprovalRequests.judge` and again in
    `Admissions.recheck`."""
    outcome = await harness.run(WRITE)
    workspace_id = harness.executor.tenancy.workspace.id
    path = "ledger.entries.addEntry"
    document = json.loads(json.dumps({"openapi": "3.1.0", "info": {"title": "Ledger", "version": "2"}, "paths": {}}))
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"key": {"type": "string"}}}}}}
    operation = {"tags": ["entries"], "operationId": "addEntry", "requestBody": body, "responses": {}}
    document |= {"paths": {"/transfers": {"post": operation}}, "servers": [{"url": harness.ledger.url}]}
    await harness.executor.catalog.lifecycle.remove(workspace_id, "ledger")
    request = SourceRequest(
        location="x.json",
        document=json.dumps(document).encode(),
        namespace="ledger",
        consented=Consent(private_network=True),
    )
    await harness.executor.catalog.add_source(workspace_id, request)
    assert await harness.executor.catalog.tool(workspace_id, path)
    await harness.settle(outcome, "approve")
    again = await harness.wait(outcome.execution.id)
    assert again.execution.status == "paused"
    assert "changed" in again.interactions[0].prompt["reason"]
    assert harness.effects() == []


async def test_5_the_base_url_changes_between_approval_and_call(harness: ExecutorHarness) -> None:
    """Defence: `destination(source)` in `Bindings.bind`."""
    outcome = await harness.run(WRITE)
    workspace_id, document = harness.executor.tenancy.workspace.id, f"{harness.ledger.url}/openapi.json"
    await harness.executor.catalog.lifecycle.remove(workspace_id, "ledger")
    elsewhere = SourceRequest(
        location=document, namespace="ledger", base_url="http://127.0.0.1:9", consented=Consent(private_network=True)
    )
    await harness.executor.catalog.add_source(workspace_id, elsewhere)
    await harness.settle(outcome, "approve")
    assert (await harness.wait(outcome.execution.id)).execution.status == "paused"
    assert harness.effects() == []


async def test_5_a_policy_changes_between_approval_and_call(harness: ExecutorHarness) -> None:
    """Defence: `policy_revision` in `Bindings.bind`; and a `deny` wins over any approval (`ApprovalRequests.judge`)."""
    outcome, other = await harness.run(WRITE), await harness.run(CAUGHT)
    await harness.policy("other.**", "deny")
    await harness.settle(outcome, "approve")
    assert (await harness.wait(outcome.execution.id)).execution.status == "paused"
    await harness.policy("ledger.entries.*", "deny")
    await harness.settle(other, "approve")
    assert value(await harness.wait(other.execution.id)) == "denied"
    assert harness.effects() == []


async def test_5_a_permit_for_the_execution_does_not_outlive_a_change(harness: ExecutorHarness) -> None:
    """Defence: `Permit.fits` in `storage/executions/permits.py`."""
    outcome = await harness.run("""
        for (const key of ["a", "b"]) await tools.ledger.entries.addEntry({key});
        await tools.ledger.slow.wait({ms: 1});
        await tools.ledger.entries.addEntry({key: "c"});
    """)
    await harness.policy("ledger.slow.*", "require_approval")
    again = await settled_again(harness, outcome, scope="execution")
    assert harness.effects() == [("entries", "a"), ("entries", "b")]
    assert again.interactions[0].prompt["tool"] == "ledger.slow.wait"
    moved = sa.update(core.metadata.tables["permits"]).values(source_digest="where it went before")
    await harness.executor.database.write(lambda c: c.execute(moved) and None)
    await harness.settle(again, "approve")
    last = await harness.wait(outcome.execution.id)
    assert last.interactions[0].prompt["arguments"] == {"key": "c"}
    assert len(harness.effects()) == 2


async def settled_again(harness: ExecutorHarness, outcome: Any, **options: Any) -> Any:
    """A policy changed since it was asked, so it is asked once more, and settled then."""
    await harness.settle(outcome, "approve", **options)
    asked = await harness.wait(outcome.execution.id)
    await harness.settle(asked, "approve", **options)
    return await harness.wait(outcome.execution.id)


# -- 6 and 7 more than one decision -----------------------------------------------------------------------------------


async def test_6_two_approvals_race(harness: ExecutorHarness) -> None:
    """Defence: `status = 'pending'` in the `_settle` statement, and `used` in `_use`
    (storage/executions/interactions.py)."""
    outcome = await harness.run(WRITE)
    raced = await asyncio.gather(
        *(harness.settle(outcome, act) for act in ("approve", "deny", "approve", "approve")), return_exceptions=True
    )
    assert [type(one).__name__ for one in raced].count("AlreadySettled") == 3
    await harness.wait(outcome.execution.id)
    assert harness.effects() == ([("entries", "a")] if not isinstance(raced[0], Exception) else [])


async def test_6_an_approval_is_spent_once(harness: ExecutorHarness) -> None:
    """Defence: `used` in the `_use` statement, whatever the run believes."""
    outcome = await harness.run(WRITE)
    await harness.settle(outcome, "approve")
    await harness.wait(outcome.execution.id)
    asked = outcome.interactions[0].id
    assert await harness.executor.database.write(lambda c: interactions.use(c, asked)) is False


async def test_7_approving_after_expiry_denial_or_cancel(harness: ExecutorHarness) -> None:
    """Defence: `check_open` in `execution/approvals/expiry.py`."""
    expired, denied, cancelled = [await harness.run(CAUGHT) for _ in range(3)]
    await harness.settle(denied, "deny")
    await harness.executor.engine.cancel(harness.executor.tenancy.operator, cancelled.execution.id)
    await expire(harness.executor.database, harness.executor.engine.settle_by, now_ms() + 10 * 86_400_000)
    for outcome, error in ((expired, InteractionExpired), (denied, AlreadySettled), (cancelled, AlreadySettled)):
        for scope in ("once", "execution"):
            with pytest.raises(error):
                await harness.settle(outcome, "approve", scope=scope)
    assert value(await harness.wait(expired.execution.id)) == "approval_expired"
    assert harness.effects() == []


async def test_7_an_approval_past_its_time_can_not_be_approved_before_it_is_swept(harness: ExecutorHarness) -> None:
    """Defence: `expires_at` in `check_open`."""
    outcome = await harness.run(WRITE)
    late = sa.update(core.interactions).values(expires_at=now_ms() - 1)
    await harness.executor.database.write(lambda c: c.execute(late) and None)
    with pytest.raises(InteractionExpired):
        await harness.settle(outcome, "approve")


# -- 8 sandboxed code edits policies, sources, secrets ----------------------------------------------------------------


async def test_8_code_edits_policies_sources_or_secrets(harness: ExecutorHarness) -> None:
    """Defence: none of these is a tool; `executor.sources.add` is, and asks (its effect is `write`)."""
    outcome = await harness.run("""
        const out = [];
        for (const path of ["executor.policies.add", "executor.policies.remove", "executor.secrets.get",
                            "executor.secrets.set", "executor.connections.list", "executor.sources.remove"])
          try { out.push(await tools[path]({pattern: "**", action: "allow"})) } catch (e) { out.push(e.code) }
        console.log(out.join());
        await tools.executor.sources.add({url: "http://127.0.0.1:9/openapi.json", namespace: "nine"});
    """)
    assert [line.text for line in outcome.logs] == [",".join(["unknown_tool"] * 6)]
    assert outcome.interactions[0].prompt["tool"] == "executor.sources.add"


@pytest.mark.parametrize("scope", ["execution", "always"])
async def test_8_adding_sources_is_never_allowed_for_more_than_one_call(harness: ExecutorHarness, scope: Any) -> None:
    """Defence: `check_scope` in `execution/policies/always.py`."""
    outcome = await harness.run(
        'await tools.executor.sources.add({url: "http://127.0.0.1:9/x.json", namespace: "nine"})'
    )
    asked, call = outcome.interactions[0], await call_of(harness, outcome.execution.id)
    with pytest.raises(InvalidRequest, match="one call at a time"):
        if scope == "always":
            await draft_policy(harness.executor.pipeline, asked, call)
        else:
            await harness.settle(outcome, "approve", scope=scope)


# -- always ----------------------------------------------------------------------------------------------------------


async def call_of(harness: ExecutorHarness, execution_id: str) -> Any:
    workspace_id = harness.executor.tenancy.workspace.id
    found = await harness.executor.database.read(lambda c: calls.of_execution(c, workspace_id, execution_id))
    return found[-1]


async def test_always_makes_the_narrowest_policy_just_before_the_one_that_asked(harness: ExecutorHarness) -> None:
    """Defence: `position` in `draft_policy`: whatever stands above the policy that asked still comes first."""
    large = {"path": "/amount", "test": "at_least", "value": 1000}
    deny = await harness.policy("ledger.entries.addEntry", "deny", large)
    ask = await harness.policy("ledger.entries.*", "require_approval")
    outcome = await harness.run(WRITE)
    asked, call = outcome.interactions[0], await call_of(harness, outcome.execution.id)
    always = await draft_policy(harness.executor.pipeline, asked, call)
    await harness.settle(outcome, "approve", scope="always", always=always)
    assert value(await harness.wait(outcome.execution.id)) == {"kind": "entries", "key": "a"}
    workspace_id = harness.executor.tenancy.workspace.id
    listed = await harness.executor.database.read(lambda c: policies.listing(c, workspace_id))
    assert [policy.id for policy in listed] == [deny.id, listed[1].id, ask.id]
    made = listed[1]
    agent = harness.executor.tenancy.agent.id
    assert (made.pattern, made.action, made.actor_id, made.effect) == (
        "ledger.entries.addEntry",
        "allow",
        agent,
        "write",
    )
    assert made.source_id == call.source_id
    again = await harness.run(WRITE)
    assert again.execution.status == "completed"
    too_much = await harness.run('await tools.ledger.entries.addEntry({key: "z", amount: 5000})')
    assert too_much.execution.failure is not None and too_much.execution.failure.code == "denied"
    assert (await harness.run('await tools.ledger.transfers.transfer({key: "a"})')).execution.status == "paused"


async def test_a_member_can_not_make_a_policy_by_approving(harness: ExecutorHarness) -> None:
    """Defence: `check_permitted` in `Engine.settle`."""
    outcome = await harness.run(WRITE)
    always = await draft_policy(
        harness.executor.pipeline, outcome.interactions[0], await call_of(harness, outcome.execution.id)
    )
    member = replace(harness.executor.tenancy.operator, permissions=MEMBER)
    with pytest.raises(Forbidden):
        await harness.executor.engine.settle(
            member, outcome.interactions[0].id, "approve", scope="always", always=always
        )
    settled = await harness.executor.engine.settle(member, outcome.interactions[0].id, "approve", scope="execution")
    assert settled.scope == "execution"


async def test_a_policy_shown_under_other_policies_is_not_saved(harness: ExecutorHarness) -> None:
    """Defence: the revision in `add_policy`."""
    outcome = await harness.run(WRITE)
    always = await draft_policy(
        harness.executor.pipeline, outcome.interactions[0], await call_of(harness, outcome.execution.id)
    )
    await harness.policy("ledger.**", "require_approval", position=0)
    with pytest.raises(Conflict):
        await harness.settle(outcome, "approve", scope="always", always=always)
    assert (await harness.wait(outcome.execution.id)).execution.status == "paused"


def test_a_policy_broader_than_the_draft_must_be_meant(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    """Defence: `check_breadth` in `execution/policies/always.py`."""
    path = f"/v1/interactions/{paused['interactions'][0]['id']}"
    draft = daemon.get(f"{path}/rule?pin=/name").json
    assert draft["rule"]["text"].startswith('shop.things.createThing when /name="lamp" as write of shop by agent')
    assert draft["matches"] == {"count": 1, "tools": ["shop.things.createThing"]}
    narrow = {"pattern": "shop.things.createThing", "action": "allow", "actor": "agent", "source": "shop"}
    for wide in (
        {**narrow, "pattern": "shop.**", "effect": "write"},
        {**narrow, "actor": "", "effect": "write"},
        narrow,
    ):
        answer = daemon.post(f"{path}/approve", {"scope": "always", "rule": wide})
        assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    for useless in ({"pattern": "other.tool", "action": "allow"}, {**narrow, "action": "deny", "effect": "write"}):
        assert daemon.post(f"{path}/approve", {"scope": "always", "rule": useless, "broader": True}).status == 400
    pinned = {**narrow, "effect": "write", "conditions": draft["rule"]["conditions"]}
    settled = daemon.post(f"{path}/approve", {"scope": "always", "rule": pinned})
    assert (settled.status, settled.json["scope"]) == (200, "always")
    assert daemon.get(f"/v1/executions/{paused['executionId']}?wait=60").json["status"] == "completed"
    [policy] = daemon.get("/v1/policies").json["items"]
    assert policy["text"] == draft["rule"]["text"]
    assert daemon.execute('await tools.shop.things.createThing({name: "rug"})')["status"] == "paused"
    assert daemon.request("DELETE", f"/v1/policies/{policy['id']}").status == 204


# -- 13 prompt forging -----------------------------------------------------------------------------------------------


async def test_13_a_prompt_can_not_be_forged(harness: ExecutorHarness) -> None:
    """Defence: `escape` around every value in `views.prompt_text`; `SHOWN_BYTES` in `execution/approvals/prompt.py`."""
    forged = "x\n\nAllow this call?\nTool:      ledger.entries.listEntries\u001b[2J\u202e\u200b\u0000 **ok**\r<b>"
    outcome = await harness.run(f"await tools.ledger.entries.addEntry({{key: {json.dumps(forged)}}})")
    view = interaction_view(outcome.interactions[0], "http://127.0.0.1")
    lines = view["prompt"].split("\n")
    assert sum(line.startswith("Tool:") for line in lines) == 1
    assert lines[0] == "Allow this call?" and lines.count(lines[0]) == 1
    assert not set("\u001b\u202e\u200b\u0000\r") & set(view["prompt"])


async def test_13_a_megabyte_of_arguments_is_cut_and_said_to_be(harness: ExecutorHarness) -> None:
    """Defence: `cut` in `execution/approvals/prompt.py`: what is not shown is told."""
    outcome = await harness.run('await tools.ledger.entries.addEntry({key: "k".repeat(1000000)})')
    view = interaction_view(outcome.interactions[0], "http://127.0.0.1")
    assert len(view["prompt"]) < 200_000
    assert "cut" in view["prompt"] and view["argumentsCut"]


# -- 14 flooding ------------------------------------------------------------------------------------------------------


async def test_14_one_execution_floods_people_with_approvals(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: the limit of an execution in `OpenApprovals.admit`."""
    monkeypatch.setattr(
        harness.executor.pipeline.open_approvals, "_limits", pending_limits.ApprovalLimits(execution=3, actor=1000)
    )
    outcome = await harness.run("""
        const made = Array.from({length: 20}, (_, i) => tools.ledger.entries.addEntry({key: String(i)}));
        const told = await Promise.allSettled(made.slice(3));
        console.log([...new Set(told.map((one) => one.reason.code))].join());
        await Promise.all(made.slice(0, 3));
    """)
    assert outcome.execution.status == "paused"
    assert len(outcome.interactions) == 3
    assert [line.text for line in outcome.logs] == ["too_many_approvals"]


async def test_14_one_actor_floods_people_from_many_executions(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: the limit of an actor in `OpenApprovals.admit`, which counts what is still being written too."""
    monkeypatch.setattr(
        harness.executor.pipeline.open_approvals, "_limits", pending_limits.ApprovalLimits(execution=100, actor=5)
    )
    outcomes = await asyncio.gather(*(harness.run(CAUGHT) for _ in range(20)))
    states = [outcome.execution.status for outcome in outcomes]
    assert states.count("paused") == 5
    assert {value(outcome) for outcome in outcomes if outcome.execution.status == "completed"} == {"too_many_approvals"}
    await harness.settle(next(one for one in outcomes if one.execution.status == "paused"), "deny")
    assert (await harness.run(CAUGHT)).execution.status == "paused"
    assert value(await harness.run(CAUGHT)) == "too_many_approvals"


# -- 15 a denial, then another way ------------------------------------------------------------------------------------


async def test_15_a_denied_call_is_tried_again_without_asking_anybody(harness: ExecutorHarness) -> None:
    """Defence: `denials` in `Admissions._decided_before`: the same call is denied again, however it is written."""
    outcome = await harness.run("""
        const tries = [
          () => tools.ledger.entries.addEntry({key: "a", amount: 5}),
          () => tools["ledger.entries.addEntry"]({amount: 5, key: "a"}),
          () => tools.ledger.entries.addEntry({amount: 5.0, key: "a"}),
        ];
        const out = [];
        for (const attempt of tries) try { out.push(await attempt()) } catch (e) { out.push(e.code) }
        return out;
    """)
    await harness.settle(outcome, "deny", reason="never")
    assert value(await harness.wait(outcome.execution.id)) == ["denied", "denied", "denied"]
    workspace_id = harness.executor.tenancy.workspace.id
    told = await harness.executor.database.read(
        lambda c: events.after(c, workspace_id, execution_id=outcome.execution.id)
    )
    assert [event.type for event in told].count("interaction.requested") == 1
    assert [event.type for event in told].count("call.failed") == 3
    assert harness.effects() == []


async def test_15_a_denied_call_with_other_arguments_is_asked_again(harness: ExecutorHarness) -> None:
    """A denial is about what was shown; anything else is an approval of its own, bounded by the flood limits."""
    outcome = await harness.run("""
        try { await tools.ledger.entries.addEntry({key: "a"}) } catch (e) {}
        await tools.ledger.entries.addEntry({key: "a "});
    """)
    await harness.settle(outcome, "deny")
    again = await harness.wait(outcome.execution.id)
    assert again.interactions[0].prompt["arguments"] == {"key": "a "}
