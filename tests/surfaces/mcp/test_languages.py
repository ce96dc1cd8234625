"""The `language` of `execute`, on the short road and on the SDK's."""

from __future__ import annotations

from typing import Any

import pytest

from executor.surfaces.mcp import fast_path
from tests.support.tool_results import value_of
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.test_malformed_requests import ACCEPT

PYTHON = {"code": "[n * 2 for n in range(3)]", "language": "python"}


def message(arguments: dict[str, Any], **extra: Any) -> dict[str, Any]:
    parameters = {"name": "execute", "arguments": arguments, **extra}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}


@pytest.mark.parametrize("is_plain", [True, False])
def test_python_runs_on_both_roads_alike(daemon: Daemon, is_plain: bool) -> None:
    headers = {**ACCEPT, "MCP-Protocol-Version": "2025-11-25"}
    extra = {} if is_plain else {"_meta": {"io.modelcontextprotocol/made-up": 1}}
    sent = message(PYTHON, **extra)
    lower = {name.lower(): value for name, value in headers.items()}
    assert fast_path.is_plain(sent, lower) is is_plain
    outcome = daemon.post("/mcp", sent, role="agent", headers=headers).json["result"]
    assert value_of(outcome) == [0, 2, 4]
    assert outcome["isError"] is False


def test_the_list_of_tools_tells_of_python(daemon: Daemon) -> None:
    headers = {**ACCEPT, "MCP-Protocol-Version": "2025-11-25"}
    listed = daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers).json["result"]
    schema = listed["tools"][0]["inputSchema"]["properties"]["language"]
    assert schema["enum"] == ["typescript", "python"]
