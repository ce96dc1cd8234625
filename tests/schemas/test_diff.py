"""What two schemas differ in, told place by place."""

from __future__ import annotations

from typing import Any

import pytest

from executor.schemas.diff import MOST, Comparison, compare

TEXT = {"type": "string"}


def differences(before: Any, after: Any) -> list[tuple[str, str, str, str]]:
    found = Comparison()
    compare("input", before, after, found)
    return [(one.at, one.what, one.was, one.now) for one in found.found]


def fields(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (fields(a=TEXT), fields(a=TEXT), []),
        (fields(a=TEXT), fields(("b",), a=TEXT, b=TEXT), [("input.b", "added", "", "string, required")]),
        (fields(a=TEXT, b=TEXT), fields(a=TEXT), [("input.b", "removed", "string", "")]),
        (fields(a=TEXT), fields(("a",), a=TEXT), [("input.a", "required", "optional", "required")]),
        (fields(a=TEXT), fields(a={"type": "integer"}), [("input.a", "type", "string", "integer")]),
        (
            fields(a={"enum": ["x"]}),
            fields(a={"enum": ["x", "y"]}),
            [("input.a", "type", '"x"', '"x" | "y"')],
        ),
        (
            fields(a={"type": "array", "items": TEXT}),
            fields(a={"type": "array", "items": {**TEXT, "maxLength": 5}}),
            [("input.a[]", "maxLength", "", "5")],
        ),
        (None, fields(a=TEXT), [("input", "added", "", "object")]),
    ],
)
def test_a_difference_says_where_and_what(before: Any, after: Any, expected: list[tuple[str, ...]]) -> None:
    assert differences(before, after) == expected


def test_what_differs_only_in_a_definition_is_found_behind_the_reference_also_in_a_circle() -> None:
    def tree(kind: str) -> dict[str, Any]:
        node = fields(name={"type": kind}, child={"$ref": "#/$defs/Node"})
        return {**fields(root={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}

    assert differences(tree("string"), tree("string")) == []
    assert differences(tree("string"), tree("integer")) == [("input.root.name", "type", "string", "integer")]


def test_of_very_many_differences_the_first_are_reported_and_that_there_are_more() -> None:
    found = Comparison()
    compare("input", fields(**{f"a{at}": TEXT for at in range(500)}), fields(), found)
    assert len(found.found) == MOST and found.cut
