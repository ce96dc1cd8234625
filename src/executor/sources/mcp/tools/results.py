"""From what a server answers to the JSON text that submitted code gets, or the error that says what came instead."""

from __future__ import annotations

import json
from typing import Any

import orjson

from executor.errors import EgressRefused, SourceError, ToolError
from executor.model.tool import Tool
from executor.schemas.keywords import plain
from executor.sources.mcp.storage_format import binding_of
from executor.sources.mcp.transports.endpoint import printable
from executor.sources.results import CODES

MAX_SAID = 300
MAX_DETAILS = 64_000
DONE = "the call itself was accepted, so don't repeat it blindly"


def result_text(tool: Tool, result: dict[str, Any]) -> str:
    content = result.get("content")
    blocks = [as_block(block) for block in content] if isinstance(content, list) else []
    if result.get("isError") is True:
        raise tool_failed(tool, blocks)
    if result.get("resultType") not in (None, "complete"):
        raise wants_more(tool, result)
    structured = result.get("structuredContent")
    if wrapper := binding_of(tool).get("unwrap"):
        return as_json(taken_out(tool, wrapper, structured, blocks))
    if structured is not None:
        check_promise(tool, structured, blocks)
        return as_json(structured)
    if tool.output_schema is not None:
        return as_json(read_promised(tool, blocks))
    if not isinstance(content, list):
        raise unexpected_error(tool, "the answer has neither content nor structured content", bound_value(result))
    return as_json(unwrap_blocks(blocks))


def taken_out(tool: Tool, wrapper: str, structured: Any, blocks: list[Any]) -> Any:
    """The one value that the structured content holds; of servers that send none, what their one text says."""
    if structured is None and len(blocks) == 1 and is_text_block(blocks[0]):
        try:
            structured = json.loads(blocks[0]["text"])
        except (ValueError, RecursionError):
            structured = blocks[0]["text"]
        if not isinstance(structured, dict) or wrapper not in structured:
            structured = {wrapper: structured}
    if not isinstance(structured, dict) or wrapper not in structured:
        raise unexpected_error(
            tool, f"the tool declares {wrapper}, which the answer does not have", bound_value(structured)
        )
    check_promise(tool, structured[wrapper], blocks)
    return structured[wrapper]


def unwrap_blocks(blocks: list[Any]) -> Any:
    """One text is that text; anything else is given block by block."""
    if not blocks:
        return None
    if len(blocks) == 1 and is_text_block(blocks[0]):
        return blocks[0]["text"]
    return {"content": blocks}


def as_block(block: Any) -> Any:
    """Bytes are named `base64` in every kind of block; what isn't known stays as it came."""
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": block.get("text", "")}
    if kind in ("image", "audio"):
        return {"type": kind, "mimeType": block.get("mimeType", ""), "base64": block.get("data", "")}
    if kind == "resource" and isinstance(block.get("resource"), dict):
        inner = block["resource"]
        kept = {key: inner[key] for key in ("uri", "mimeType", "text") if key in inner}
        return {"type": "resource", **kept, **({"base64": inner["blob"]} if "blob" in inner else {})}
    return {key: value for key, value in block.items() if key not in ("_meta", "annotations", "icons")}


def is_text_block(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def read_promised(tool: Tool, blocks: list[Any]) -> Any:
    """Servers older than structured content send what their schema promises as JSON in a text."""
    if len(blocks) == 1 and is_text_block(blocks[0]):
        try:
            value = json.loads(blocks[0]["text"])
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict | list):
            check_promise(tool, value, blocks)
            return value
    raise unexpected_error(tool, "the tool declares structured content, but the answer has none", bound_value(blocks))


def check_promise(tool: Tool, value: Any, blocks: list[Any]) -> None:
    """Only what the outermost schema says: enough for code that was checked against it to read what it expects."""
    schema = tool.output_schema or {}
    if schema.get("type") == "object" and not isinstance(value, dict):
        raise unexpected_error(
            tool, "the tool declares an object, but the answer is something else", bound_value(value)
        )
    missing = [name for name in schema.get("required", ()) if isinstance(value, dict) and name not in value]
    if missing:
        names = ", ".join(printable(name, 60) for name in missing[:5])
        raise unexpected_error(tool, f"the tool declares {names}, which the answer does not have", bound_value(value))


def tool_failed(tool: Tool, blocks: list[Any]) -> ToolError:
    texts = [block["text"] for block in blocks if is_text_block(block)]
    said = " ".join(printable(" ".join(texts), MAX_SAID).split())
    return ToolError(
        "upstream_error",
        f"{tool.path}: {said or 'the tool failed without saying why'}",
        details=bound_value(unwrap_blocks(blocks)),
        hint="the tool itself reports this: change the arguments, or what it works on",
    )


def wants_more(tool: Tool, result: dict[str, Any]) -> ToolError:
    what = printable(str(result.get("resultType")), 60)
    return ToolError(
        "upstream_error",
        f"{tool.path}: the server did not answer and requests more input first ({what})",
        details={"resultType": what},
        hint="requests from servers are not supported: pass everything the tool needs in its arguments",
    )


def rpc_failed(tool: Tool, code: int, message: str, data: Any) -> ToolError:
    """The server refused the request itself."""
    hints = {-32602: "the server rejects these arguments", -32601: "the server does not know this request; refresh it"}
    return ToolError(
        "upstream_error",
        f"{tool.path}: {' '.join(printable(message, MAX_SAID).split()) or 'the server answered with an error'}",
        details=bound_value({"code": code, "message": message, "data": data}),
        hint=hints.get(code, "see `details`"),
    )


def vanished_error(tool: Tool) -> ToolError:
    return ToolError(
        "unknown_tool",
        f"{tool.path}: the server no longer has this tool",
        hint="the source is being refreshed; find the current tools with tools.discover",
    )


def transport_error(tool: Tool, error: SourceError) -> ToolError:
    """Why no answer came. What may have been sent is never called retryable."""
    if isinstance(error, EgressRefused):
        return ToolError("egress_refused", f"{tool.path}: {error.message}", hint=error.hint)
    reason, sent = error.details.get("reason", ""), bool(error.details.get("sent"))
    codes = {**CODES, "auth": "upstream_error"}
    details: dict[str, Any] = {"sent": sent}
    if reason == "limited":
        return limit_error(tool, error)
    if "auth" in error.details:
        details["auth"] = error.details["auth"]
    failed = ToolError(
        codes.get(reason, "upstream_unreachable"),
        f"{tool.path}: {error.message}",
        hint=error.hint if not sent else "it may have taken effect anyway: check before you repeat it",
        status=error.details.get("upstream_status"),
        details=details,
        retryable=not sent and reason not in ("auth", "protocol", "command"),
    )
    failed.asks = tuple(error.details.get("auth", ()))
    return failed


def limit_error(tool: Tool, error: SourceError) -> ToolError:
    """Refused before anything was done, also if it is a write."""
    seconds, status = error.details.get("retry_after"), error.details["upstream_status"]
    details, hint = {}, error.hint
    if seconds is not None:
        details, hint = {"retryAfter": seconds}, f"{hint} (the server asks to wait {seconds:g} seconds)"
    message = f"{tool.path}: {error.message}"
    return ToolError("upstream_error", message, status=status, details=details, hint=hint, retryable=status == 429)


def unexpected_error(tool: Tool, message: str, data: Any) -> ToolError:
    hint = f"the server does not match its own tool list: refresh the source; {DONE}"
    return ToolError("unexpected_response", f"{tool.path}: {message}", details={"data": data}, hint=hint)


def as_json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # integers over 64 bits, half surrogate pairs
        text = json.dumps(plain(value), ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def bound_value(value: Any) -> Any:
    text = as_json(value)
    return orjson.loads(text) if len(text) <= MAX_DETAILS else f"{text[:MAX_DETAILS]}…"
