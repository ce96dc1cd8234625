"""The protocol revisions, and the answers to the messages a client opens with.

No import costs anything here: `executor mcp` answers from this module when no daemon can answer quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from executor import __version__
from executor.surfaces.mcp.tool_definitions import INSTRUCTIONS, NAME, TOOLS

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION: Final = "2026-07-28"
META: Final = "io.modelcontextprotocol/"
IDEMPOTENCY_KEYS: Final = ("executor/idempotencyKey", "idempotencyKey")
SERVER_INFO: Final = {"name": NAME, "version": __version__}
CAPABILITIES: Final = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
EXTENSIONS: Final[dict[str, Any]] = {f"{META}tasks": {}}
# Of the one revision in which a client requests a task with its call. The next one has the extension instead.
TASKS_VERSION: Final = "2025-11-25"
TASKS: Final[dict[str, Any]] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
TASK_SUPPORT: Final = {"taskSupport": "optional"}
OPENINGS: Final = ("initialize", "server/discover")  # whose answers have instructions


def opening_result(
    method: str,
    params: dict[str, Any],
    instructions: str = INSTRUCTIONS,
    tools: Sequence[dict[str, Any]] = TOOLS,
    version: str | None = None,
) -> dict[str, Any] | None:
    """The result that any daemon of this version would give, but for what is connected to it and for the `tools` that a
    toolkit passes through; None for a message that only the daemon can judge. `version` is the revision that an earlier
    handshake agreed on."""
    about = {"capabilities": CAPABILITIES, "instructions": instructions}
    meta = params.get("_meta")
    if not isinstance(meta, dict) or f"{META}protocolVersion" not in meta:
        return _handshake_results(params, about, offer_tasks(tools, version)).get(method)
    modern = {**about, "capabilities": {**CAPABILITIES, "extensions": EXTENSIONS}}
    results: dict[str, dict[str, Any]] = {
        "server/discover": {"supportedVersions": [MODERN_VERSION], **modern},
        "tools/list": {"tools": tools},
    }
    if meta[f"{META}protocolVersion"] != MODERN_VERSION or method not in results:
        return None
    return {**as_modern(results[method]), "ttlMs": 0, "cacheScope": "private"}


def as_modern(result: dict[str, Any]) -> dict[str, Any]:
    """With what every result of the modern revision carries."""
    meta = {**result.get("_meta", {}), f"{META}serverInfo": SERVER_INFO}
    return {"resultType": "complete", **result, "_meta": meta}


def agreed_version(handshake: dict[str, Any]) -> str:
    wanted = handshake.get("protocolVersion")
    return wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def offer_tasks(tools: Sequence[dict[str, Any]], version: str | None) -> Sequence[dict[str, Any]]:
    """The tools as clients of this revision see them: some may run each as a task."""
    return [{**tool, "execution": TASK_SUPPORT} for tool in tools] if version == TASKS_VERSION else tools


def _handshake_results(
    params: dict[str, Any], about: dict[str, Any], tools: Sequence[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    agreed = agreed_version(params)
    if agreed == TASKS_VERSION:
        about = {**about, "capabilities": {**CAPABILITIES, "tasks": TASKS}}
    opened = {"protocolVersion": agreed, "serverInfo": SERVER_INFO, **about}
    known: dict[str, dict[str, Any]] = {"ping": {}, "tools/list": {"tools": tools}}
    return {**known, "initialize": opened} if isinstance(params.get("protocolVersion"), str) else known
