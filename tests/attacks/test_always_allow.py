"""Attack 8, and `always`: a decision about one call becomes more than that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from executor.errors import Conflict, Forbidden, InvalidRequest
from executor.execution.policies.always import draft_policy
from executor.model.identity.permissions import MEMBER
from executor.storage.catalog import policies
from executor.storage.executions import calls
from tests.execution.conftest import ExecutorHarness, value
from tests.surfaces.api.daemon_server import Daemon

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'


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
    """Defence: `position` in `draft_policy`: policies above the one that asked still come first."""
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
    assert draft["rule"]["text"].startswith('shop.things.createThing when /name="lamp" (write calls) of shop by agent')
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
