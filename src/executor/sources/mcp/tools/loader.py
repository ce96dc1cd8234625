"""A source made of what a server said about itself and its tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from executor.errors import DocumentInvalid, InvalidRequest, SourceError
from executor.model.digest import digest
from executor.model.source import Loaded
from executor.sources.mcp.storage_format import McpConfig
from executor.sources.mcp.tools import resources, tool_names, tools
from executor.sources.mcp.tools.text import clean
from executor.sources.mcp.tools.tool_list import Listed
from executor.sources.mcp.transports.endpoint import Endpoint, command_line
from executor.sources.source_request import SourceRequest
from executor.sources.unread import unread_marks

MAX_INSTRUCTIONS = 2_000
MAX_SECONDS = 86_400


def build_catalog(request: SourceRequest, endpoint: Endpoint, server: dict[str, str], listed: Listed) -> Loaded:
    """CPU only: runs in a thread, beside running executions."""
    title = clean(server.get("title") or server.get("name", ""), 200)
    host = urlsplit(endpoint.url).hostname or ""
    namespace = request.namespace or tool_names.namespace_from(title, host, endpoint.command)
    listing = tools.build(listed.tools, namespace, request.names)
    others, skipped = resources.build(listed, namespace, request.names)
    every = (*listing.tools, *others)
    if not every:
        raise no_tools(endpoint, listing)
    return Loaded(
        name=request.name or title or namespace,
        namespace=namespace,
        tools=every,
        definitions=listing.definitions,
        skipped=(*listing.skipped, *listed.skipped, *skipped),
        document_digest=digest([tool.schema_digest for tool in every]),
        config={**make_config(request, endpoint, server)},
        document=json.dumps(document_of(listed), ensure_ascii=False, indent=2).encode("utf-8", "replace"),
        media_type="application/json",
    )


def document_of(listed: Listed) -> dict[str, Any]:
    others = {
        "resources": listed.resources,
        "resourceTemplates": listed.templates,
        "prompts": listed.prompts,
    }
    return {"tools": listed.tools, **{name: found for name, found in others.items() if found}}


def make_config(request: SourceRequest, endpoint: Endpoint, server: dict[str, str]) -> McpConfig:
    config: McpConfig = {
        "transport": endpoint.transport,
        "location": endpoint.url or command_line(endpoint.command),
        "command": list(endpoint.command),
        "environment": [list(pair) for pair in endpoint.environment],
        "directory": endpoint.directory,
        "headers": [list(pair) for pair in endpoint.headers],
        "origins": list(endpoint.origins),
        "allow_private": request.consented.private_network,
        "server": {key: clean(value, MAX_INSTRUCTIONS) for key, value in server.items()},
    }
    if seconds := own_seconds(request.options):
        config["seconds"] = seconds
    return config


def own_seconds(options: Mapping[str, Any]) -> dict[str, float]:
    """How long calls of this source may take, where that is not as for others."""
    found = {name: options[name] for name in ("callSeconds", "totalSeconds") if options.get(name) is not None}
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= MAX_SECONDS:
            message = f"`{name}` is {str(value)[:40]!r}, not a number of seconds"
            raise InvalidRequest(message, hint=f"use a number from 1 to {MAX_SECONDS:,}")
    return found


def load_unlisted(request: SourceRequest, endpoint: Endpoint, error: SourceError) -> Loaded:
    """A server that lists nothing before it has a credential."""
    namespace = request.namespace or tool_names.namespace_from("", urlsplit(endpoint.url).hostname or "", ())
    config = {**make_config(request, endpoint, {}), **unread_marks(request, error)}
    return Loaded(request.name or namespace, namespace, (), {}, (), "", config)


def no_tools(endpoint: Endpoint, listing: tools.Listing) -> DocumentInvalid:
    skipped = [{"where": one.where, "reason": one.reason} for one in listing.skipped[:20]]
    if skipped:
        message = f"none of the {len(listing.skipped)} tools of {endpoint.display_name} can be used"
        return DocumentInvalid(message, hint=f"first reason: {skipped[0]['reason']}", skipped=skipped)
    return DocumentInvalid(
        f"{endpoint.display_name} offers no tools, resources or prompts", hint="check that it is the right server"
    )
