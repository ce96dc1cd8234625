"""Results that servers wrap in an object because the protocol wants one: unwrapped in type and value alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.tool import Tool
from executor.sources.mcp.tools import tools
from executor.sources.mcp.tools.results import result_text
from tests.sources.mcp.conftest import REAL, McpConnector


def tool_with(output: Any) -> Tool:
    listing = tools.build([{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": output}], "ns", {})
    return listing.tools[0]


def wrapper(inner: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": inner}, "required": ["result"], **more}


WRAPPERS = [
    wrapper({"type": "integer", "title": "Result"}, title="addOutput"),
    wrapper({"type": "integer"}, **{"x-fastmcp-wrap-result": True}),
    {"type": "object", "properties": {"result": {"type": "integer"}}, "x-fastmcp-wrap-result": True},
]
OTHERS = [
    {
        "type": "object",
        "properties": {"result": {"type": "integer"}, "unit": {"type": "string"}},
        "required": ["result"],
    },
    {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]},
    {"type": "object", "properties": {"result": {"type": "integer"}}},
    {"type": "object"},
]


@pytest.mark.parametrize("output", WRAPPERS)
def test_a_wrapper_is_taken_off(output: Any) -> None:
    tool = tool_with(output)
    assert tool.output_schema is not None
    assert tool.output_schema["type"] == "integer"
    for answer in (
        {"structuredContent": {"result": 3}, "content": [{"type": "text", "text": "3"}]},
        {"content": [{"type": "text", "text": "3"}]},
        {"content": [{"type": "text", "text": '{"result": 3}'}]},
    ):
        assert json.loads(result_text(tool, answer)) == 3


@pytest.mark.parametrize("output", OTHERS)
def test_other_objects_stay_as_they_are(output: Any) -> None:
    tool = tool_with(output)
    assert tool.output_schema is not None
    assert tool.output_schema["type"] == "object"
    value = {"result": 3, "value": 1}
    assert json.loads(result_text(tool, {"structuredContent": value, "content": []})) == value


@pytest.mark.parametrize("structured", [{"other": 1}, [1], 3, {"result": 3, "x": 1}])
def test_an_answer_without_the_wrapper_is_refused(structured: Any) -> None:
    tool = tool_with(WRAPPERS[0])
    answer = {"structuredContent": structured, "content": []}
    if isinstance(structured, dict) and "result" in structured:
        assert json.loads(result_text(tool, answer)) == 3
        return
    with pytest.raises(ToolError, match="declares result"):
        result_text(tool, answer)


def test_text_that_is_no_json_is_the_text() -> None:
    tool = tool_with(wrapper({"type": "string"}))
    assert json.loads(result_text(tool, {"content": [{"type": "text", "text": "hello"}]})) == "hello"


async def test_a_real_server_gives_plain_values_and_their_types(connect: McpConnector) -> None:
    connected = await connect.to_command(REAL, "stdio")
    assert await connected.call("add", a=1, b=2) == 3
    assert await connected.call("listed", count=2) == [{"street": "s", "city": "c"}] * 2
    listed = next(tool for tool in connected.loaded.tools if tool.path.endswith(".listed"))
    assert listed.output_schema is not None
    assert listed.output_schema["type"] == "array"
    assert listed.output_schema["items"]["$ref"].rpartition("/")[2] in connected.loaded.definitions
