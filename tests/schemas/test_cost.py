"""Which schemas need their work counted before a value is held against them."""

from __future__ import annotations

from typing import Any

import pytest

from executor.schemas.cost import ValidationCost
from executor.schemas.validation import compile_schema

PLAIN: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "rows": {"type": "array", "items": {"enum": [1, 2]}}},
    "required": ["id"],
    "additionalProperties": {"type": "string"},
}
ANY: dict[str, Any] = {}


def parts_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(parts_of, inner))


@pytest.mark.parametrize("value", [{"id": 1}, {"id": 1, "rows": [1, 2, 2], "more": "x"}, [[1], {"a": [2]}]])
def test_a_plain_schema_takes_one_step_for_each_part_at_most(value: Any) -> None:
    cost = ValidationCost(PLAIN)
    assert cost.is_plain
    assert cost.steps(value) <= parts_of(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [ANY, ANY]},
        {"properties": {"deep": {"items": {"oneOf": [ANY]}}}},
        {"allOf": [ANY]},
        {"not": ANY},
        {"if": ANY},
        {"$ref": "#/$defs/a", "$defs": {"a": ANY}},
        {"patternProperties": {"a": ANY, "b": ANY}},
        {"dependentSchemas": {"a": ANY}},
        {"contains": ANY, "items": ANY},
        {"propertyNames": ANY},
    ],
)
def test_a_schema_that_may_hold_a_part_against_several_is_counted(schema: dict[str, Any]) -> None:
    assert not ValidationCost(schema).is_plain


def test_a_value_that_a_plain_schema_refuses_is_explained() -> None:
    found = compile_schema(PLAIN).errors({"id": 1, "rows": [1, 3], "more": 4})
    assert found is not None
    assert sorted(map(str, (list(error.instance_path) for error in found))) == ["['more']", "['rows', 1]"]
