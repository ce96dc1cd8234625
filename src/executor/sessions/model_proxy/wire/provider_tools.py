"""What a provider would do itself for a request: search, fetch an address, run code, read a stored file.

All of it is a way out of a sandbox that has no network: a model can be made to fetch an address that holds what it
has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from executor.sessions.model_proxy.wire.endpoints import Dialect
from executor.sessions.model_proxy.wire.refusals import Refused, refuse

# Tools that the agent runs itself, by how their type begins.
OWN_TOOLS: dict[Dialect, tuple[str, ...]] = {
    "messages": ("custom", "bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"),
    "responses": ("function", "custom", "local_shell", "apply_patch", "computer", "namespace", "tool_search"),
    "chat": ("function", "custom"),
    "generate": (),
}
OWN_GEMINI_TOOLS = ("functionDeclarations", "function_declarations")
FIELDS: dict[Dialect, tuple[str, ...]] = {
    "messages": ("mcp_servers",),
    "responses": (),
    "chat": ("web_search_options",),
    "generate": (),
}
# What an agent's own tools were called with or have answered is data, and never read by the provider as a reference.
DATA = frozenset({"arguments", "input_schema", "parameters", "args", "response", "functionResponse", "functionCall"})
MARKS = (b'"source"', b'"image_url"', b'"input_image"', b'"file"', b'"file_', b'Data"', b'_data"', b'"item_reference"')
MAX_DEPTH = 100


def remove_or_refuse(dialect: Dialect, body: dict[str, Any]) -> tuple[str, ...]:
    """Codex offers a search with every request, so there it is taken out. Elsewhere it was asked for on purpose."""
    for name in FIELDS[dialect]:
        if body.get(name):
            raise tool_refusal(name)
    tools = body.get("tools")
    if not isinstance(tools, list):
        return ()
    foreign = [(tool, name) for tool in tools if (name := foreign_tool(dialect, tool))]
    if foreign and dialect != "responses":
        raise tool_refusal(foreign[0][1])
    if foreign:
        body["tools"] = [tool for tool in tools if not foreign_tool(dialect, tool)]
    return tuple(name for _, name in foreign)


def foreign_tool(dialect: Dialect, tool: Any) -> str:
    """The name of a tool that the provider runs; empty for the agent's own."""
    if not isinstance(tool, dict):
        return "?"
    if dialect == "generate":
        return next((name for name in tool if name not in OWN_GEMINI_TOOLS), "")
    kind = tool.get("type", "custom")
    if kind == "shell" and isinstance(place := tool.get("environment"), dict) and place.get("type") == "local":
        return ""
    return "" if isinstance(kind, str) and kind.startswith(OWN_TOOLS[dialect]) else str(kind)[:100]


def inspect_content(dialect: Dialect, body: dict[str, Any], written: bytes, *, allowed: bool) -> tuple[int, int]:
    """How many images a request holds, and how many of its bytes they are. Refuses what the provider would fetch."""
    if not any(mark in written for mark in MARKS):
        return 0, 0
    images = size = 0
    for part in parts_of(body):
        if not allowed and (what := reference_in(part)):
            raise tool_refusal(what)
        data = image_in(part)
        images, size = images + bool(data), size + len(data)
    return images, size


def parts_of(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        raise refuse("invalid", "depth", f"the body is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        yield value
        skip_input = depth > 0 and value.get("type") == "tool_use"
        for name, one in value.items():
            if isinstance(one, dict | list) and name not in DATA and not (skip_input and name == "input"):
                yield from parts_of(one, depth + 1)
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict | list):
                yield from parts_of(one, depth + 1)


def reference_in(part: dict[str, Any]) -> str:
    """Names what the provider would have to fetch, or has stored."""
    source = part.get("source")
    if isinstance(source, dict) and part.get("type") in ("image", "document") and source.get("type") in ("url", "file"):
        return f"{part['type']} by {source['type']}"
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if isinstance(url, str) and part.get("type") in ("image_url", "input_image") and not url.startswith("data:"):
        return "image by URL"
    if part.get("type") in ("input_image", "input_file", "file") and any(part.get(name) for name in STORED):
        return "file by reference"
    if part.get("type") == "file" and isinstance(part.get("file"), dict) and part["file"].get("file_id"):
        return "file by reference"
    if part.get("type") == "item_reference":
        return "item by reference"
    return "file by URI" if any(isinstance(part.get(name), dict) for name in ("fileData", "file_data")) else ""


STORED = ("file_id", "file_url")


def image_in(part: dict[str, Any]) -> str:
    """The data of an image. Other files are counted as text: a page of a PDF has more tokens than its image."""
    readers: tuple[Callable[[dict[str, Any]], Any], ...] = (anthropic_image, openai_image, gemini_image)
    return next((data for read in readers if isinstance(data := read(part), str)), "")


def anthropic_image(part: dict[str, Any]) -> Any:
    source = part.get("source")
    return source.get("data") if part.get("type") == "image" and isinstance(source, dict) else None


def openai_image(part: dict[str, Any]) -> Any:
    image = part.get("image_url") if part.get("type") in ("image_url", "input_image") else None
    return image.get("url") if isinstance(image, dict) else image


def gemini_image(part: dict[str, Any]) -> Any:
    data = part.get("inlineData", part.get("inline_data"))
    if not isinstance(data, dict) or not str(data.get("mimeType", data.get("mime_type"))).startswith("image/"):
        return None
    return data.get("data")


def tool_refusal(what: str) -> Refused:
    message = f"{what[:100]} is not available: the provider would reach the network for this session"
    return refuse("permission", "provider_tool", message)
