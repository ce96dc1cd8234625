"""Which of the options that an agent offers is taken: a decision stays ours, and becomes no setting of the agent."""

from __future__ import annotations

import re
from typing import Any

from executor.sessions.agents.records import ToolCall

_WIDER = re.compile(r"bypass|yolo|full.?access|always|don.?t.?ask|auto|session|save|accept.?edits", re.IGNORECASE)
_NAMES = {"execute": "bash", "edit": "edit", "delete": "delete", "move": "move", "read": "read", "search": "search",
          "fetch": "fetch", "think": "think", "switch_mode": "exit_plan"}  # fmt: skip
READ_ONLY = ("agent.read", "agent.search", "agent.think", "agent.exit_plan")


def choose_option(options: object, *, approved: bool) -> str | None:
    """Only what counts once. None if no option does: then the request is answered as cancelled."""
    wanted = "allow_once" if approved else "reject_once"
    for option in options if isinstance(options, list) else []:
        if not isinstance(option, dict) or option.get("kind") != wanted:
            continue
        identifier = option.get("optionId")
        if isinstance(identifier, str) and not (approved and _is_wider(option)):
            return identifier
    return None


def outcome(option: str | None) -> dict[str, Any]:
    chosen = {"outcome": "selected", "optionId": option} if option is not None else {"outcome": "cancelled"}
    return {"outcome": chosen}


def policy_name(tool: ToolCall) -> str:
    """As policies name it: agent.bash, agent.edit …; what is unknown is never taken for something harmless."""
    if tool.server:
        return "agent.mcp"
    return f"agent.{_NAMES.get(tool.kind, 'other')}"


def _is_wider(option: dict[str, Any]) -> bool:
    return bool(_WIDER.search(str(option.get("optionId"))))
