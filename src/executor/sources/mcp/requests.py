"""What a call of a tool sends to its server, and what becomes of the answer."""

from __future__ import annotations

import json
from typing import Any

from executor.model.tool import Tool
from executor.sources.mcp.storage_format import binding_of
from executor.sources.mcp.tools import results
from executor.sources.mcp.tools.uri_templates import expand

CALL, READ, LIST, GET = "tools/call", "resources/read", "resources/list", "prompts/get"
LISTED = ("uri", "name", "title", "description", "mimeType", "size")


def request_of(tool: Tool, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method, and its parameters."""
    binding = binding_of(tool)
    method = binding.get("request", CALL)
    if method == CALL:
        return method, {"name": binding["operation"], "arguments": arguments}
    if method == GET:
        return method, {"name": binding["name"], "arguments": arguments}
    if method == LIST:
        return method, arguments
    if "template" in binding:
        return method, {"uri": expand(binding["template"], arguments)}
    return method, {"uri": binding["uri"] if "uri" in binding else arguments["uri"]}


def outline_of(tool: Tool, arguments: dict[str, Any]) -> str:
    method, params = request_of(tool, arguments)
    what = params.get("name") or params.get("uri")
    return f"{method} {json.dumps(what, ensure_ascii=False)}" if what else method


def answer_of(tool: Tool, result: dict[str, Any]) -> str:
    """JSON text of what the code gets. Raises ToolError."""
    method = binding_of(tool).get("request", CALL)
    if method == CALL:
        return results.result_text(tool, result)
    if result.get("resultType") not in (None, "complete"):
        raise results.wants_more(tool, result)
    if method == GET:
        return results.as_json(prompt_of(tool, result))
    if method == LIST:
        return results.as_json(page_of(tool, result))
    contents = [content_of(tool, one) for one in objects_in(tool, result, "contents")]
    return results.as_json({"contents": contents})


def content_of(tool: Tool, raw: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(raw.get("uri"), str) or not any(isinstance(raw.get(key), str) for key in ("text", "blob")):
        raise results.unexpected_error(tool, "a part of the resource has neither text nor bytes", None)
    kept = {key: raw[key] for key in ("uri", "mimeType", "text") if isinstance(raw.get(key), str)}
    return {**kept, **({"base64": raw["blob"]} if isinstance(raw.get("blob"), str) else {})}


def prompt_of(tool: Tool, result: dict[str, Any]) -> dict[str, Any]:
    said = result.get("description")
    messages = [message_of(tool, one) for one in objects_in(tool, result, "messages")]
    return {**({"description": said} if isinstance(said, str) else {}), "messages": messages}


def message_of(tool: Tool, raw: dict[str, Any]) -> dict[str, Any]:
    role, content = raw.get("role"), results.as_block(raw.get("content"))
    if not isinstance(role, str) or not isinstance(content, dict):
        raise results.unexpected_error(tool, "a message of the prompt has no role or no content", None)
    return {"role": role, "content": content}


def page_of(tool: Tool, result: dict[str, Any]) -> dict[str, Any]:
    found = objects_in(tool, result, "resources")
    resources = [{key: one[key] for key in LISTED if key in one} for one in found if isinstance(one.get("uri"), str)]
    cursor = result.get("nextCursor")
    return {"resources": resources, **({"nextCursor": cursor} if isinstance(cursor, str) and cursor else {})}


def objects_in(tool: Tool, result: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = result.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise results.unexpected_error(tool, f"the answer has no list of {key}", results.bound_value(result))
    return found


def is_known_tool(tool: Tool) -> bool:
    """Whether the server's list of tools has it, and not another of its lists."""
    return binding_of(tool).get("request", CALL) == CALL
