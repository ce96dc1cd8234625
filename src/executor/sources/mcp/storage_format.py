"""How this kind stores a source and its tools: types of the JSON in `Source.config` and `Tool.binding`."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

from executor.model.known_keys import Pair
from executor.model.source import Source
from executor.model.tool import Tool
from executor.sources.mcp.transports.endpoint import Endpoint, Transport


class McpBinding(TypedDict):
    """`operation` is the server's own name of the tool; `unwrap` is the key that its result is taken out of.

    `request` is what is sent for a tool that is no tool of the server: `uri`, `template` or `name` say for what.
    `task` is set for a tool that only runs as a task.
    """

    operation: str
    annotations: dict[str, Any]
    unwrap: NotRequired[str]
    request: NotRequired[str]
    uri: NotRequired[str]
    template: NotRequired[str]
    name: NotRequired[str]
    task: NotRequired[bool]


class McpConfig(TypedDict):
    """`seconds` are the limits of this source's calls, where they are not as for others."""

    transport: Transport
    location: str
    command: list[str]
    environment: list[Any]  # pairs; a value of None is taken from the daemon
    directory: str
    headers: list[Pair]
    origins: list[str]
    allow_private: bool
    seconds: NotRequired[dict[str, float]]
    server: dict[str, str]
    auth: NotRequired[list[dict[str, Any]]]


def config_of(source: Source) -> McpConfig:
    return cast("McpConfig", source.config)


def binding_of(tool: Tool) -> McpBinding:
    return cast("McpBinding", tool.binding)


def endpoint_of(source: Source) -> Endpoint:
    config = config_of(source)
    return Endpoint(
        transport=config["transport"],
        url=config["location"] if not config["command"] else "",
        command=tuple(config["command"]),
        environment=tuple((name, value) for name, value in config["environment"]),
        directory=config["directory"],
        headers=tuple((name, value) for name, value in config["headers"]),
        origins=tuple(config["origins"]),
    )
