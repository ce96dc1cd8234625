"""What an agent reports, as records of a transcript. What comes later under a record's id replaces or extends it.

Kinds and values that aren't known here are kept as they are: the protocol grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from executor.sessions.protocol.messages import EventType

MAX_TEXT = 2**20
MAX_CONTENT = 64
_CHUNKS: dict[str, EventType] = {
    "agent_message_chunk": "text",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user_message",
}
# Codex: which field names the server of a call, and of a request to show a page. Other fields are a model's own words.
_SERVER_IN = {
    frozenset({"server", "tool"}): "server",
    frozenset({"server", "tool", "arguments"}): "server",
    frozenset({"serverName", "description", "url"}): "serverName",
}


@dataclass(frozen=True)
class Record:
    kind: EventType
    data: dict[str, Any]


@dataclass
class ToolCall:
    """Permission requests often bring less than the updates before them: they are joined by id."""

    id: str
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    input: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    locations: list[Any] = field(default_factory=list)
    content: list[dict[str, Any]] = field(default_factory=list)
    parent: str = ""

    def merge(self, update: dict[str, Any]) -> None:
        for name in ("title", "kind", "status"):
            if isinstance(value := update.get(name), str) and value:
                setattr(self, name, value[:2000])
        if isinstance(given := update.get("rawInput"), dict) and given:
            self.input = given
        if isinstance(places := update.get("locations"), list):
            self.locations = places[:MAX_CONTENT]
        if isinstance(content := update.get("content"), list):
            self.content = [_content(part) for part in content[:MAX_CONTENT] if isinstance(part, dict)]
        meta = update.get("_meta")
        own = meta.get("claudeCode") if isinstance(meta, dict) else None
        if isinstance(own, dict):
            self.name = str(own.get("toolName") or self.name)
            self.parent = str(own.get("parentToolUseId") or self.parent)

    @property
    def server(self) -> str:
        """Of a tool of an MCP server, as far as the agent says so, in a name or in fields of its own."""
        if self.name.startswith("mcp__"):
            return self.name.split("__")[1]
        given = self.input.get(_SERVER_IN.get(frozenset(self.input), ""))
        return given if isinstance(given, str) and not self.name else ""

    @property
    def diffs(self) -> list[dict[str, Any]]:
        return [part for part in self.content if part.get("type") == "diff"]

    def to_data(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "kind": self.kind, "status": self.status, "input": self.input,
            "locations": self.locations, "content": self.content,
            **({"parent": self.parent} if self.parent else {}),
        }  # fmt: skip


class Reader:
    """Of one session. Text that is interrupted by something else continues in a new record."""

    def __init__(self) -> None:
        self.tools: dict[str, ToolCall] = {}
        self._texts = 0
        self._current = ""

    def begin_task(self) -> None:
        self.tools.clear()
        self._current, self._texts = "", 0

    def end_task(self) -> None:
        """What still comes is a record of its own: texts of an ended task grow no longer."""
        self._current = ""

    def read(self, update: dict[str, Any]) -> Record | None:
        kind = str(update.get("sessionUpdate") or "")
        if kind in _CHUNKS:
            return self._chunk(_CHUNKS[kind], update)
        if kind != "usage_update":
            self._current = ""
        if kind in ("tool_call", "tool_call_update"):
            return self._tool(update)
        if kind == "plan":
            entries = update.get("entries")
            return Record("plan", {"id": "plan", "entries": entries if isinstance(entries, list) else []})
        if kind == "usage_update":
            return Record("usage", {"id": "usage", **_without(update)})
        if kind == "available_commands_update":
            return Record("commands", {"id": "commands", "commands": update.get("availableCommands") or []})
        if kind == "config_option_update":
            return Record("options", {"id": "options", "options": update.get("configOptions") or []})
        if kind == "current_mode_update":
            return Record("mode", {"id": "mode", "mode": str(update.get("currentModeId") or "")})
        return Record("unknown", {"id": f"unknown-{kind[:100]}", "kind": kind[:100], "update": _without(update)})

    def tool(self, identifier: str) -> ToolCall:
        return self.tools.setdefault(identifier, ToolCall(identifier))

    def _chunk(self, kind: EventType, update: dict[str, Any]) -> Record:
        given = update.get("messageId")
        current = f"{kind}-{given}" if isinstance(given, str) and given else kind
        if not self._current.startswith(current):
            self._texts += 1
            self._current = f"{current}-{self._texts}"
        text = _text(update.get("content"))
        return Record(kind, {"id": self._current, "text": text[:MAX_TEXT], "append": True})

    def _tool(self, update: dict[str, Any]) -> Record | None:
        identifier = update.get("toolCallId")
        if not isinstance(identifier, str) or not identifier:
            return None
        tool = self.tool(identifier[:200])
        tool.merge(update)
        return Record("tool_call", tool.to_data())


def _text(content: object) -> str:
    if not isinstance(content, dict):
        return ""
    if content.get("type") == "text":
        return str(content.get("text") or "")
    if content.get("type") == "resource_link":
        return f"[{content.get('name') or content.get('uri')}]({content.get('uri')})"
    return f"[{content.get('type')}]"


def _content(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "content":
        return {"type": "text", "text": _text(part.get("content"))[:MAX_TEXT]}
    if part.get("type") == "diff":
        old, new = part.get("oldText"), part.get("newText")
        return {
            "type": "diff",
            "path": str(part.get("path") or ""),
            "oldText": old[:MAX_TEXT] if isinstance(old, str) else None,
            "newText": new[:MAX_TEXT] if isinstance(new, str) else "",
        }
    return {"type": str(part.get("type") or "")[:100]}


def _without(update: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in update.items() if name not in ("sessionUpdate", "id", "_meta")}
