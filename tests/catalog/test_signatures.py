from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest
import tree_sitter
import tree_sitter_typescript
from hypothesis import given, settings
from hypothesis import strategies as st

from executor.catalog.signatures.escape import comment, key, literal
from executor.catalog.signatures.signature import COMPACT, FULL, named_types, signature, write
from executor.model.language import Language
from executor.model.tool import Tool

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))
NASTY = [
    "*/",
    "/*",
    "//",
    "`",
    "'",
    '"',
    "\\",
    "\n",
    "\r",
    "\u2028",
    "\u2029",
    "${x}",
    "}",
    ";",
    "</script>",
    "\u202e",
    "\x00",
]
nasty = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=5)), max_size=6).map("".join)


def tool(schema: dict[str, Any], output: dict[str, Any] | None = None, **parts: Any) -> Tool:
    return Tool("ns.group.name", "src", parts.pop("description", "Does it."), "read", schema, output, **parts)


def as_declaration(text: str) -> str:
    """The call as a method of an interface, so that a TypeScript parser accepts it as a whole."""
    call, *types = text.split("\n// more types")[0].split("\ntype ")
    head, _, rest = call.partition("tools.ns.group.name")
    return f"{head}declare function name{rest};\n" + "".join(f"type {one}\n" for one in types)


def errors(text: str) -> bool:
    return PARSER.parse(text.encode("utf-8", "surrogatepass")).root_node.has_error


def shape(text: str) -> list[str]:
    return [node.type for node in PARSER.parse(text.encode("utf-8", "surrogatepass")).root_node.named_children]


def test_a_signature_shows_arguments_result_and_shared_types_once() -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string", "description": "What. And more."}, "n": {"$ref": "#/$defs/Node"}},
        "required": ["n"],
    }
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"]}
    assert signature(tool(schema, {"type": "array", "items": {"$ref": "#/$defs/Node"}}), {"Node": node}) == (
        "/** Does it. */\n"
        "tools.ns.group.name(args: {\n  n: Node;\n  q?: string; // What.\n}): Promise<Node[]>\n"
        "type Node = { next: Node; };"
    )


def test_without_arguments_there_is_nothing_to_pass() -> None:
    assert "name(): Promise<unknown>" in signature(tool({"type": "object", "properties": {}}), {})


def nested_schema(depth: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"inner": nested_schema(depth - 1), "x": {}}} if depth else {}


def test_schemas_of_every_kind_are_valid_typescript() -> None:
    kinds = {
        "a": {"enum": ["x", 'y"', 3, None, True]},
        "b": {"const": "z"},
        "c": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        "d": {"allOf": [{"$ref": "#/$defs/A"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}]},
        "e": {"type": ["string", "null"]},
        "f": {"type": "object", "additionalProperties": {"type": "number"}},
        "g": {"type": "array"},
        "h": False,
        "i": True,
        "j": {"enum": list(range(50))},
        "weird key": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
        "k": nested_schema(5),
    }
    text = signature(tool({"type": "object", "properties": kinds}), {"A": {"type": "object", "properties": {"x": {}}}})
    assert not errors(as_declaration(text)), text


@settings(max_examples=300, deadline=None)
@given(nasty, nasty, nasty, nasty, nasty)
def test_nothing_a_document_says_breaks_out(about: str, name: str, value: str, note: str, definition: str) -> None:
    definition = definition or "D"
    properties = {
        name: {"enum": [value, "plain"], "description": note},
        "ref": {"$ref": f"#/$defs/{definition}", "description": note},
        "const": {"const": value},
    }
    definitions = {definition: {"type": "object", "properties": {name: {"type": "string", "description": note}}}}
    text = signature(tool({"type": "object", "properties": properties}, description=about), definitions)
    declaration = as_declaration(text)
    assert not errors(declaration), declaration
    python = signature(
        tool({"type": "object", "properties": properties}, description=about), definitions, language="python"
    )
    assert {type(node) for node in ast.parse(python).body} <= {ast.AsyncFunctionDef, ast.ClassDef, ast.Assign}, python
    assert [kind for kind in shape(declaration) if kind != "comment"] == [
        "ambient_declaration",
        "type_alias_declaration",
    ]


@given(nasty)
def test_comments_stay_on_their_line(text: str) -> None:
    written = comment(text, 200)
    assert "*/" not in written and len(written.splitlines()) <= 1


@given(nasty)
def test_literals_mean_what_the_document_said(text: str) -> None:
    assert json.loads(literal(text)) == text
    assert key(text) in (text, literal(text))


def test_a_signature_stays_within_its_budget() -> None:
    many = {f"field_number_{number}": {"type": "string", "description": "word " * 50} for number in range(500)}
    definitions = {f"T{number}": {"type": "object", "properties": many} for number in range(50)}
    output = {"anyOf": [{"$ref": f"#/$defs/T{number}"} for number in range(50)]}
    for budget in (COMPACT, FULL):
        text = signature(
            tool({"type": "object", "properties": many, "required": ["field_number_499"]}, output),
            definitions,
            budget=budget,
        )
        assert len(text) < budget * 1.5 + 500
        assert "field_number_499: string" in text
        assert "more" in text


def test_a_python_signature_is_a_function_and_typed_dicts() -> None:
    schema = {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": "What. And more."},
            "n": {"$ref": "#/$defs/Node"},
            "options": {"type": "object", "properties": {"deep": {"enum": ["a", None]}}},
        },
        "required": ["n"],
    }
    node = {"type": ["object", "null"], "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"]}
    output = {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    assert signature(tool(schema, output), {"Node": node}, language="python") == (
        "# await tools.ns.group.name(…)\n"
        "async def name(\n    *,\n    n: Node | None,\n    q: str = ...,  # What.\n    options: NameOptions = ...,\n"
        ') -> list[Node | None]:\n    """Does it."""\n'
        "class Node(TypedDict):\n    next: Node | None\n"
        "class NameOptions(TypedDict):\n    deep: NotRequired[Literal['a'] | None]"
    )


def test_names_that_python_cannot_write_come_in_one_dict() -> None:
    schema = {"type": "object", "properties": {"x-y": {"type": "string"}, "class": {}}, "required": ["x-y"]}
    text = signature(tool(schema), {}, language="python")
    assert "async def name(args: NameArguments)" in text
    assert "NameArguments = TypedDict(\"NameArguments\", {'x-y': str, 'class': NotRequired[Any]})" in text
    ast.parse(text)


def test_an_arguments_schema_of_alternatives_is_shown_as_such() -> None:
    schema = {"type": "object", "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}
    definitions = {name: {"type": "object", "properties": {name.lower(): {"type": "string"}}} for name in "AB"}
    assert "(args: A | B): Promise" in signature(tool(schema), definitions)
    assert "args: A | B" in signature(tool(schema), definitions, language="python")


def large_type(count: int) -> dict[str, Any]:
    fields = {f"field{number}": {"type": "string", "description": "x" * 50} for number in range(count)}
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_type_without_room_does_not_take_the_others_with_it(language: Language) -> None:
    """Small types and the answer come first; what is left out is named."""
    definitions = {
        "Filter": {**large_type(300), "properties": {**large_type(300)["properties"], "own": {"$ref": "#/$defs/Own"}}},
        "Own": {"type": "object", "properties": {"a": {"type": "string"}}},
        "Order": {"enum": ["createdAt", "updatedAt"]},
        "Sort": large_type(45),
        "Page": {"type": "object", "properties": {"nodes": {"type": "array", "items": {"$ref": "#/$defs/Issue"}}}},
        "Issue": {"type": "object", "properties": {**large_type(40)["properties"], "state": {"$ref": "#/$defs/State"}}},
        "State": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    given = {"filter": {"$ref": "#/$defs/Filter"}, "sort": {"$ref": "#/$defs/Sort"}, "by": {"$ref": "#/$defs/Order"}}
    schema = {"type": "object", "properties": given}
    made = write(tool(schema, {"$ref": "#/$defs/Page"}), definitions, budget=5_500, language=language)
    shown = [name for name in definitions if re.search(rf"^(?:type|class)? ?{name}\b", made.text, re.MULTILINE)]
    assert shown == ["Order", "Page", "Issue", "State"]
    assert set(made.types) == {"Filter", "Sort"}
    assert "createdAt" in made.text and "updatedAt" in made.text
    assert len(made.text) <= 5_500
    assert named_types(tool(schema), definitions, ["Filter", "Own"], language=language).keys() == {"Filter", "Own"}


@pytest.mark.parametrize("called", ["*/ evil", "a b", "", 7, None, "x" * 100, "Däte", "// x"])
def test_only_a_plain_word_is_taken_for_the_name_of_a_scalar(called: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"day": {"type": "string", "x-scalar": called}, "any": {"x-scalar": called}},
    }
    text = signature(tool(schema), {})
    assert "day?: string;" in text and "any?: unknown;" in text


def test_scalars_of_the_source_are_shown_by_their_name() -> None:
    day = {"type": ["string", "null"], "x-scalar": "TimelessDate", "description": "When it is due"}
    days = {"type": "array", "items": {"type": "string", "x-scalar": "Date"}}
    schema = {"type": "object", "properties": {"day": day, "days": days, "any": {"x-scalar": "JSON"}}}
    text = signature(tool(schema, schema), {})
    assert text.count("day?: string /* TimelessDate */ | null;") == 2
    assert text.count("days?: (string /* Date */)[];") == text.count("any?: unknown /* JSON */;") == 2
    python = signature(tool(schema), {}, language="python")
    assert "day: str | None = ...,  # (TimelessDate) When it is due" in python
    assert "days: list[str] = ...,  # (Date)" in python and "any: Any = ...,  # (JSON)" in python
