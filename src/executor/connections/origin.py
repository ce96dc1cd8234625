"""Where a call goes, as what its credential is pinned to: scheme, host and port, or the command that is run here."""

from __future__ import annotations

from executor.errors import EgressRefused
from executor.model.source import Source, call_address
from executor.model.tool import Tool
from executor.network.addresses import parse
from executor.network.credentials import command_origin


def origin_of(source: Source, tool: Tool | None = None) -> str:
    """Of a tool's own server if it has one. Empty if that is unknown: then no credential is sent."""
    config = source.known_keys
    if config.get("command"):
        return command_origin(config["command"])
    server = str(tool.known_keys.get("server") or "") if tool is not None else ""
    url = call_address(config, server)
    if source.kind == "python":
        return url
    try:
        return parse(url).origin
    except EgressRefused:
        return ""


def reading_origin(source: Source) -> str:
    """Of the document that it is read from, which may lie elsewhere than where its calls go."""
    config = source.known_keys
    document = str(config.get("spec_url") or config.get("location") or "")
    try:
        return parse(document).origin
    except EgressRefused:
        return origin_of(source)


def describe_origin(origin: str, source: Source) -> str:
    """For people: of a command, only its first word."""
    command = source.known_keys.get("command")
    return f"the command `{command[0]}` on this machine" if command else origin
