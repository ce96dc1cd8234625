"""Attacks 9 to 12: on what the policies say, through code in the real sandbox."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.sources.source_request import Consent, SourceRequest
from tests.execution.conftest import ExecutorHarness, value
from tests.sources.graphql.service import Service
from tests.sources.upstream import serving

TOOL = "ledger.entries.removeEntry"
MCP = str(Path(__file__).parents[1] / "sources" / "mcp" / "servers" / "real.py")


async def attempt(harness: ExecutorHarness, path: str, arguments: str = '{key: "a"}') -> Any:
    """What code gets that calls a path written in this way."""
    return value(await harness.run(f"try {{ return await {path}({arguments}) }} catch (e) {{ return e.code }}"))


# -- 9 policy dodges ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        f"tools.{TOOL}",
        f'tools["{TOOL}"]',
        'tools.ledger["entries.removeEntry"]',
        'tools["ledger.entries"].removeEntry',
        "tools.ledger.entries[`remove${'Entry'}`]",
        'tools[["ledger", "entries", "removeEntry"].join(".")]',
        'tools[{toString: () => "ledger.entries.removeEntry"}]',
        "Reflect.get(tools.ledger.entries, 'removeEntry')",
    ],
)
async def test_9_another_way_to_write_a_denied_path(harness: ExecutorHarness, written: str) -> None:
    """Defence: the prelude's `toolAt` makes one path of every way, and `Admissions.admit` judges that path."""
    await harness.policy(TOOL, "deny")
    assert await attempt(harness, written) == "denied"
    assert harness.effects() == []


@pytest.mark.parametrize(
    "path",
    [
        "Ledger.entries.removeEntry",
        "ledger.entries.REMOVEENTRY",
        "ledger.entries.removeEntry.",
        ".ledger.entries.removeEntry",
        "ledger..entries.removeEntry",
        "ledger.entries%2eremoveEntry",
        "ledger%2Eentries%2EremoveEntry",
        "ledger/entries/removeEntry",
        "ledger.entries.removeEntry\u0000",
        "ledger.entries.removeEntry ",
        "ledger.entries.removeEntry\u200b",
        "\uff4cedger.entries.removeEntry",
        "ledger.entries.remove\uff25ntry",
        "ledger\u2024entries\u2024removeEntry",
        "ledger.entries.removeEntr\u0443",
        "ledger.entries.*",
        "ledger.**",
        "*",
        "ledger.entries.remove*",
        "__proto__.ledger.entries.removeEntry",
    ],
)
async def test_9_a_path_that_only_looks_like_a_denied_one(harness: ExecutorHarness, path: str) -> None:
    """Defence: `Catalog.tool` finds only what is spelled exactly; nothing is folded, decoded or expanded."""
    await harness.policy(TOOL, "deny")
    await harness.policy("**", "allow")
    assert await attempt(harness, f"tools[{json.dumps(path)}]") == "unknown_tool"
    assert harness.effects() == []


async def test_9_a_pattern_stands_for_names_and_never_for_text(harness: ExecutorHarness) -> None:
    """Defence: `parse_pattern` takes names and `*` only; `matches` compares whole segments."""
    await harness.policy("ledger.entries.remove-Entry", "allow")
    await harness.policy("ledger.entries.remove", "allow")
    outcome = await harness.run('await tools.ledger.entries.removeEntry({key: "a"})')
    assert outcome.execution.status == "paused"


@pytest.mark.parametrize(
    "arguments",
    ['{key: "a"}', '{key: "a", amount: 5000}', '{key: "a", amount: 1e3}', '{body: {key: "a", amount: 5000}}'],
)
async def test_9_arguments_are_written_so_that_a_condition_does_not_see_them(
    harness: ExecutorHarness, arguments: str
) -> None:
    """Defence: `applies` in `policy/decide.py`: a `deny` holds also where its condition can't be judged."""
    await harness.policy("ledger.entries.addEntry", "deny", {"path": "/amount", "test": "at_least", "value": 1000})
    await harness.policy("ledger.**", "allow")
    assert await attempt(harness, "tools.ledger.entries.addEntry", arguments) == "denied"
    assert harness.effects() == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{key: "a", amount: 5}', "completed"),
        ('{key: "a", amount: 101}', "paused"),
        ('{key: "a"}', "paused"),
        ('{body: {key: "a", amount: 5}}', "completed"),
        ('{body: {key: "a", amount: 101}}', "paused"),
        ('{body: {key: "a"}}', "paused"),
        ('{key: "a", amount: 5, body: {amount: 5000}}', "failed"),
        ('{key: "a", amount: "5"}', "failed"),
        ('{key: "a", amount: -0}', "completed"),
        ('Object.assign(Object.create({amount: 5}), {key: "a"})', "paused"),
    ],
)
async def test_9_an_allowance_holds_only_for_what_it_can_see(
    harness: ExecutorHarness, arguments: str, expected: str
) -> None:
    """Defence: `applies`: doubt keeps an `allow` from holding; arguments that contradict are refused."""
    await harness.policy("ledger.entries.addEntry", "allow", {"path": "/amount", "test": "at_most", "value": 100})
    outcome = await harness.run(f"return await tools.ledger.entries.addEntry({arguments})")
    assert outcome.execution.status == expected
    assert len(harness.effects()) == (expected == "completed")


# -- 10 an alias reaches a denied tool ---------------------------------------------------------------------------------


def paged_document(url: str) -> bytes:
    item = {"type": "array", "items": {"type": "object"}}
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": item}}}}
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}}
    listing = {"operationId": "list", "tags": ["rows"], "parameters": [page], "responses": answer}
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "P", "version": "1"},
            "servers": [{"url": url}],
            "paths": {"/rows": {"get": listing}},
        }
    ).encode()


async def test_10_all_pages_of_a_denied_list(harness: ExecutorHarness) -> None:
    """Defence: `ALL` in `decide`: `x.all` is judged as `x` too, and the stricter decision holds."""
    request = SourceRequest(
        location="p.json",
        document=paged_document(harness.ledger.url),
        namespace="p",
        consented=Consent(private_network=True),
    )
    await harness.executor.catalog.add_source(harness.executor.tenancy.workspace.id, request)
    found = await harness.executor.catalog.page(harness.executor.tenancy.workspace.id, prefix="p.")
    assert [head.path for head in found] == ["p.rows.list", "p.rows.list.all"]
    await harness.policy("p.rows.list", "deny")
    assert await attempt(harness, "tools.p.rows.list", "{}") == "denied"
    assert await attempt(harness, "tools.p.rows.list.all", "{}") == "denied"
    assert harness.ledger.reads == 0


async def test_10_the_same_source_under_another_name_needs_a_human(harness: ExecutorHarness) -> None:
    """Defence: `executor.sources.add` is a `write`: an alias of a denied source can't be made by code alone."""
    await harness.policy("ledger.**", "deny")
    url = f"{harness.ledger.url}/openapi.json"
    outcome = await harness.run(f'await tools.executor.sources.add({{url: "{url}", namespace: "alias"}})')
    assert outcome.execution.status == "paused"
    assert await attempt(harness, "tools.alias.entries.addEntry") == "unknown_tool"


# -- 11 a lying readOnlyHint -------------------------------------------------------------------------------------------


async def test_11_a_server_says_that_its_tool_only_reads(harness: ExecutorHarness) -> None:
    """Defence: `effect_of` in `sources/mcp/tools/tools.py`: what a server says of itself never makes a tool a read."""
    request = SourceRequest(
        kind="mcp",
        command=(sys.executable, MCP, "stdio"),
        namespace="liar",
        consented=Consent(runs_code=True, by_operator=True),
    )
    await harness.executor.catalog.add_source(harness.executor.tenancy.workspace.id, request)
    for tool in ("peek", "add"):
        outcome = await harness.run(
            f"await tools.liar.{tool}({{a: 1, b: 2}})" if tool == "add" else "await tools.liar.peek()"
        )
        assert outcome.execution.status == "paused", tool
    effects = {
        head.path: head.effect for head in await harness.executor.catalog.page(harness.executor.tenancy.workspace.id)
    }
    assert effects["liar.peek"] == "write"
    assert effects["liar.add"] == "destructive"


# -- 12 GET with effects; GraphQL mutations --------------------------------------------------------------------------


async def test_12_a_get_that_has_effects_can_be_governed(harness: ExecutorHarness) -> None:
    """Defence: a policy overrules the effect (`first` in `policy/decide.py`); by the document alone nobody can tell."""
    await harness.policy("ledger.slow.*", "require_approval")
    assert (await harness.run("await tools.ledger.slow.wait({ms: 1})")).execution.status == "paused"


@pytest.fixture
def graph() -> Iterator[tuple[str, Service]]:
    with serving() as upstream:
        service = Service()
        upstream.routes["/graphql"] = service
        yield upstream.url, service


@pytest.mark.parametrize(
    "query",
    [
        'mutation { deletePost(id: "p1") }',
        'query a { count } mutation b { deletePost(id: "p1") }',
        'mutation { count: deletePost(id: "p1") }',
        "subscription { ticks }",
    ],
)
async def test_12_a_graphql_mutation_in_the_clothes_of_a_query(
    harness: ExecutorHarness, graph: tuple[str, Service], query: str
) -> None:
    """Defence: `refuse_operation` in `sources/graphql/raw_documents.py`, for every operation of the document."""
    url, service = graph
    request = SourceRequest(location=f"{url}/graphql", namespace="blog", consented=Consent(private_network=True))
    await harness.executor.catalog.add_source(harness.executor.tenancy.workspace.id, request)
    for arguments in (f"{{query: {json.dumps(query)}}}", f'{{query: {json.dumps(query)}, operationName: "a"}}'):
        assert await attempt(harness, "tools.blog.graphql.query", arguments) == "invalid_arguments"
    assert (
        await attempt(harness, "tools.blog.graphql.query", f"{{query: [{json.dumps(query)}]}}") == "invalid_arguments"
    )
    assert service.root.written == []
