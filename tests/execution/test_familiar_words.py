"""Sources that code adds in familiar words: as the documentation shows them, in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from executor.execution.outcome import Outcome
from executor.model.execution import Call
from executor.storage.executions import calls
from tests.execution.conftest import ExecutorHarness, value
from tests.sources.mcp.conftest import serving as serving_mcp
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.support.ledger import DOCUMENT

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^```(ts|python)\n(await tools\.executor\.sources\.add\(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"ts": "typescript", "python": "python"}
KEY = "sk-canary-4711"


def examples() -> list[tuple[str, str]]:
    """Each once: the README shows the same as the page about sources."""
    pages = [ROOT / "README.md", ROOT / "docs" / "sources.md"]
    found = [one for page in pages for one in EXAMPLE.findall(page.read_text(encoding="utf-8"))]
    calls = ((language, call) for language, block in found for call in re.split(r"\n(?=await )", block.strip()))
    return list(dict.fromkeys((LANGUAGES[language], call) for language, call in calls))


@pytest.fixture(scope="module")
def mcp_server() -> Iterator[str]:
    with serving_mcp("http") as url:
        yield f"{url}/mcp"


def test_the_documentation_has_both_examples_in_both_languages() -> None:
    assert [language for language, _ in examples()] == ["typescript", "typescript", "python", "python"]


@pytest.mark.parametrize(("language", "call"), examples())
async def test_the_examples_type_check_pause_and_connect(
    harness: ExecutorHarness, mcp_server: str, language: str, call: str
) -> None:
    ledger = harness.ledger.url
    real = {
        "https://host/mcp": mcp_server,
        "https://api.host": f"{ledger}/service",
        "https://host/openapi.json": f"{ledger}/openapi.json",
    }
    for written, address in real.items():
        call = call.replace(written, address)
    code = f"return {call}" if language == "typescript" else call
    outcome = await harness.run(code, runtime=language, typecheck="error")
    assert outcome.execution.status == "paused", outcome
    await harness.settle(outcome, "approve")
    added = value(await harness.wait(outcome.execution.id))
    source = await harness.executor.catalog.source(harness.executor.tenancy.workspace.id, added["namespace"])
    assert source is not None and source.status == "connected" and source.tool_count
    if added["namespace"] == "b":
        assert (source.name, source.config["base_url"]) == ("B", f"{ledger}/service")
        assert source.config["location"] == f"{ledger}/openapi.json"
    stored = orjson.dumps(source.config) + await journal_of(harness, outcome)
    assert b"endpoint" not in stored


async def journal_of(harness: ExecutorHarness, outcome: Outcome) -> bytes:
    workspace = outcome.execution.workspace_id
    call: Call | None = await harness.executor.database.read(
        lambda c: calls.one(c, workspace, outcome.execution.id, outcome.interactions[0].call_seq)
    )
    assert call is not None
    return call.arguments.encode()


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"url": "http://a", "endpoint": "http://b"}, "`url` and `endpoint`"),
    ({"endpoint": "http://a", "specUrl": "http://b", "baseUrl": "http://c"}, "`baseUrl` and `endpoint`"),
    ({}, "either an address"),
    ({"endpoint": "http://a", "command": ["x"]}, "either an address"),
    ({"endpoint": "http://a", "transport": "stdio"}, "`stdio` is the transport of a `command`"),
    ({"endpoint": "http://a", "transport": "smoke"}, "transport"),
    ({"endpoint": "http://a", "auth": {"type": "bearer"}}, "doesn't name its secret"),
    ({"endpoint": "http://a", "auth": {"type": "basic", "secret": "x"}}, "`username`"),
    ({"endpoint": "http://a", "headers": {"Host": "x"}}, "header Host"),
    ({"command": ["x"], "headers": {"X-Key": "x"}}, "not to a `command`"),
    ({"endpoint": 5}, "endpoint"),
]


async def test_words_that_contradict_each_other_are_refused_before_anyone_is_asked(harness: ExecutorHarness) -> None:
    given = orjson.dumps([{"namespace": "x", **arguments} for arguments, _ in CONTRADICTIONS]).decode()
    code = f"""
        const said = [];
        for (const given of {given}) {{
          try {{ await tools.executor.sources.add(given) }} catch (e) {{ said.push([e.code, e.message]) }}
        }}
        return said
    """
    answers = value(await harness.run(code, typecheck="off"))
    for (_, said), (code, message) in zip(CONTRADICTIONS, answers, strict=True):
        assert code == "invalid_arguments" and said in message


async def test_a_policy_about_the_url_judges_the_endpoint_too(harness: ExecutorHarness) -> None:
    condition = {"path": "/url", "test": "matches", "value": ".*forbidden.*"}
    await harness.policy("executor.sources.add", "deny", condition)
    code = (
        'try { await tools.executor.sources.add({endpoint: "http://forbidden.example"}) } catch (e) { return e.code }'
    )
    assert value(await harness.run(code)) == "denied"


@pytest.fixture
def service() -> Iterator[Upstream]:
    """A service whose document and calls need a key."""

    def answer(got: Got, handler: Handler) -> Reply:
        if KEY not in got.headers.get("x-api-key", "") + got.headers.get("authorization", ""):
            return as_json({"error": "who are you?"}, 401)
        return as_json({**DOCUMENT, "servers": [{"url": "/"}]} if got.target == "/openapi.json" else {"key": "k"})

    with serving() as server:
        server.otherwise = answer
        yield server


WITH_SECRETS = ['headers: {"X-API-Key": "shop"}', 'auth: {type: "bearer", secret: "shop"}']


async def keep_secret(harness: ExecutorHarness) -> None:
    workspace = harness.executor.tenancy.workspace.id
    await harness.executor.connections.secrets.set(workspace, "shop", KEY, by=harness.executor.tenancy.operator)


@pytest.mark.parametrize("given", WITH_SECRETS)
async def test_a_source_is_read_and_called_with_the_secret_that_code_names(
    harness: ExecutorHarness, service: Upstream, given: str
) -> None:
    await keep_secret(harness)
    call = f'await tools.executor.sources.add({{endpoint: "{service.url}/openapi.json", namespace: "shop", {given}}})'
    outcome = await harness.run(f"return {call}")
    assert service.requests == []
    assert "sends the secret `shop`" in outcome.interactions[0].prompt["host"]
    await harness.settle(outcome, "approve")
    assert value(await harness.wait(outcome.execution.id))["status"] == "connected"
    found = await harness.run('return (await tools.shop.entries.listEntries({key: "k"})).key')
    assert value(found) == "k"


async def test_no_policy_lets_code_send_a_secret_without_a_human(harness: ExecutorHarness, service: Upstream) -> None:
    await keep_secret(harness)
    await harness.policy("executor.sources.add", "allow")
    call = f'await tools.executor.sources.add({{url: "{service.url}/openapi.json", namespace: "s", {WITH_SECRETS[0]}}})'
    outcome = await harness.run(f"try {{ {call} }} catch (e) {{ return e.code }}")
    assert value(outcome) == "consent_required" and service.requests == []


async def test_a_secret_of_another_origin_is_not_sent_and_a_value_is_not_repeated(
    harness: ExecutorHarness, service: Upstream
) -> None:
    await keep_secret(harness)
    workspace, operator = harness.executor.tenancy.workspace.id, harness.executor.tenancy.operator
    await harness.executor.connections.secrets.allow_origin(workspace, "shop", "https://other.example", by=operator)
    for secret, code in (("shop", "secret_origin"), (KEY, "not_found")):
        call = f'tools.executor.sources.add({{url: "{service.url}", namespace: "s", headers: {{"X-Key": "{secret}"}}}})'
        outcome = await harness.run(f"try {{ await {call} }} catch (e) {{ return [e.code, e.message, e.hint] }}")
        await harness.settle(outcome, "approve")
        said = value(await harness.wait(outcome.execution.id))
        assert said[0] == code and KEY not in str(said)
    assert service.requests == []


async def test_a_credential_is_not_kept_for_a_server_that_only_the_document_names(
    harness: ExecutorHarness, service: Upstream
) -> None:
    await keep_secret(harness)
    service.routes["/openapi.json"] = as_json({**DOCUMENT, "servers": [{"url": "https://elsewhere.example"}]})
    call = f'await tools.executor.sources.add({{url: "{service.url}/openapi.json", namespace: "s", {WITH_SECRETS[0]}}})'
    outcome = await harness.run(f"try {{ {call} }} catch (e) {{ return [e.code, e.hint] }}")
    await harness.settle(outcome, "approve")
    code, hint = value(await harness.wait(outcome.execution.id))
    assert code == "conflict" and "baseUrl" in hint
    assert await harness.executor.catalog.source(harness.executor.tenancy.workspace.id, "s") is None
