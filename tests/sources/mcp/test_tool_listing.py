"""What a server lists, as tools."""

from __future__ import annotations

import re
from dataclasses import replace

import jsonschema_rs
import pytest

from executor.errors import ToolError
from executor.sources.mcp.tools import tool_names
from executor.sources.mcp.transports.endpoint import Endpoint, of_command
from tests.sources.mcp.conftest import HOSTILE, McpConnector


async def test_ugly_names_become_readable_unique_ones_and_are_called_by_their_own(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "ugly")
    paths = {name: tool.path.removeprefix("ugly.") for name, tool in connected.tools.items()}
    assert len({path.lower() for path in paths.values()}) == len(paths) == 14
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,68}", path) for path in paths.values())
    assert paths["__proto__"] == "proto" and paths["constructor"] == "constructor_" and paths["class"] == "class_"
    assert paths["admin"] == "admin" and paths["\u0430dmin"].startswith("dmin_") and paths["1st"] == "tool_1st"
    assert paths["a.b/c-d"].startswith("a_b_c_d_") and paths["naïve"] == "naive"
    assert await connected.call("a.b/c-d") == "done {}"


def test_names_given_before_stay_and_do_not_depend_on_order() -> None:
    first = tool_names.name_all(["a-b", "c"], {})
    assert first == {"a-b": "a_b", "c": "c"}
    later = tool_names.name_all(["a.b", "a-b", "c"], first)
    assert later["a-b"] == "a_b" and later["a.b"].startswith("a_b_")
    assert tool_names.name_all(["x/y", "x.y"], {}) == tool_names.name_all(["x.y", "x/y"], {})


async def test_a_broken_tool_is_left_out_with_its_reason_and_the_others_work(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "broken")
    assert list(connected.tools) == ["good", "slow"]
    reasons = {one.where: one.reason for one in connected.loaded.skipped}
    assert "twice" in reasons["good"] and "no input schema" in reasons["schemaless"]
    assert len(connected.loaded.skipped) == 5


async def test_definitions_are_shared_where_equal_and_kept_apart_where_not(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "schemas")
    tools, definitions = connected.tools, dict(connected.loaded.definitions)
    assert tools["one"].input_schema == {"$ref": "#/$defs/Node", "type": "object"}
    assert tools["four"].input_schema["properties"]["again"] == {"$ref": "#/$defs/Node"}
    assert tools["two"].input_schema["properties"]["n"] == {"$ref": "#/$defs/Node_2"}
    assert definitions["Node_2"] == {"type": "integer"} and definitions["a"] == {"type": "string", "pattern": "x"}
    properties = tools["three"].input_schema["properties"]
    assert (
        properties["c"] == {} and properties["d"] == {} and properties["e"] == {"type": "number", "exclusiveMinimum": 1}
    )
    for tool in tools.values():
        jsonschema_rs.Draft202012Validator({**tool.input_schema, "$defs": definitions})


async def test_a_promised_answer_is_read_from_text_and_a_broken_promise_is_reported(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "schemas")
    assert await connected.call("four", says='{"ok": true}') == {"ok": True}
    for words in ("fine", '{"no": 1}', "[1]"):
        with pytest.raises(ToolError) as broken:
            await connected.call("four", says=words)
        assert broken.value.tool_code == "unexpected_response"
    assert await connected.call("one") == "done {}"


async def test_sessions_of_two_sources_with_the_same_command_are_apart(connect: McpConnector) -> None:
    connected = await connect.to_command(HOSTILE, "calls")
    first = await connected.call("pid")
    other = replace(connected, source=replace(connected.source, id="src_2"))
    assert await other.call("pid") != first
    assert await connected.call("pid") == first
    await connect.kind.forget(connected.source)
    assert await connected.call("pid") != first


def test_arguments_of_a_command_do_not_appear_in_messages() -> None:
    endpoint = of_command(("serve", "--token", "s3cret"), {"env": {"KEY": "s3cret"}})
    assert "s3cret" not in endpoint.display_name
    assert isinstance(endpoint, Endpoint) and endpoint.digest != of_command(("serve",), {}).digest


@pytest.mark.parametrize(
    ("name", "host", "command", "namespace"),
    [
        ("GitHub MCP Server", "", (), "github"),
        ("", "mcp.linear.app", (), "linear"),
        ("", "", ("npx", "-y", "@scope/server-filesystem@1.0", "/data"), "filesystem"),
        ("", "", ("uvx", "mcp-server-git"), "git"),
        ("executor", "", (), "mcp"),
        ("…", "127.0.0.1", (), "mcp"),
    ],
)
def test_a_namespace_is_what_someone_would_choose(
    name: str, host: str, command: tuple[str, ...], namespace: str
) -> None:
    assert tool_names.namespace_from(name, host, command) == namespace
