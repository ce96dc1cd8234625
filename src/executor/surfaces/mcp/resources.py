"""What a client may read beside the tools: the guide, also as a prompt, and the artifacts of this agent."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

from executor.errors import NotFound
from executor.model.artifact import Artifact

GUIDE: Final = "executor://guide"
ARTIFACT: Final = "executor://artifacts/{id}"
PROMPT: Final = "guide"
MOST_LISTED: Final = 20
MOST_BYTES: Final = 4_000_000
MARKDOWN: Final = "text/markdown"
_ARTIFACT_URI = re.compile(r"executor://artifacts/(art_[A-Za-z0-9]{1,64})")
_ABOUT: Final = "How to find and call tools with `execute`, what to do with pauses, errors and large results"

Message = dict[str, Any]


class Library(Protocol):
    """Where artifacts are kept, as far as the one who asks may see them."""

    async def artifacts(self, limit: int) -> Sequence[Artifact]:
        """The newest first."""
        ...

    async def artifact(self, artifact_id: str) -> Artifact: ...

    async def content(self, artifact: Artifact) -> bytes: ...


@cache
def guide() -> str:
    return Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8")


def artifact_uri(artifact_id: str) -> str:
    return ARTIFACT.replace("{id}", artifact_id)


def link_to(artifact: Message) -> Message:
    """A content block that names an artifact of a result, for clients that read resources."""
    uri = artifact_uri(artifact["id"])
    return {"type": "resource_link", "uri": uri, "name": artifact["id"], "mimeType": artifact["mediaType"],
            "size": artifact["size"], "description": "The full result"}  # fmt: skip


async def list_resources(library: Library) -> list[Message]:
    listed = [
        {"uri": GUIDE, "name": "guide", "title": "Guide to Executor", "description": _ABOUT, "mimeType": MARKDOWN}
    ]
    for one in await library.artifacts(MOST_LISTED):
        if one.deleted_at is None:
            listed.append({"uri": artifact_uri(one.id), "name": one.name, "mimeType": one.media_type,
                           "size": one.size})  # type: ignore[dict-item]  # fmt: skip
    return listed


def list_templates() -> list[Message]:
    about = "A result or a file that an execution kept, by its handle art_…"
    return [{"uriTemplate": ARTIFACT, "name": "artifact", "title": "Artifact", "description": about}]


async def read(library: Library, uri: str) -> list[Message]:
    """Raises NotFound for what is not there, or can't be read whole."""
    if uri == GUIDE:
        return [{"uri": GUIDE, "mimeType": MARKDOWN, "text": guide()}]
    match = _ARTIFACT_URI.fullmatch(uri)
    found = await library.artifact(match[1]) if match else None
    if found is None or found.deleted_at is not None:
        raise NotFound(f"there is no resource {uri[:200]!r}", hint=f"see resources/list, or read {GUIDE}")
    if found.size > MOST_BYTES:
        hint = "read a part of it with tools.executor.artifacts.read({id, pointer, offset, limit}) in `execute`"
        raise NotFound(f"{found.id} has {found.size} bytes, too many to be read as a resource", hint=hint)
    data = await library.content(found)
    about = {"uri": artifact_uri(found.id), "mimeType": found.media_type}
    if found.form in ("json", "text"):
        return [{**about, "text": data.decode("utf-8", "replace")}]
    return [{**about, "blob": b64encode(data).decode()}]


def list_prompts() -> list[Message]:
    task = {"name": "task", "description": "What to do with the connected apps and APIs", "required": False}
    return [{"name": PROMPT, "title": "Work with Executor", "description": _ABOUT, "arguments": [task]}]


def get_prompt(name: str, arguments: dict[str, str]) -> Message:
    """Raises NotFound."""
    if name != PROMPT:
        raise NotFound(f"there is no prompt {name[:100]!r}", hint=f"the only prompt is {PROMPT}")
    resource = {"uri": GUIDE, "mimeType": MARKDOWN, "text": guide()}
    messages = [{"role": "user", "content": {"type": "resource", "resource": resource}}]
    if task := arguments.get("task", "").strip():
        messages.append({"role": "user", "content": {"type": "text", "text": task}})
    return {"description": _ABOUT, "messages": messages}


async def complete(library: Library, name: str, value: str) -> list[str]:
    """Handles of the newest artifacts, for the template's `id`."""
    if name != "id":
        return []
    return [one.id for one in await library.artifacts(MOST_LISTED) if one.id.startswith(value)]
