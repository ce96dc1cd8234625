"""What a passed-through call returns, in the blocks that a plain tool gives: text, and what MCP servers embed."""

from __future__ import annotations

from typing import Any

from executor.surfaces.mcp.results.media import Media
from executor.surfaces.mcp.results.plain_text import one_line, without_turns

Block = dict[str, Any]


def direct_blocks(value: Any, media: Media) -> list[Block] | None:
    """None for a value that is neither text nor the content of an MCP server: that is shown as JSON."""
    if isinstance(value, str):
        return [text_block(value)]
    content = value.get("content") if isinstance(value, dict) and value.keys() == {"content"} else None
    if not isinstance(content, list) or not content or not all(map(_is_block, content)):
        return None
    return [_block(one, media) for one in content]


def text_block(text: str) -> Block:
    return {"type": "text", "text": without_turns(text)}


def _is_block(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("type"), str)


def _block(one: dict[str, Any], media: Media) -> Block:
    """A link to a resource can't be followed here, so it is shown as JSON, and so is what a client can't show."""
    if one["type"] == "text" and isinstance(one.get("text"), str):
        return text_block(one["text"])
    if one["type"] == "resource" and isinstance(one.get("uri"), str):
        about = {key: one[key] for key in ("uri", "mimeType") if isinstance(one.get(key), str)}
        if isinstance(one.get("text"), str):
            return {"type": "resource", "resource": {**about, "text": without_turns(one["text"])}}
        if isinstance(one.get("base64"), str):
            return {"type": "resource", "resource": {**about, "blob": one["base64"]}}
    elif one["type"] in ("image", "audio"):
        shown = len(media.blocks)
        media.take(one)
        if len(media.blocks) > shown:
            return dict(media.blocks[-1])
    return text_block(one_line(one))
