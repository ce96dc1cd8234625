"""A request field that is called `body`, as comments, documents and mails have."""

from __future__ import annotations

from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.tool import Tool
from executor.sources.openapi.calls.arguments import arrange, meaning, strict_schema
from tests.sources.openapi.documents import json_body, one_tool

DOC = {"type": "object", "properties": {"type": {"type": "string"}, "content": {"type": "array", "items": {}}}}


def comment(body: Any = DOC, path: str = "/issue/{id}/comment", **more: Any) -> Tool:
    schema = {
        "type": "object",
        "properties": {"body": body, "public": {"type": "boolean"}, **more},
        "required": ["body"],
    }
    return one_tool(path, {"requestBody": json_body(schema, required=True)}, "post")


@pytest.mark.parametrize(
    "body", [DOC, {}, {"oneOf": [DOC, {"type": "string"}]}, {"type": ["object", "null"]}, {"allOf": [DOC]}]
)
def test_a_field_called_body_is_that_field(body: Any) -> None:
    tool, given = comment(body), {"type": "doc", "content": []}
    assert tool.input_schema["required"] == ["id", "body"]
    arranged = arrange(tool, {"id": "1", "body": given, "public": True})
    assert arranged == {"id": "1", "body": {"body": given, "public": True}}
    assert meaning(tool, {"id": "1", "body": given}).arguments == {"id": "1", "body": given}


def test_the_whole_body_has_another_name_then() -> None:
    tool = comment()
    whole = {"body": {"type": "doc"}}
    assert arrange(tool, {"id": "1", "requestBody": whole}) == {"id": "1", "body": whole}
    assert arrange(tool, {"id": "1", "requestBody": whole, "public": True})["body"] == {**whole, "public": True}
    assert strict_schema(tool)["properties"]["body"]["required"] == ["body"]
    with pytest.raises(ToolError, match="inside `requestBody` and beside it: body"):
        arrange(tool, {"id": "1", "requestBody": whole, "body": {}})


def test_a_field_that_shares_its_name_with_a_parameter_is_given_inside() -> None:
    tool = comment(id={"type": "integer"})
    assert arrange(tool, {"id": "1", "requestBody": {"id": 7, "body": {}}})["body"] == {"id": 7, "body": {}}
    shown = meaning(tool, {"id": "1", "requestBody": {"id": 7, "body": {}}}).arguments
    assert shown == {"id": "1", "requestBody": {"id": 7, "body": {}}, "body": {}}


def test_no_name_is_taken_twice() -> None:
    tool = comment(requestBody={"type": "string"})
    assert tool.body_argument == "requestBody_"


def test_a_text_called_body_shares_its_name_with_the_whole() -> None:
    """As before: tools that people have approved do not change."""
    tool = comment({"type": "string"})
    assert arrange(tool, {"id": "1", "body": "hi"})["body"] == {"body": "hi"}
    assert arrange(tool, {"id": "1", "body": {"body": "hi"}})["body"] == {"body": "hi"}
    assert "whole" not in tool.binding["body"]
