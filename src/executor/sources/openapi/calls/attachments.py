"""Arguments that name files which are kept: `{artifact: "art_…"}`, as an answer with a large file gives it."""

from __future__ import annotations

from typing import Any

from executor.model.tool import Tool
from executor.network.files import FILES, HANDLE, Files, is_handle
from executor.sources.openapi.calls.parameter_styles import refusal_of
from executor.sources.openapi.storage_format import binding_of

FORMS = ("multipart", "binary", "text", "xml")


async def with_files(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """With each such file looked up. Raises ToolError if the call may not read one, or says what is not so of it."""
    body = binding_of(tool)["body"]
    if body is None or body.get("form") not in FORMS or not any(holds_handle(one) for one in arguments.values()):
        return arguments
    files = FILES.get()
    if files is None:
        raise refusal_of("an artifact can only be sent by a call of an execution", "")
    return {name: await looked_up(files, value, f"/{name}") for name, value in arguments.items()}


def check_files(tool: Tool, arranged: dict[str, Any]) -> None:
    """Raises ToolError for a file of which only the name or the type is given."""
    body, given = binding_of(tool)["body"], arranged.get("body")
    if body is None or body.get("form") not in FORMS:
        return
    fields = given.items() if isinstance(given, dict) and body["form"] == "multipart" else ()
    files = [(f"/{name}", value) for name, value in fields if body["encoding"].get(name, {}).get("file")]
    for at, value in files or [("/body", given)]:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and one and set(one) < HANDLE and "artifact" not in one:
                raise refusal_of("a file needs `base64` or `artifact`", at)


def holds_handle(value: Any, depth: int = 0) -> bool:
    """A field may be a list of files, and the whole body may be given as one object."""
    if is_handle(value):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth < 2 and any(holds_handle(one, depth + 1) for one in parts)


async def looked_up(files: Files, value: Any, at: str, depth: int = 0) -> Any:
    if is_handle(value):
        kept = await files.find(value["artifact"])
        if "size" in value and value["size"] != kept.size:
            raise refusal_of(f"{kept.id} has {kept.size:,} bytes, not {value['size']}", f"{at}/size")
        name, media_type = value.get("filename") or value.get("name") or kept.name, value.get("contentType")
        return {"artifact": kept, "filename": name, "contentType": media_type or kept.media_type}
    if depth < 2 and isinstance(value, dict):
        return {name: await looked_up(files, one, f"{at}/{name}", depth + 1) for name, one in value.items()}
    if depth < 2 and isinstance(value, list):
        return [await looked_up(files, one, f"{at}/{index}", depth + 1) for index, one in enumerate(value)]
    return value
