"""What a client reads before it has called anything, in tokens of o200k, measured and not estimated."""

from __future__ import annotations

import json

from splintr import Tokenizer

from tests.api.serving import Daemon
from tests.mcp.test_wire import ACCEPT

BUDGET = 500


def tokens(text: str) -> int:
    return len(Tokenizer.from_pretrained("o200k_base").encode(text))


def test_the_tokenizer_is_the_real_one() -> None:
    """Counts that the public o200k_base vocabulary gives for these texts."""
    assert tokens("hello world") == 2
    assert tokens("tools.discover({query: 'github create issue'})") == 11
    assert tokens("Donaudampfschifffahrtsgesellschaft") == 10


def test_everything_a_client_sees_fits_the_budget(daemon: Daemon) -> None:
    """The whole answers to `tools/list` and `initialize` as they go over the wire, envelope included."""
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
    seen = json.dumps(listed, ensure_ascii=False) + json.dumps(greeted, ensure_ascii=False)
    assert 100 < tokens(seen) <= BUDGET


def test_the_newest_revision_fits_the_budget_too(daemon: Daemon) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    seen = ""
    for method in ("server/discover", "tools/list"):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}
        headers = {**ACCEPT, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        answer = daemon.post("/mcp", message, headers=headers)
        seen += json.dumps(answer.json["result"], ensure_ascii=False)
    assert "tools.discover" in seen
    assert 100 < tokens(seen) <= BUDGET


def test_the_budget_does_not_grow_with_the_catalog(daemon: Daemon, shop: list[object]) -> None:
    listed = daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=ACCEPT).json["result"]
    assert "shop" not in json.dumps(listed)
