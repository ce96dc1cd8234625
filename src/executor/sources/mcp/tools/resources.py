"""Resources and prompts of a server as tools that read, in groups of their own: no tool of the server is in a group.

A resource is `namespace.resources.name`, a prompt `namespace.prompts.name`. Resources that are not listed, such as
those that a result links to, are read by `namespace.resources.read`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from executor.dataclass import dataclass
from executor.model.tool import Schema, Skipped, Tool
from executor.schemas.digests import with_digests
from executor.sources.mcp.storage_format import McpBinding
from executor.sources.mcp.tools import tool_names
from executor.sources.mcp.tools.text import MAX_DESCRIPTION, clean, is_text, where
from executor.sources.mcp.tools.tool_list import Listed
from executor.sources.mcp.tools.uri_templates import TemplateRefused, read_template
from executor.sources.tool_names import unique

MAX_URI = 4_000
MAX_ARGUMENTS = 50
RESOURCES, PROMPTS = "resources", "prompts"
READ, LIST, GET = "resources/read", "resources/list", "prompts/get"
GENERAL = frozenset({"read", "list"})
NOTHING: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
TEXT: Schema = {"type": "string"}
CONTENTS: Schema = {
    "type": "object",
    "properties": {
        "contents": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"uri": TEXT, "mimeType": TEXT, "text": TEXT, "base64": TEXT},
                "required": ["uri"],
            },
        }
    },
    "required": ["contents"],
}
PAGE: Schema = {
    "type": "object",
    "properties": {
        "resources": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": dict.fromkeys(("uri", "name", "title", "description", "mimeType"), TEXT),
                "required": ["uri"],
            },
        },
        "nextCursor": TEXT,
    },
    "required": ["resources"],
}
MESSAGES: Schema = {
    "type": "object",
    "properties": {
        "description": TEXT,
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "role": TEXT,
                    "content": {
                        "type": "object",
                        "properties": {"type": TEXT, "text": TEXT, "mimeType": TEXT, "base64": TEXT},
                        "required": ["type"],
                    },
                },
                "required": ["role", "content"],
            },
        },
    },
    "required": ["messages"],
}


class Unusable(Exception):
    """A reason to leave one of them out."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A tool without its name: `label` is what it would be called, `operation` what it is known by."""

    label: str
    operation: str
    description: str
    input_schema: Schema
    output_schema: Schema
    binding: McpBinding


def build(listed: Listed, namespace: str, kept: Mapping[str, str]) -> tuple[tuple[Tool, ...], list[Skipped]]:
    """`kept` are the names given before, by operation, without the namespace."""
    skipped: list[Skipped] = []
    resources = [
        *draft_all(listed.resources, draft_resource, skipped),
        *draft_all(listed.templates, draft_template, skipped),
    ]
    general = list(draft_general()) if listed.has_resources else []
    prompts = draft_all(listed.prompts, draft_prompt, skipped)
    tools = [
        *(make_tool(one, f"{namespace}.{RESOURCES}.{one.label}") for one in general),
        *make_tools(resources, f"{namespace}.{RESOURCES}.", names_in(RESOURCES, kept)),
        *make_tools(prompts, f"{namespace}.{PROMPTS}.", names_in(PROMPTS, kept)),
    ]
    return with_digests(tools, {}), skipped


def names_in(group: str, kept: Mapping[str, str]) -> dict[str, str]:
    return {operation: name[len(group) + 1 :] for operation, name in kept.items() if name.startswith(f"{group}.")}


def draft_all(listed: Sequence[Any], draft: Callable[[Any], Draft], skipped: list[Skipped]) -> list[Draft]:
    found: dict[str, Draft] = {}
    for position, raw in enumerate(listed):
        try:
            one = draft(raw)
            if one.operation in found:
                raise Unusable("the server lists it twice; the first one is used")
            found[one.operation] = one
        except Unusable as error:
            name = raw.get("name") if isinstance(raw, dict) else None
            skipped.append(Skipped(where(name) if isinstance(name, str) else f"entry {position + 1}", str(error)))
    return list(found.values())


def make_tools(drafts: Sequence[Draft], prefix: str, kept: Mapping[str, str]) -> list[Tool]:
    wanted = [(free_name(one.label), one.operation) for one in drafts]
    return [make_tool(one, f"{prefix}{name}") for one, name in zip(drafts, unique(wanted, kept), strict=True)]


def free_name(label: str) -> str:
    name = tool_names.identifier(label)
    return f"{name}_" if name.lower() in GENERAL else name


def make_tool(draft: Draft, path: str) -> Tool:
    return Tool(
        path=path,
        source_id="",
        description=draft.description,
        effect="read",
        input_schema=draft.input_schema,
        output_schema=draft.output_schema,
        binding={**draft.binding},
    )


def draft_resource(raw: Any) -> Draft:
    uri = text_in(raw, "uri", MAX_URI)
    binding = bind(READ, uri, uri=uri)
    said = describe(raw, f"Read {label_of(raw, uri)}{media_of(raw)}")
    return Draft(label_of(raw, uri), binding["operation"], said, NOTHING, CONTENTS, binding)


def draft_template(raw: Any) -> Draft:
    template = text_in(raw, "uriTemplate", MAX_URI)
    try:
        schema = read_template(template)
    except TemplateRefused as error:
        raise Unusable(str(error)) from error
    binding = bind("resources/templates", template, template=template)
    said = describe(raw, f"Read {label_of(raw, template)} by {template}{media_of(raw)}")
    return Draft(label_of(raw, template), binding["operation"], said, schema, CONTENTS, {**binding, "request": READ})


def draft_prompt(raw: Any) -> Draft:
    name = text_in(raw, "name", MAX_URI)
    binding = bind(GET, name, name=name)
    said = describe(raw, f"Get the prompt {label_of(raw, name)}")
    return Draft(name, binding["operation"], said, arguments_of(raw.get("arguments")), MESSAGES, binding)


def draft_general() -> Iterator[Draft]:
    any_uri = {"type": "object", "properties": {"uri": TEXT}, "required": ["uri"], "additionalProperties": False}
    cursor = {"type": "object", "properties": {"cursor": TEXT}, "additionalProperties": False}
    said = "Read a resource of this server by its URI, such as one that a result links to."
    yield Draft("read", f"{READ} *", said, any_uri, CONTENTS, bind(READ, "*"))
    said = "List the resources of this server, a page at a time."
    yield Draft("list", f"{LIST} *", said, cursor, PAGE, bind(LIST, "*"))


def bind(request: str, key: str, **more: str) -> McpBinding:
    """A space separates the two, so that no valid name of a tool is the same."""
    return {"operation": f"{request} {key}", "annotations": {}, "request": request, **more}  # type: ignore[typeddict-item]


def arguments_of(raw: Any) -> Schema:
    """Arguments of prompts are texts."""
    listed = raw if isinstance(raw, list) else []
    named = [one for one in listed[:MAX_ARGUMENTS] if isinstance(one, dict) and isinstance(one.get("name"), str)]
    if len(listed) > MAX_ARGUMENTS or len(named) != len(listed) or not all(is_text(one["name"]) for one in named):
        raise Unusable(f"it has more than {MAX_ARGUMENTS} arguments, or one without a name")
    properties = {one["name"]: {**TEXT, **said_of(one)} for one in named}
    required = [one["name"] for one in named if one.get("required") is True]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def said_of(raw: dict[str, Any]) -> dict[str, str]:
    said = raw.get("description")
    return {"description": clean(said, 500)} if isinstance(said, str) and said.strip() else {}


def text_in(raw: Any, key: str, limit: int) -> str:
    value = raw.get(key) if isinstance(raw, dict) else None
    if not isinstance(value, str) or not value:
        raise Unusable(f"it has no `{key}`")
    if len(value) > limit or not is_text(value) or not value.isprintable():
        raise Unusable(f"its `{key}` is too long or can't be sent back")
    return value


def label_of(raw: dict[str, Any], otherwise: str) -> str:
    for text in (raw.get("name"), raw.get("title")):
        if isinstance(text, str) and text.strip():
            return " ".join(clean(text, 100).split())
    return otherwise[-100:]


def media_of(raw: dict[str, Any]) -> str:
    media = raw.get("mimeType")
    return f" ({clean(media, 100)})" if isinstance(media, str) and media.isprintable() and media else ""


def describe(raw: dict[str, Any], what: str) -> str:
    said = raw.get("description")
    return clean(f"{what}. {said}" if isinstance(said, str) and said.strip() else f"{what}.", MAX_DESCRIPTION)
