"""Attacks 4 and 5: something changes between the prompt, the decision and the call."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from executor.sources.source_request import Consent, SourceRequest
from executor.storage.tables import core
from tests.execution.conftest import ExecutorHarness, value

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'
CAUGHT = "try { " + WRITE + " } catch (e) { return e.code }"


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
    again = await harness.wait(outcome.execution.id)
    assert again.execution.status == "paused"
    assert again.interactions[0].prompt["reason"].startswith("the tool and the place where the call goes changed")
    assert harness.effects() == []


async def test_5_a_policy_changes_between_approval_and_call(harness: ExecutorHarness) -> None:
    """Defence: `policy_revision` in `Bindings.bind`; and a `deny` wins over any approval (`ApprovalRequests.judge`)."""
    outcome, other = await harness.run(WRITE), await harness.run(CAUGHT)
    await harness.policy("other.**", "deny")
    await harness.settle(outcome, "approve")
    again = await harness.wait(outcome.execution.id)
    assert again.execution.status == "paused"
    assert again.interactions[0].prompt["reason"].startswith("the policies changed after the request was shown")
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
    again = await settle_again(harness, outcome, scope="execution")
    assert harness.effects() == [("entries", "a"), ("entries", "b")]
    assert again.interactions[0].prompt["tool"] == "ledger.slow.wait"
    moved = sa.update(core.metadata.tables["permits"]).values(source_digest="where it went before")
    await harness.executor.database.write(lambda c: c.execute(moved) and None)
    await harness.settle(again, "approve")
    last = await harness.wait(outcome.execution.id)
    assert last.interactions[0].prompt["arguments"] == {"key": "c"}
    assert len(harness.effects()) == 2


async def settle_again(harness: ExecutorHarness, outcome: Any, **options: Any) -> Any:
    """A policy changed since it was asked, so it is asked once more, and settled then."""
    await harness.settle(outcome, "approve", **options)
    asked = await harness.wait(outcome.execution.id)
    await harness.settle(asked, "approve", **options)
    return await harness.wait(outcome.execution.id)
