"""Signatures on few lines say the same, and stay valid Python."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from executor.catalog.signatures.compact import flatten, without_result
from executor.catalog.signatures.signature import COMPACT, FULL, signature
from executor.model.language import LANGUAGES, Language
from executor.model.tool import Tool
from tests.catalog.test_signatures import as_declaration, errors, nasty, tool

PLACE = {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"$ref": "#/$defs/Zip"}}}
THING = {"type": "object", "required": ["id"], "properties": {f"field_{at}": {"type": "string"} for at in range(9)}}
DEFINITIONS: dict[str, Any] = {"Place": PLACE, "Zip": {"type": "object", "properties": {"code": {"type": "string"}}}}
DEFINITIONS["Thing"] = {**THING, "properties": {**THING["properties"], "id": {"type": "integer"}}}


def make_tool(names: int, required: int = 0) -> Tool:
    properties: dict[str, Any] = {f"argument_{at}": {"enum": ["a {", "b }; c"]} for at in range(names)}
    properties["place"] = {"$ref": "#/$defs/Place"}
    given = {"type": "object", "properties": properties, "required": list(properties)[:required]}
    return tool(given, {"$ref": "#/$defs/Thing"})


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("names", [0, 1, 8, 40])
@pytest.mark.parametrize("required", [0, 1])
@pytest.mark.parametrize("budget", [COMPACT, FULL])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_flat_signature_has_the_same_words_on_fewer_lines(
    names: int, required: int, budget: int, language: Language
) -> None:
    long = signature(make_tool(names, required), DEFINITIONS, budget=budget, language=language)
    flat = flatten(long)
    assert words(flat) == words(long)
    assert flat.count("\n") <= long.count("\n")
    assert flatten(flat) == flat
    if language == "python":
        assert ast.dump(ast.parse(flat)) == ast.dump(ast.parse(long))
    elif budget == COMPACT:
        assert all(re.match(r"/\*\* |tools\.|type |// more", line) for line in flat.splitlines()), flat


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=nasty, note=nasty, name=nasty)
def test_nothing_a_document_says_breaks_a_flat_signature(value: str, note: str, name: str) -> None:
    field = {"enum": [value, "b"], "description": note}
    schema = {"type": "object", "properties": {name: field, "place": {"$ref": "#/$defs/Place"}, "x" * 90: field}}
    for language in LANGUAGES:
        for budget in (COMPACT, FULL):
            long = signature(tool(schema, schema, description=note), DEFINITIONS, budget=budget, language=language)
            for short in (flatten(long), without_result(flatten(long))):
                if language == "python":
                    ast.parse(short)
                else:
                    assert not errors(as_declaration(short)), short


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_its_result_a_signature_keeps_the_types_of_its_arguments(language: Language) -> None:
    flat = flatten(signature(make_tool(2, 1), DEFINITIONS, budget=COMPACT, language=language))
    declared = "class {}(TypedDict)" if language == "python" else "type {} ="
    short = without_result(flat)
    assert declared.format("Thing") in flat and declared.format("Thing") not in short
    for kept in ("Place", "Zip"):
        assert declared.format(kept) in short
    assert "argument_1" in short and "Thing" in short
