"""What `/mcp` answers to a tool call, read as a model reads it and as a program does."""

from __future__ import annotations

import json
from typing import Any

from executor.surfaces.mcp.results.tool_results import ABOUT


def text_of(result: Any) -> str:
    """`result` is the client's, or the JSON of one. A link to an artifact may follow the text."""
    if isinstance(result, dict):
        return "".join(block["text"] for block in result["content"] if block["type"] != "resource_link")
    return "".join(block.text for block in result.content if block.type != "resource_link")


def value_of(result: Any) -> Any:
    """What the code returned; logs and warnings follow it."""
    return json.loads(text_of(result).partition("\n")[0])


def about(result: Any) -> Any:
    """Of the execution, for programs."""
    return (result["_meta"] if isinstance(result, dict) else result.meta)[ABOUT]
