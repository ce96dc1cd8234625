from __future__ import annotations

from typing import Any

from executor.model.tool import Tool
from executor.schemas.alternatives import MAX_ALTERNATIVES, loosen


def tool(path: str, properties: dict[str, Any]) -> Tool:
    return Tool(
        path=path,
        source_id="",
        description="",
        effect="read",
        input_schema={"type": "object", "properties": properties},
        output_schema=None,
        binding={"body": None},
    )


def too_much() -> dict[str, Any]:
    return {"anyOf": [{"const": number} for number in range(MAX_ALTERNATIVES + 1)]}


def test_a_schema_that_is_too_much_is_opened_in_every_tool_that_shares_it() -> None:
    shared = too_much()
    tools = [tool("api.a", {"one": shared}), tool("api.b", {"one": shared, "two": {"items": shared}})]
    opened = loosen(tools, {})
    assert [one.input_schema["properties"] for one in tools] == [{"one": {}}, {"one": {}, "two": {"items": {}}}]
    assert [one.where for one in opened] == ["api.a", "api.b"]


def test_a_schema_that_was_walked_through_as_an_alternative_is_still_opened_elsewhere() -> None:
    """Beside others it counts with these; for a part of the value it counts alone."""
    shared = too_much()
    whole = {"anyOf": [{"properties": {"one": {"type": "string"}}}, shared]}
    first, second = tool("api.a", {}), tool("api.b", {"one": shared})
    first.input_schema["anyOf"] = whole["anyOf"]
    loosen([first, second], {})
    assert second.input_schema["properties"] == {"one": {}}


def test_what_a_shared_schema_holds_is_opened_once_for_all() -> None:
    shared = {"type": "object", "properties": {"inner": too_much()}}
    tools = [tool("api.a", {"one": shared}), tool("api.b", {"one": shared})]
    opened = loosen(tools, {})
    assert all(one.input_schema["properties"]["one"]["properties"] == {"inner": {}} for one in tools)
    assert [one.where for one in opened] == ["api.a"]
