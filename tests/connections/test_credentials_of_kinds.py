"""Credentials of MCP, GraphQL and Python sources."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.connections.new_connection import Offer
from executor.model.source import Source
from executor.policy.drafts import draft
from executor.secrets.redaction import MARK
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog import policies
from tests.sources.graphql.service import Service
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json
from tests.sources.upstream import serving as upstream_serving
from tests.support.connection_harness import ConnectionHarness, value

SCRIPT = str(Path(__file__).parent / "servers" / "key_server.py")
COMMAND = (sys.executable, SCRIPT, "stdio")
CANARY = "cnry-mcp-77t"
RUN = Consent(private_network=True, runs_code=True, by_operator=True)


async def add(harness: ConnectionHarness, **given: Any) -> Source:
    request = SourceRequest(**{"consented": Consent(private_network=True), **given})
    added = await harness.executor.catalog.add_source(harness.workspace_id, request)
    policy = draft(f"{given['namespace']}.**", "allow", (), owner_id=harness.workspace_id)
    by = harness.executor.tenancy.operator
    await harness.executor.database.write(lambda c: policies.add(c, harness.workspace_id, policy, None, by=by))
    return added


async def connect(harness: ConnectionHarness, source: Source, *placements: dict[str, str], **given: Any) -> None:
    offer = Offer(values={"value": CANARY}, placements=placements, **given)
    await harness.executor.connections.add(source, offer, by=harness.executor.tenancy.operator)


async def test_a_command_gets_it_in_its_environment_and_nowhere_else(harness: ConnectionHarness) -> None:
    source = await add(harness, command=COMMAND, namespace="child", consented=RUN)
    before = value(await harness.run("return await tools.child.key({})"))
    assert "key=none" in before
    await connect(harness, source, {"in": "environment", "name": "API_KEY", "template": "{value}"})
    after = value(await harness.run("return await tools.child.key({})"))
    assert f"key={MARK}" in after and CANARY not in after and "EXECUTOR" not in after
    assert CANARY not in after.partition("argv=")[2]


async def test_another_command_under_the_same_source_gets_nothing(harness: ConnectionHarness) -> None:
    """Pinned to the command line: a source whose command was changed is another place."""
    source = await add(harness, command=COMMAND, namespace="child", consented=RUN)
    await connect(harness, source, {"in": "environment", "name": "API_KEY", "template": "{value}"})
    [made] = await harness.executor.connections.of_source(source.id)
    credential = await harness.executor.connections.credential(made)
    from executor.sources.mcp.transports.endpoint import of_command, with_credential

    assert dict(with_credential(of_command(COMMAND, {}), credential).environment) == {"API_KEY": CANARY}
    assert dict(with_credential(of_command((*COMMAND, "--evil"), {}), credential).environment) == {}


async def test_sessions_are_not_shared_between_credentials(harness: ConnectionHarness) -> None:
    source = await add(harness, command=COMMAND, namespace="child", consented=RUN)
    code = "return await tools.child.session({})"
    first = value(await harness.run(code))
    await connect(harness, source, {"in": "environment", "name": "API_KEY", "template": "{value}"})
    second, again = value(await harness.run(code)), value(await harness.run(code))
    assert first != second and second == again


@pytest.fixture
def guarded_mcp() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    process = subprocess.Popen([sys.executable, SCRIPT, "http"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    yield f"http://127.0.0.1:{process.stdout.readline().decode().strip()}/mcp", process
    process.kill()
    process.communicate()


async def test_a_server_that_lists_nothing_without_a_credential_is_read_once_it_has_one(
    harness: ConnectionHarness, guarded_mcp: tuple[str, subprocess.Popen[bytes]]
) -> None:
    url, process = guarded_mcp
    source = await add(harness, location=url, namespace="remote")
    assert (source.status, source.tool_count) == ("failing", 0) and source.config["auth"][0]["type"] == "http-bearer"
    offer = Offer(values={"token": CANARY})
    await harness.executor.connections.add(source, offer, by=harness.executor.tenancy.operator)
    refreshed = await harness.executor.catalog.lifecycle.refresh(harness.workspace_id, source.id)
    assert refreshed.source.status == "connected" and refreshed.source.tool_count == 2
    value(await harness.run("return await tools.remote.session({})"))
    assert process.stdout is not None
    assert (await asyncio.to_thread(process.stdout.readline)).decode().strip() == f"Bearer {CANARY}"
    assert CANARY not in str(refreshed.source)


async def test_graphql_is_read_and_called_with_its_credential(harness: ConnectionHarness) -> None:
    with upstream_serving() as upstream:
        service = Service()

        def require_key(got: Got, handler: Handler) -> Reply:
            headers = {name.lower(): text for name, text in got.headers.items()}
            if headers.get("x-key") != CANARY:
                return as_json({"errors": [{"message": "who are you"}]}, 401)
            return service(got, handler)

        upstream.routes["/graphql"] = service
        source = await add(harness, location=f"{upstream.url}/graphql", namespace="blog", kind="graphql")
        upstream.routes["/graphql"] = require_key
        paused = await harness.run("return await tools.blog.query.count({})")
        [asked] = paused.interactions
        assert asked.kind == "credential"
        placements = ({"in": "header", "name": "X-Key", "template": "{value}"},)
        await harness.give(asked, {"value": CANARY}, placements=placements)
        done = await harness.wait(paused)
        assert done.execution.status == "completed", done.execution.failure
        await harness.executor.catalog.lifecycle.refresh(harness.workspace_id, source.id)


async def test_a_python_function_is_given_it_for_its_call(
    harness: ConnectionHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keyed_module.py").write_text(
        "from executor.sources.python import credential, tool\n"
        "@tool(effect='read')\n"
        "def size_of() -> int:\n    return len(credential().get('API_KEY', ''))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    source = await add(harness, location="python:keyed_module", namespace="keyed", consented=RUN)
    assert value(await harness.run("return await tools.keyed.sizeOf({})")) == 0
    await connect(harness, source, {"in": "environment", "name": "API_KEY", "template": "{value}"})
    assert value(await harness.run("return await tools.keyed.sizeOf({})")) == len(CANARY)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstream_serving() as server:
        yield server
