"""What a human is shown before deciding, rendered from the server's own data and never by the code that asks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from executor.connections.resolution import Use
from executor.connections.source_headers import PARTS
from executor.execution.builtins.source_arguments import PATH as ADD_SOURCE
from executor.execution.builtins.source_arguments import asked_source, shown_secrets
from executor.model.execution import Call
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Binding, Interaction, InteractionKind
from executor.model.source import Source, call_address, is_described
from executor.model.tool import Tool
from executor.network.addresses import display_url
from executor.sources.lifecycle.consent import opens

SHOWN_BYTES = 64 * 1024
HOST_CHARACTERS = 4_000
DESCRIPTION_CHARACTERS = 500
REQUEST_CHARACTERS = 8_000

HEADINGS: dict[InteractionKind, str] = {
    "approval": "Allow this call?",
    "credential": "This call needs a credential. It is sent once you provide one.",
    "oauth": "This call needs your consent at its service. It is sent once you sign in there.",
    "elicitation": "The server asks for input before it continues this call.",
    "unknown_outcome": (
        "This call was sent, but its answer was lost: it may or may not have taken effect. "
        "Approve to send it again, or enter its actual result; deny to raise `unknown_outcome` "
        "in the code."
    ),
}


def ask(
    kind: InteractionKind, call: Call, binding: Binding, tool: Tool, source: Source | None, reason: str, ttl_ms: int
) -> Interaction:
    at = now_ms()
    return Interaction(
        id=new_id("int"),
        workspace_id=call.workspace_id,
        execution_id=call.execution_id,
        call_seq=call.seq,
        kind=kind,
        status="pending",
        binding=binding,
        prompt=render(kind, call, tool, source, reason),
        created_at=at,
        expires_at=at + ttl_ms,
    )


def render(kind: InteractionKind, call: Call, tool: Tool, source: Source | None, reason: str) -> dict[str, Any]:
    """Everything, or a note of what was cut."""
    prompt = {
        "question": HEADINGS[kind],
        "tool": tool.path,
        "effect": tool.effect,
        "description": shown_description(tool.description),
        "source": shown_name(source),
        "host": whereto(call, tool, source),
        "reason": reason,
    }
    if source is not None and is_described(tool.path, tool.known_keys, source.known_keys):
        prompt["describedBy"] = "people of this workspace"
    if len(call.arguments) <= SHOWN_BYTES:
        prompt["arguments"] = orjson.loads(call.arguments)
    else:
        prompt["arguments"] = call.arguments[:SHOWN_BYTES]
        prompt["cut"] = f"{len(call.arguments) - SHOWN_BYTES} of {len(call.arguments)} characters of the arguments"
    return prompt


def uncut(asked: Interaction, call: Call | None) -> Interaction:
    """With all arguments of its call, as they will be sent."""
    if call is None or "cut" not in asked.prompt:
        return asked
    prompt = {name: value for name, value in asked.prompt.items() if name != "cut"}
    return replace(asked, prompt={**prompt, "arguments": orjson.loads(call.arguments)})


def shown_description(text: str) -> str:
    return text if len(text) <= DESCRIPTION_CHARACTERS else f"{text[:DESCRIPTION_CHARACTERS]}…"


def shown_name(source: Source | None) -> str:
    """A source's namespace is before the name that it gave itself."""
    if source is None:
        return "Executor itself"
    return source.namespace if source.name == source.namespace else f"{source.namespace} ({source.name})"


def shown_credential(use: Use, source: Source | None) -> str:
    """By name; never a value."""
    if use.connection is not None:
        owner = "of the actor" if use.connection.actor_id else "of the workspace"
        return f"{use.connection.name} ({use.connection.scheme}, {owner})"
    if use.missing is not None:
        return "missing"
    own = [name for part in PARTS for name, value in (source.config.get(part) or () if source else ())]
    return f"the source's own: {', '.join(map(str, own))}" if own else "none"


def shown_request(text: str) -> str:
    more = len(text) - REQUEST_CHARACTERS
    return text if more <= 0 else f"{text[:REQUEST_CHARACTERS]}… (cut: {more} characters, built from the arguments)"


def whereto(call: Call, tool: Tool, source: Source | None) -> str:
    """What the call would reach. Arguments of a source's command may be secrets: only its first word is shown."""
    if source is None:
        return opened_by(orjson.loads(call.arguments)) if tool.path == ADD_SOURCE else ""
    return str(tool.known_keys.get("server") or "") or shown_address(source)


def shown_address(source: Source) -> str:
    if command := source.known_keys.get("command"):
        return f"this machine, where the command `{command[0]}` runs"
    return display_url(call_address(source.known_keys))


def opened_by(arguments: dict[str, Any], *, only_public: bool = False) -> str:
    """Of a source to be added: all that approving it would open, named before anything is contacted."""
    text = "; ".join([*opens(asked_source(arguments), only_public=only_public), *shown_secrets(arguments)])
    more = len(text) - HOST_CHARACTERS
    return text if more <= 0 else f"{text[:HOST_CHARACTERS]}… (cut: {more} characters; see the arguments)"
