"""A transcript as text that people read: what the agent said and did, what came of it, and who allowed it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from executor.surfaces.escape import escape

if TYPE_CHECKING:
    from executor.surfaces.views.sessions import AgentSession, MessageView

_FENCES = re.compile("`{3,}")


def markdown_of(session: AgentSession, messages: Iterable[MessageView], names: Mapping[str, str]) -> Iterator[str]:
    """`names` are those of the people who decided something, by id."""
    yield f"# {escape(session['title'] or session['id'])}\n\n"
    yield f"{escape(session['agent'])} in `{escape(session['cwd'])}`, {session['createdAt']}\n"
    for message in messages:
        if part := part_of(message, names):
            yield f"\n{part}\n"


def part_of(message: MessageView, names: Mapping[str, str]) -> str:
    """Empty for what says nothing to a reader."""
    kind, data, text = message["kind"], message["data"], escape(message["text"], keep="\n\t")
    if kind == "prompt":
        return f"## Prompt {data.get('number')} ({escape(str(data.get('status')))})\n\n{text}"
    if kind == "text":
        return text
    if kind == "thought":
        return "\n".join(f"> {line}" for line in text.splitlines())
    if kind == "permission":
        return f"*{_permission(data, names)}*"
    if kind == "notice":
        return f"*{text}*"
    if kind == "tool_call":
        title = escape(str(data.get("title") or text or message["id"]))
        return "\n\n".join([f"**{title}** ({escape(str(data.get('status')))})", *_blocks(data)])
    return ""


def _permission(data: Mapping[str, Any], names: Mapping[str, str]) -> str:
    decided = f"Permission for {data.get('tool')}: {data.get('status')}"
    if by := data.get("settledBy"):
        decided += f" by {names.get(str(by), by)}"
    if scope := data.get("scope"):
        decided += f" (scope: {scope})"
    return escape(f"{decided}: {data['reason']}" if data.get("reason") else decided)


def _blocks(data: Mapping[str, Any]) -> Iterator[str]:
    """What a tool was given, then what it returned."""
    given = data.get("input") or {}
    command = given.get("command")
    if isinstance(command, str):
        yield _fence(command, "sh")
        given = {name: value for name, value in given.items() if name != "command"}
    if given:
        yield _fence(json.dumps(given, ensure_ascii=False, indent=2, default=str), "json")
    for part in data.get("content") or ():
        if part.get("type") == "text" and part.get("text"):
            yield _fence(str(part["text"]))
        elif part.get("type") == "diff":
            yield _fence(_diff(part), "diff")


def _diff(part: Mapping[str, Any]) -> str:
    """Not compared: an agent chose both texts, and comparing can take far longer than reading them."""
    old, new = (str(part.get(name) or "").splitlines() for name in ("oldText", "newText"))
    return "\n".join([str(part.get("path") or ""), *(f"-{line}" for line in old), *(f"+{line}" for line in new)])


def _fence(text: str, language: str = "") -> str:
    """Longer than any fence inside, so that nothing in it ends it."""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    inside = escape(text, keep="\n\t").rstrip("\n")
    return f"{fence}{language}\n{inside}\n{fence}"
