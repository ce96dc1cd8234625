from __future__ import annotations

import pytest

from tests.execution.conftest import ExecutorHarness, value
from tests.sources.upstream import as_json, serving
from tests.support.ledger import DOCUMENT


async def test_code_can_discover_describe_and_call_what_it_found(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        const found = await tools.discover({query: "ledger list entries", limit: 3});
        const about = await tools.describe.tool({path: found.bestPath, includeSchemas: true});
        return [found.bestPath, about.signature.includes("listEntries"), typeof about.inputSchema];
    """)
    assert value(outcome) == ["ledger.entries.listEntries", True, "object"]


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "return [await tools.discover(), await tools.discover({}), await tools.discover({query: ''})]"),
        ("python", "[await tools.discover(), await tools.discover({}), await tools.discover(query='')]"),
    ],
)
async def test_discover_without_a_query_says_what_is_connected(
    harness: ExecutorHarness, language: str, code: str
) -> None:
    for answer in value(await harness.run(code, runtime=language)):
        assert (answer["bestPath"], answer["items"]) == (None, [])
        assert set(answer["groups"]) == {"ledger"}


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (
            "typescript",
            "return [await tools.discover({namespace: 'ledger'}), await tools.discover({source: 'ledger'})]",
        ),
        ("python", "[await tools.discover(namespace='ledger', query=''), await tools.discover(namespace='ledger')]"),
    ],
)
async def test_discover_with_a_namespace_alone_looks_around_in_it(
    harness: ExecutorHarness, language: str, code: str
) -> None:
    for answer in value(await harness.run(code, runtime=language)):
        assert "ledger.entries" in answer["groups"] and answer["bestPath"] is None
        assert "ledger.entries.listEntries" in [item["path"] for item in answer["items"]]
        assert all("description" in item and "signature" not in item for item in answer["items"])


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "return await tools.discover({query: 'ledger list entries', EXPLAIN})"),
        ("python", "await tools.discover(query='ledger list entries', EXPLAIN)"),
    ],
)
async def test_scores_come_when_they_are_asked_for(harness: ExecutorHarness, language: str, code: str) -> None:
    plain = value(await harness.run(code.replace(", EXPLAIN", ""), runtime=language))
    assert "signature" in plain["items"][0] and not {"score", "matched"} & set(plain["items"][0])
    wish = "explain: true" if language == "typescript" else "explain=True"
    asked = value(await harness.run(code.replace("EXPLAIN", wish), runtime=language))
    assert {"score", "matched"} <= set(asked["items"][0])


async def test_the_connected_sources_are_listed(harness: ExecutorHarness) -> None:
    [source] = value(await harness.run("return await tools.executor.sources.list()"))
    assert (source["namespace"], source["kind"], source["status"]) == ("ledger", "openapi", "connected")


async def test_adding_a_source_from_code_needs_a_human(harness: ExecutorHarness) -> None:
    outcome = await harness.run(
        f'return await tools.executor.sources.add({{url: "{harness.ledger.url}/openapi.json", namespace: "second"}})'
    )
    assert outcome.execution.status == "paused"
    assert await harness.executor.catalog.source(harness.executor.tenancy.workspace.id, "second") is None
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(outcome.execution.id))["namespace"] == "second"
    found = await harness.run('return (await tools.second.entries.listEntries({key: "z"})).key')
    assert value(found) == "z"


async def test_a_source_on_a_private_network_is_refused_without_a_human(harness: ExecutorHarness) -> None:
    await harness.policy("executor.sources.add", "allow")
    outcome = await harness.run(
        f'try {{ await tools.executor.sources.add({{url: "{harness.ledger.url}/openapi.json", namespace: "second"}}) }}'
        " catch (e) { return e.code }"
    )
    assert value(outcome) == "egress_refused"


async def test_wrong_arguments_of_a_built_in_tool_are_refused_like_any_others(harness: ExecutorHarness) -> None:
    outcome = await harness.run("try { await tools.discover({query: 5}) } catch (e) { return e.code }")
    assert value(outcome) == "invalid_arguments"


async def test_describing_an_unknown_tool_names_the_nearest(harness: ExecutorHarness) -> None:
    outcome = await harness.run(
        'try { await tools.describe.tool({path: "ledger.entries.listEntry"}) } catch (e) { return [e.code, e.hint] }'
    )
    code, hint = value(outcome)
    assert code == "not_found"
    assert "ledger.entries.listEntries" in hint


async def test_an_approval_opens_only_the_private_addresses_it_showed(harness: ExecutorHarness) -> None:
    with serving() as hidden:
        document = {**DOCUMENT, "servers": [{"url": "http://10.1.2.3:8080/x"}]}
        hidden.routes["/openapi.json"] = as_json(document)
        outcome = await harness.run(
            f'try {{ await tools.executor.sources.add({{url: "{hidden.url}/openapi.json", namespace: "second"}}) }}'
            " catch (e) { return [e.code, e.message, e.hint] }"
        )
        await harness.settle(outcome, "approve")
        code, message, hint = value(await harness.wait(outcome.execution.id))
    assert code == "egress_refused"
    assert "10.1.2.3:8080" in message
    assert "baseUrl" in hint


async def test_code_reads_that_another_document_took_the_place_of_an_address_that_answers_404(
    harness: ExecutorHarness,
) -> None:
    with serving() as upstream:
        upstream.routes["/openapi.json"] = as_json(DOCUMENT)
        wrong, right = f"{upstream.url}/v2/shop.yaml", f"{upstream.url}/openapi.json"
        outcome = await harness.run(f'return await tools.executor.sources.add({{url: "{wrong}", namespace: "second"}})')
        await harness.settle(outcome, "approve")
        added = value(await harness.wait(outcome.execution.id))
        assert added["warning"].startswith(f"{wrong} answered 404; the document at {right} is used instead")
        assert "add it with the right address" in added["warning"]


async def test_code_reads_what_to_do_about_an_address_that_answers_404(harness: ExecutorHarness) -> None:
    with serving() as upstream:
        add = f'tools.executor.sources.add({{url: "{upstream.url}/nope", namespace: "second"}})'
        outcome = await harness.run(f"try {{ await {add} }} catch (e) {{ return [e.message, e.hint] }}")
        await harness.settle(outcome, "approve")
        message, hint = value(await harness.wait(outcome.execution.id))
        assert message == f"nothing to connect was found at {upstream.url}/nope: it answered 404"
        assert "openapi.json" in hint and "pass its `kind`" in hint
