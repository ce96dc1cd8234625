"""The options of a source that depend on its kind, under the names that the API has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from executor.errors import InvalidRequest

Command = TypeVar("Command", bound=Callable[..., Any])
ANY_ORIGIN = "any"
FIELDS = {
    "server": "server",
    "raw": "raw",
    "cwd": "cwd",
    "call_seconds": "callSeconds",
    "total_seconds": "totalSeconds",
}

_OPTIONS = (
    click.option(
        "--server",
        metavar="SERVER",
        help="Which of the document's servers to use: number (from 0), URL, name or description.",
    ),
    click.option(
        "--variable",
        "server_variables",
        multiple=True,
        metavar="NAME=VALUE",
        help="The value of a variable in the document's server address. Repeatable.",
    ),
    click.option(
        "--remote-refs",
        multiple=True,
        metavar="ORIGIN",
        help="An origin that references in the document may point to, or `any`. Repeatable.",
    ),
    click.option(
        "--transport",
        type=click.Choice(["auto", "http", "streamable-http", "sse", "stdio"]),
        help="Transport of an MCP server. Default: detected.",
    ),
    click.option("--raw/--no-raw", default=None, help="Include the GraphQL tools that take your own document."),
    click.option("--cwd", metavar="FOLDER", help="Working directory of a command. Default: the current one."),
    click.option("--call-seconds", type=int, help="How long a call to an MCP server may take without progress."),
    click.option("--total-seconds", type=int, help="How long a call to an MCP server may take in total."),
)


def source_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """For `options` of a request: only what was given."""
    found = {field: given[name] for name, field in FIELDS.items() if given.get(name) is not None}
    if pairs := given.get("server_variables"):
        found["variables"] = dict(map(pair, pairs))
    if origins := given.get("remote_refs"):
        found["remoteRefs"] = remote_refs(origins)
    return found


def with_options(body: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    return {**body, "options": {**body.get("options", {}), **options}} if options else body


def with_transport(body: dict[str, Any], transport: str | None) -> dict[str, Any]:
    """It says that the source is an MCP server. A command has one of its own."""
    if transport in (None, "auto"):
        return body
    if ("command" in body) != (transport == "stdio"):
        raise InvalidRequest(
            f"--transport {transport} does not fit",
            hint="`stdio` is the transport of a command, `http` and `sse` are those of an address",
        )
    return body if transport == "stdio" else {"kind": "mcp", **body, "transport": transport}


def pair(text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not name or not equals:
        raise InvalidRequest(f"--variable takes NAME=VALUE, not {text!r}", hint="for example: --variable region=eu")
    return name, value


def remote_refs(origins: Sequence[str]) -> bool | list[str]:
    if ANY_ORIGIN in origins:
        return True
    for origin in origins:
        if not origin.startswith(("http://", "https://")):
            raise InvalidRequest(
                f"--remote-refs takes an origin, not {origin!r}",
                hint="for example: https://schemas.example.com, or any",
            )
    return list(origins)
