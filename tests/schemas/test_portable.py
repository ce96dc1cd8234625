"""Schemas that strict clients take: one object, plain names, nothing that a model's provider refuses."""

from __future__ import annotations

from typing import Any

import pytest

from executor.schemas.portable import portable_schema, without_nulls

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        {"$ref": "#/$defs/One", "$defs": {"One": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}}},
        {"allOf": [{"$ref": "#/$defs/One"}], "required": ["a"],
         "$defs": {"One": {"type": "object", "properties": {"a": TEXT}}}},
        {"properties": {"a": TEXT}, "required": ["a", "gone"], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ],
)  # fmt: skip
def test_it_is_one_object_without_alternatives_at_the_top(schema: dict[str, Any]) -> None:
    found, unfit = portable_schema(schema)
    assert (found["type"], found["properties"], found["required"], unfit) == ("object", {"a": TEXT}, ["a"], [])
    assert not {"anyOf", "oneOf", "allOf", "$ref", "$schema"} & found.keys()
    assert found.get("$defs") == schema.get("$defs")


def test_a_name_that_providers_refuse_is_left_out_and_still_accepted() -> None:
    found, unfit = portable_schema(
        {"type": "object", "properties": {"filter[name]": TEXT, "a": TEXT}, "required": ["filter[name]"],
         "additionalProperties": False}
    )  # fmt: skip
    assert unfit == ["filter[name]"] and list(found["properties"]) == ["a"]
    assert found["additionalProperties"] is True and "required" not in found


def test_a_schema_of_nothing_is_an_object_of_anything() -> None:
    assert portable_schema({})[0] == {"type": "object", "properties": {}}


def test_null_is_left_out_where_it_is_none_of_the_values() -> None:
    properties = {"a": TEXT, "b": {"type": ["string", "null"]}, "c": {"anyOf": [TEXT]}, "d": TEXT}
    given = {"a": None, "b": None, "c": None, "d": "x", "e": None}
    kept = without_nulls(given, {"type": "object", "properties": properties})
    assert kept == {"b": None, "c": None, "d": "x", "e": None}
