"""Servers in a catalog: kept when they are away, read again when they change, let go of when they are removed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from executor.errors import SourceUnreachable, ToolError
from executor.model.source import Source
from executor.sources.mcp.kind import Mcp
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.mcp.conftest import HOSTILE, REAL, everything, serving
from tests.support.catalogs import OpenCatalog, open_catalog
from tests.support.conditions import until
from tests.support.processes import is_alive


class McpHarness(OpenCatalog):
    async def add(self, **request: Any) -> Source:
        wanted = SourceRequest(
            kind="mcp", consented=Consent(private_network=True, runs_code=True, by_operator=True), **request
        )
        return await self.catalog.add_source(self.workspace, wanted)

    async def call(self, path: str, /, **arguments: Any) -> Any:
        tool = await self.catalog.tool(self.workspace, path)
        assert tool is not None, path
        return orjson.loads(await self.catalog.invoke(tool, arguments, idempotency_key="key"))

    async def paths(self) -> set[str]:
        return {head.path for head in await self.catalog.page(self.workspace)}


@pytest.fixture
async def harness(tmp_path: Path, kind: Mcp) -> AsyncIterator[McpHarness]:
    async with open_catalog(tmp_path, {"mcp": kind}) as made:
        kind.on_changed = made.catalog.lifecycle.source_changed
        yield McpHarness(made.database, made.catalog, made.workspace)


async def test_a_server_that_is_away_keeps_its_tools_and_works_when_it_is_back(harness: McpHarness) -> None:
    with everything("http") as url:
        added = await harness.add(location=url)
        before = await harness.paths()
        assert added.tool_count == len(before) > 10
    with pytest.raises(SourceUnreachable):
        await harness.catalog.lifecycle.refresh(harness.workspace, "everything")
    source = await harness.catalog.source(harness.workspace, "everything")
    assert source is not None and source.status == "failing" and await harness.paths() == before
    with pytest.raises(ToolError) as away:
        await harness.call("everything.echo", message="?")
    assert away.value.tool_code == "upstream_unreachable" and away.value.tool_details == {"sent": False}
    with everything("http", url.split(":")[2].partition("/")[0]):
        assert (await harness.catalog.lifecycle.refresh(harness.workspace, "everything")).source.status == "connected"
        assert await harness.call("everything.echo", message="back") == "Echo: back"
        await harness.catalog.close()


@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
async def test_a_vanished_tool_is_a_typed_error_and_the_catalog_is_read_again(
    harness: McpHarness, transport: str
) -> None:
    with serving(transport if transport != "stdio" else "http") as url:
        given: dict[str, Any] = {"command": (sys.executable, REAL, "stdio")} if transport == "stdio" else {}
        await harness.add(**(given or {"location": url}))
        greet = await harness.catalog.tool(harness.workspace, "real.greet")
        assert greet is not None and await harness.call("real.change") == "changed"
        with pytest.raises(ToolError) as gone:
            await harness.catalog.invoke(greet, {"name": "Ada"}, idempotency_key="key")
        assert gone.value.tool_code == "unknown_tool" and not gone.value.retryable

        async def is_read_again() -> bool:
            return {"real.wave", "real.greet"} & await harness.paths() == {"real.wave"}

        await until(is_read_again)
        assert await harness.call("real.wave") == "waving"
        await harness.catalog.close()


@pytest.mark.parametrize("has_called", [True, False])
async def test_a_removed_source_lets_go_of_its_process(harness: McpHarness, tmp_path: Path, has_called: bool) -> None:
    """`family` starts a process of its own and ends neither when it is asked politely."""
    await harness.add(command=(sys.executable, HOSTILE, "family"))
    log = next((tmp_path / "mcp").glob("*.log"))
    await until(lambda: len(log.read_text().split()) > 1)
    child = int(log.read_text().split()[-1])
    leader = int(await harness.call("family.pid")) if has_called else 0
    assert is_alive(child)
    await harness.catalog.lifecycle.remove(harness.workspace, "family")
    assert not is_alive(child) and not (leader and is_alive(leader))


async def test_a_removed_source_ends_its_session_with_the_server(harness: McpHarness, kind: Mcp) -> None:
    with serving("http") as url:
        source = await harness.add(location=url)
        assert await harness.call("real.count") == "1"
        session = await kind._link_of(source).connect()
        await harness.catalog.lifecycle.remove(harness.workspace, "real")
        assert not session.is_open


async def test_a_call_under_way_when_its_source_is_removed_has_an_unknown_outcome(harness: McpHarness) -> None:
    await harness.add(command=(sys.executable, HOSTILE, "calls"))
    waiting = asyncio.create_task(harness.call("calls.hang"))
    assert await harness.call("calls.work") == "done {}"  # so the first one has arrived
    await harness.catalog.lifecycle.remove(harness.workspace, "calls")
    with pytest.raises(ToolError) as cut:
        await waiting
    assert cut.value.tool_details == {"sent": True} and not cut.value.retryable


async def test_a_call_that_ends_its_server_is_carried_out_once(harness: McpHarness, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    await harness.add(command=(sys.executable, HOSTILE, "calls", str(marks)))
    with pytest.raises(ToolError) as lost:
        await harness.call("calls.mark")
    assert lost.value.tool_code == "upstream_unreachable" and lost.value.tool_details == {"sent": True}
    assert await harness.call("calls.work") == "done {}"
    assert marks.read_text() == "done\n"
