"""How this kind stores a source and its tools: types of the JSON in `Source.config` and `Tool.binding`."""

from __future__ import annotations

from typing import TypedDict, cast

from executor.model.source import Source
from executor.model.tool import Tool


class PythonBinding(TypedDict):
    operation: str
    function: str


class PythonConfig(TypedDict):
    location: str
    transport: str


def location_of(source: Source) -> str:
    return cast("PythonConfig", source.config)["location"]


def function_of(tool: Tool) -> str:
    return cast("PythonBinding", tool.binding)["function"]
