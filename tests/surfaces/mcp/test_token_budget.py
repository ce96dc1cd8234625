"""What a model reads before it has called anything, in tokens of o200k, measured and not estimated."""

from __future__ import annotations

import json
from typing import Any

from splintr import Tokenizer

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.test_malformed_requests import ACCEPT

BUDGET = 500
WIRE = 740  # with everything that only the client reads: revisions, hints, `_meta`
FOR_CLIENTS = frozenset({"annotations", "_meta", "title", "execution"})


def tokens(text: str) -> int:
    return len(Tokenizer.from_pretrained("o200k_base").encode(text))


def model_text(listed: Any, greeted: Any) -> str:
    """The tools as a client puts them before its model, and the instructions."""
    tools = [{key: value for key, value in tool.items() if key not in FOR_CLIENTS} for tool in listed["tools"]]
    return json.dumps(tools, ensure_ascii=False) + str(greeted["instructions"])


def test_the_tokenizer_is_the_real_one() -> None:
    """Counts that the public o200k_base vocabulary gives for these texts."""
    assert tokens("hello world") == 2
    assert tokens("tools.discover({query: 'github create issue'})") == 11
    assert tokens("Donaudampfschifffahrtsgesellschaft") == 10


def test_everything_a_model_sees_fits_the_budget(daemon: Daemon) -> None:
    headers = {**ACCEPT, "MCP-Protocol-Version": "2025-11-25"}
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    listed = daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers).json["result"]
    greeted = daemon.post(
        "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}, headers=headers
    ).json["result"]
    assert len(listed["tools"]) == 2
    assert greeted["instructions"]
    assert 100 < tokens(model_text(listed, greeted)) <= BUDGET
    assert tokens(json.dumps(listed, ensure_ascii=False) + json.dumps(greeted, ensure_ascii=False)) <= WIRE


def test_the_newest_revision_fits_the_budget_too(daemon: Daemon) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    answers = []
    for method in ("tools/list", "server/discover"):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}
        headers = {**ACCEPT, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        answers.append(daemon.post("/mcp", message, headers=headers).json["result"])
    assert "tools.discover" in model_text(*answers)
    assert 100 < tokens(model_text(*answers)) <= BUDGET
    assert tokens("".join(json.dumps(answer, ensure_ascii=False) for answer in answers)) <= WIRE


def test_the_budget_does_not_grow_with_the_catalog(daemon: Daemon, shop: list[object]) -> None:
    listed = daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=ACCEPT).json["result"]
    assert "shop" not in json.dumps(listed)
