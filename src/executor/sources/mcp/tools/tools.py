"""From what a server lists to tools of the catalog. Everything a server says about its tools is a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from executor.dataclass import dataclass
from executor.model.tool import Effect, Schema, Skipped, Tool
from executor.schemas.alternatives import loosen
from executor.schemas.digests import with_digests
from executor.sources.mcp.storage_format import McpBinding
from executor.sources.mcp.tools import tool_names
from executor.sources.mcp.tools.schemas import Definitions, SchemaTooLarge
from executor.sources.mcp.tools.text import MAX_DESCRIPTION, clean, is_text, where

MAX_NAME = 1_000
WRAPPED = "result"
CONSTRAINING = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})
REQUESTS = ("resources/read ", "resources/templates ", "resources/list ", "prompts/get ")  # see `resources.bind`
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@dataclass(frozen=True, slots=True)
class Listing:
    tools: tuple[Tool, ...]
    definitions: Mapping[str, Schema]
    skipped: tuple[Skipped, ...]


def build(listed: Sequence[Any], namespace: str, kept: Mapping[str, str]) -> Listing:
    """CPU only: runs in a thread, beside running executions. `kept` are the names given before, by the server's own."""
    usable, skipped = sift(listed)
    given = tool_names.name_all(list(usable), {key: name for key, name in kept.items() if "." not in name})
    definitions = Definitions()
    tools = []
    for original, raw in usable.items():
        try:
            tools.append(build_tool(raw, original, f"{namespace}.{given[original]}", definitions))
        except SchemaTooLarge as error:
            skipped.append(Skipped(where(original), str(error)))
    opened = loosen(tools, definitions.shared)
    return Listing(with_digests(tools, definitions.shared), definitions.shared, (*skipped, *opened))


def sift(listed: Sequence[Any]) -> tuple[dict[str, dict[str, Any]], list[Skipped]]:
    usable: dict[str, dict[str, Any]] = {}
    skipped = []
    for position, raw in enumerate(listed):
        name = raw.get("name") if isinstance(raw, dict) else None
        reason = unusable(raw, name) or ("the server lists it twice; the first one is used" if name in usable else "")
        if reason:
            skipped.append(Skipped(where(name) if isinstance(name, str) and name else f"tool {position + 1}", reason))
        else:
            usable[str(name)] = raw
    return usable, skipped


def unusable(raw: Any, name: Any) -> str:
    if not isinstance(raw, dict):
        return "it is not an object"
    if not isinstance(name, str) or not name:
        return "it has no name"
    if len(name) > MAX_NAME or not is_text(name):
        return "its name is too long or can't be sent back"
    if name.startswith(REQUESTS):
        return "its name is that of a request of the protocol"
    if not isinstance(raw.get("inputSchema"), dict):
        return "it has no input schema"
    return ""


def build_tool(raw: dict[str, Any], original: str, path: str, definitions: Definitions) -> Tool:
    annotations = read_annotations(raw.get("annotations"))
    output = raw.get("outputSchema")
    shared = definitions.share(output) if isinstance(output, dict) else None
    wrapped = shared["properties"][WRAPPED] if shared is not None and is_wrapper(output) else None
    binding: McpBinding = {"operation": original, "annotations": annotations}
    if wrapped is not None:
        binding["unwrap"] = WRAPPED
    execution = raw.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        binding["task"] = True
    return Tool(
        path=path,
        source_id="",
        description=describe(raw),
        effect=effect_of(annotations),
        input_schema=of_object(definitions.share(raw["inputSchema"])),
        output_schema=shared if wrapped is None else wrapped,
        binding={**binding},
    )


def is_wrapper(output: Any) -> bool:
    """An object that holds nothing but the result: servers make one of every result that is no object."""
    properties = output.get("properties")
    if output.get("type") != "object" or not isinstance(properties, dict) or list(properties) != [WRAPPED]:
        return False
    required = output.get("required")
    return output.get("x-fastmcp-wrap-result") is True or (required == [WRAPPED] and not CONSTRAINING & set(output))


def of_object(schema: Schema) -> Schema:
    """Arguments are always one object, whatever a schema forgets to say."""
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def read_annotations(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        return {}
    found: dict[str, Any] = {hint: raw[hint] for hint in HINTS if isinstance(raw.get(hint), bool)}
    return found | ({"title": clean(raw["title"], 200)} if isinstance(raw.get("title"), str) else {})


def effect_of(annotations: Mapping[str, Any]) -> Effect:
    """A hint never loosens: no server talks its tools into being reads, and silence means the worst."""
    harmless = annotations.get("readOnlyHint") is True or annotations.get("destructiveHint") is False
    return "write" if harmless and annotations.get("destructiveHint") is not True else "destructive"


def describe(raw: dict[str, Any]) -> str:
    annotations = raw.get("annotations")
    titles = [raw.get("title"), annotations.get("title") if isinstance(annotations, dict) else None]
    texts = [text for text in (raw.get("description"), *titles) if isinstance(text, str) and text.strip()]
    return clean(texts[0], MAX_DESCRIPTION) if texts else ""
