from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from splintr import Tokenizer

from executor.catalog import description
from executor.catalog.description import Wish, tokens
from executor.errors import NotFound, ToolError
from executor.model.language import Language
from executor.model.tool import Tool
from tests.catalog.conftest import CatalogHarness
from tests.catalog.test_signatures import as_declaration, errors

WORDS = ("The repository that the issue belongs to, with its owner and name. " * 3).strip()


def field(number: int) -> dict[str, Any]:
    return {"type": "string", "description": f"{number}. {WORDS}"}


def definition(number: int) -> dict[str, Any]:
    properties: dict[str, Any] = {f"field_{number}_{index}": field(index) for index in range(12)}
    return {"type": "object", "properties": {**properties, "next": {"$ref": f"#/$defs/type-{number + 1}"}}}


LARGE = {f"type-{number}": definition(number) for number in range(60)}
TOOL = Tool(
    "gh.issues.create",
    "src",
    "Creates an issue. " + "Any user may do so. " * 300,
    "write",
    {"type": "object", "properties": {f"argument_{n}": field(n) for n in range(200)}, "required": ["argument_199"]},
    {"$ref": "#/$defs/type-0"},
)


def describe_tool(wish: Wish, tool: Tool = TOOL) -> dict[str, Any]:
    return description.description(tool, "gh", LARGE, "await tools.gh.issues.create()", wish)


def count(value: Any) -> int:
    return len(Tokenizer.from_pretrained("o200k_base").encode(json.dumps(value, ensure_ascii=False)))


@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize("budget", [150, 400, 1_500, 8_000])
def test_a_description_fits_its_budget_and_says_what_was_cut(language: Language, budget: int) -> None:
    answer = describe_tool(Wish(language, budget))
    assert count(answer) <= budget * 1.1
    assert "argument_199" in answer["signature"]
    assert answer["cut"].keys() & {"types", "result"}
    assert ("arguments" in answer["cut"]) is (budget < 8_000)
    assert answer["cut"]["description"] and answer["description"].endswith("…")
    assert "larger budget" in answer["hint"]


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_what_was_cut_can_be_asked_for(language: Language) -> None:
    names = describe_tool(Wish(language))["cut"]["types"]
    asked = describe_tool(Wish(language, types=tuple(names[:2])))
    assert all(name in asked["types"] for name in names[:2])
    assert "field_" in asked["types"] and "signature" not in asked
    whole = describe_tool(Wish(language, 20_000, "arguments"))["signature"]
    assert "argument_150" in whole and "field_0_1" not in whole
    result = describe_tool(Wish(language, 20_000, "result"))["signature"]
    assert "argument_150" not in result and "field_0_1" in result
    about = describe_tool(Wish(language, 20_000, "description"))
    assert about["description"] == TOOL.description and "signature" not in about


def test_a_type_that_is_not_there_is_said_so() -> None:
    with pytest.raises(NotFound, match="has no type Nope"):
        describe_tool(Wish(types=("Nope",)))
    some = describe_tool(Wish(types=("Type0", "Nope")))
    assert "field_0_1" in some["types"] and some["cut"] == {"types": ["Nope"]}


def test_nothing_is_said_to_be_cut_when_all_of_it_is_there() -> None:
    small = Tool("a.b", "src", "Does it.", "read", {"type": "object", "properties": {"x": {"type": "string"}}})
    answer = describe_tool(Wish(), small)
    assert "cut" not in answer and "hint" not in answer


def test_python_and_typescript_are_described_in_their_own_words() -> None:
    python, typescript = describe_tool(Wish("python")), describe_tool(Wish("typescript"))
    assert "class Type0(TypedDict):" in python["signature"] and "async def create(" in python["signature"]
    assert "type Type0 = {" in typescript["signature"] and "Promise<Type0>" in typescript["signature"]
    ast.parse(python["signature"])
    assert not errors(as_declaration(typescript["signature"].replace("gh.issues.create", "ns.group.name")))


def test_tokens_are_rather_overestimated() -> None:
    tokenizer = Tokenizer.from_pretrained("o200k_base")
    for text in (
        describe_tool(Wish("typescript"))["signature"],
        describe_tool(Wish("python"))["signature"],
        WORDS,
        "日本語の説明" * 20,
    ):
        assert len(tokenizer.encode(json.dumps(text, ensure_ascii=False))) <= tokens(text) * 1.05


async def test_errors_carry_the_signature_in_the_language_of_the_code(harness: CatalogHarness) -> None:
    parameters = [{"name": "q", "in": "query", "required": True, "schema": {"type": "string"}}]
    operation = {"operationId": "find", "parameters": parameters, "responses": {"200": {"description": "fine"}}}
    await harness.connect({"/things": {"get": operation}})
    tool = await harness.tool((await harness.catalog.page(harness.workspace))[0].path)
    with pytest.raises(ToolError) as refused:
        await harness.catalog.check(tool, {})
    assert f"tools.{tool.path}(args: {{ q: string; }})" in refused.value.hint
    with pytest.raises(ToolError) as refused:
        await harness.catalog.check(tool, {}, language="python")
    assert "async def find(*, q: str) -> Any" in refused.value.hint
    assert await harness.catalog.signature(tool, "python") == refused.value.hint


async def test_a_tool_is_described_in_the_language_and_budget_asked_for(harness: CatalogHarness) -> None:
    operation = {"operationId": "find", "responses": {"200": {"description": "fine"}}, "description": WORDS * 30}
    await harness.connect({"/things": {"get": operation}})
    path = (await harness.catalog.page(harness.workspace))[0].path
    answer = await harness.catalog.describe(harness.workspace, path, language="python", budget=200)
    assert answer["language"] == "python" and answer["example"] == f"await tools.{path}()"
    assert answer["cut"] == {"description": True} and count(answer) <= 220
    assert await harness.catalog.describe(harness.workspace, path, language="python", budget=200) == answer
