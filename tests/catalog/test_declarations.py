from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import tree_sitter
import tree_sitter_typescript
from hypothesis import given, settings
from hypothesis import strategies as st

from executor.catalog.declarations.python import python_declarations
from executor.catalog.declarations.typescript import typescript_declarations
from executor.catalog.signatures.example_call import call
from executor.execution.builtins.tools import BUILTINS
from executor.model.language import Language
from executor.model.tool import Tool
from tests.catalog.checkers import python_says, typescript_says
from tests.catalog.conftest import CatalogHarness
from tests.catalog.schema_generator import SchemaGenerator, validator_of
from tests.catalog.test_signatures import nasty

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))
TEXT: dict[str, Any] = {"type": "string"}
STATE = {"enum": ["open", "closed"]}
ISSUE = {
    "type": "object",
    "properties": {
        "owner": TEXT,
        "state": STATE,
        "labels": {"type": "array", "items": TEXT},
        "count": {"type": "integer"},
    },
    "required": ["owner"],
    "additionalProperties": False,
}


def tool(path: str, schema: dict[str, Any] | None = None, output: dict[str, Any] | None = None) -> Tool:
    return Tool(path, "src", "Does it.", "read", ISSUE if schema is None else schema, output, schema_digest=path)


def of(language: Language, *tools: Tool, **parts: Any) -> str:
    write = python_declarations if language == "python" else typescript_declarations
    return write(tools, {"src": parts.pop("definitions", {})}, **parts)


def test_typescript_is_strict_about_names_needs_and_values(tmp_path: Path) -> None:
    declared = of("typescript", tool("gh.issues.list"))
    assert (
        typescript_says(tmp_path, declared, 'await tools.gh.issues.list({owner: "a", state: "open", labels: ["x"]})')
        == []
    )
    for wrong in (
        "{}",
        "{owner: 1}",
        '{owner: "a", sate: "open"}',
        '{owner: "a", state: "opn"}',
        '{owner: "a", labels: [1]}',
    ):
        assert typescript_says(tmp_path, declared, f"await tools.gh.issues.list({wrong})"), wrong
    assert "does not exist" in typescript_says(tmp_path, declared, "await tools.gh.issues.lst({})")[0]


def test_python_is_strict_about_names_needs_and_values() -> None:
    declared = of("python", tool("gh.issues.list"))
    right = (
        'await tools.gh.issues.list(owner="a", state="open")\nawait tools.gh.issues.list({"owner": "a", "labels": []})'
    )
    assert python_says(declared, right) == []
    for wrong in ("", "owner=1", 'owner="a", sate=1', 'owner="a", state="opn"', '{"owner": 1}', '{"state": "open"}'):
        assert python_says(declared, f"await tools.gh.issues.list({wrong})"), wrong
    assert "no attribute" in python_says(declared, "await tools.gh.issues.lst()")[0]


def test_a_path_can_be_a_tool_and_have_others_below_it(tmp_path: Path) -> None:
    tools = (tool("gh.list"), tool("gh.list.all"), tool("gh.list.str"), tool("gh.list.name"))
    code = "".join(f'await tools.{one.path}({{owner: "a"}});\n' for one in tools)
    assert typescript_says(tmp_path, of("typescript", *tools), code) == []
    code = "".join(f'await tools.{one.path}(owner="a", state="open", labels=["x"])\n' for one in tools)
    assert python_says(of("python", *tools), code) == []


def test_results_complete_known_fields_and_never_object_to_others(tmp_path: Path) -> None:
    user = {"type": ["object", "null"], "properties": {"login": TEXT, "kind": {"enum": ["a"]}}}
    output = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/User"}}, {"type": "null"}]}
    made = tool("gh.users.list", {"type": "object"}, output)
    typescript = of("typescript", made, definitions={"User": user})
    code = 'const r = await tools.gh.users.list();\nr[0].login.trim(); r[0].unheard.of; r[0].kind === "b";\n'
    assert typescript_says(tmp_path, typescript, code) == []
    assert typescript_says(tmp_path, typescript, code + "r[0].login.nope;")
    assert typescript_says(tmp_path, of("typescript", tool("a.b", {})), "(await tools.a.b()).x.y.z") == []
    python = of("python", made, definitions={"User": user})
    assert python_says(python, 'r = await tools.gh.users.list()\nr[0]["login"].strip()\nr[0]["unheard"].of') == []


def test_the_built_in_tools_are_declared_like_any_other(tmp_path: Path) -> None:
    tools = list(BUILTINS.values())
    code = 'await tools.discover({query: "x"}); await tools.describe.tool({path: "a.b"});'
    code += "await tools.executor.sources.list();"
    assert typescript_says(tmp_path, typescript_declarations(tools, {}), code) == []
    assert (
        python_says(
            python_declarations(tools, {}), 'await tools.discover(query="x")\nawait tools.describe.tool(path="x")'
        )
        == []
    )


def test_what_nothing_is_said_about_may_be_called_in_any_way(tmp_path: Path) -> None:
    for anything in ("gh", ""):
        assert typescript_says(tmp_path, of("typescript", anything=[anything]), "await tools.gh.what.ever(1, 2)") == []
        assert python_says(of("python", anything=[anything]), "await tools.gh.what.ever(1, x=2)") == []


def made_up_calls(seeds: range, language: Language) -> tuple[list[Tool], dict[str, Any], list[str]]:
    tools, definitions, code = [], {}, []
    for seed in seeds:
        making = SchemaGenerator(seed)
        definitions[f"s{seed}"] = making.definitions
        for number in range(4):
            schema = making.arguments()
            made = Tool(f"s{seed}.t{number}", f"s{seed}", "Does it.", "read", schema)
            tools.append(made)
            validator = validator_of(schema, making.definitions)
            code += [call(made.path, one, language) for one in making.valid_arguments(schema, validator)]
    return tools, definitions, code


def test_whatever_validation_accepts_typescript_accepts(tmp_path: Path) -> None:
    tools, definitions, code = made_up_calls(range(120), "typescript")
    assert len(code) > 1_000
    said = typescript_says(tmp_path, typescript_declarations(tools, definitions), "\n".join(code))
    assert said == [], [(line, code[int(line.split("(")[1].split(",")[0]) - 1]) for line in said[:3] if "main" in line]


def test_whatever_validation_accepts_python_accepts() -> None:
    tools, definitions, code = made_up_calls(range(60), "python")
    assert len(code) > 500
    said = python_says(python_declarations(tools, definitions), "\n".join(code))
    assert said == [], [(line, code[int(line.split(":")[1]) - 1]) for line in said[:3]]


@pytest.mark.parametrize("size", [1_000, 5_000])
def test_large_schemas_are_declared_in_full(tmp_path: Path, size: int) -> None:
    properties = {f"p{number}": TEXT for number in range(size)}
    many = {"type": "object", "properties": {**properties, "e": {"enum": [f"v{n}" for n in range(size)]}}}
    code = f'await tools.gh.many({{p1: "a", p{size - 1}: "b", e: "v{size - 1}"}})'
    assert typescript_says(tmp_path, of("typescript", tool("gh.many", many)), code) == []
    ast.parse(of("python", tool("gh.many", many)))


@settings(max_examples=200, deadline=None)
@given(st.lists(nasty, min_size=1, max_size=4), nasty, nasty, nasty)
def test_nothing_a_document_says_breaks_out_of_a_declaration(
    path: list[str], about: str, name: str, definition: str
) -> None:
    schema = {
        "type": "object",
        "properties": {name: {"enum": [about, "x"]}, "r": {"$ref": f"#/$defs/{definition}"}, "c": {"const": name}},
        "required": [name],
    }
    known = {definition: {"type": "object", "properties": {name: {"type": "object", "properties": {about: {}}}}}}
    hostile = Tool(".".join(path), "src", about, "read", schema, {"$ref": f"#/$defs/{definition}"})
    tools = [hostile, tool("gh.list")]
    written = typescript_declarations(tools, {"src": known})
    root = PARSER.parse(written.encode("utf-8", "surrogatepass")).root_node
    assert not root.has_error, written
    assert [node.type for node in root.named_children] == ["ambient_declaration", "ambient_declaration"]
    body = ast.parse(python_declarations(tools, {"src": known})).body
    assert {type(node) for node in body} <= {ast.ImportFrom, ast.ClassDef, ast.Assign, ast.AnnAssign}


async def test_declarations_hold_what_the_code_names_and_nothing_else(harness: CatalogHarness) -> None:
    operation = {"responses": {"200": {"description": "fine"}}}
    paths = {f"/{group}": {"get": {**operation, "operationId": f"get_{group}", "tags": [group]}} for group in "abc"}
    await harness.connect(paths, "things")
    one = await harness.catalog.declarations(harness.workspace, "typescript", ["things.a.getA", "no.such.tool", "nö"])
    assert "getA" in one.text and "getB" not in one.text and "such" not in one.text
    some = await harness.catalog.declarations(
        harness.workspace, "python", ["things.a", "things.b"], others=[tool("x.y")]
    )
    assert "getA" in some.text and "getB" in some.text and "getC" not in some.text and "tools_x_y" in some.text
    every = await harness.catalog.declarations(harness.workspace, "typescript", [""])
    assert all(name in every.text for name in ("getA", "getB", "getC"))
    assert await harness.catalog.declarations(harness.workspace, "typescript", [""]) is every
    await harness.catalog.lifecycle.remove(harness.workspace, "things")
    again = await harness.catalog.declarations(harness.workspace, "typescript", [""])
    assert "getA" not in again.text and again.digest != every.digest


async def test_too_many_tools_under_one_name_may_be_called_in_any_way(
    harness: CatalogHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("executor.catalog.declarations.loader.MAX_TOOLS", 2)
    operation = {"responses": {"200": {"description": "fine"}}}
    paths = {f"/x{number}": {"get": {**operation, "operationId": f"get{number}", "tags": ["g"]}} for number in range(3)}
    await harness.connect(paths, "things")
    declared = await harness.catalog.declarations(harness.workspace, "typescript", ["things"])
    assert "things: any;" in declared.text


async def test_a_body_may_stand_beside_the_parameters_or_in_one_argument(
    harness: CatalogHarness, tmp_path: Path
) -> None:
    body = {
        "type": "object",
        "properties": {"title": TEXT, "tags": {"type": "array", "items": TEXT}},
        "required": ["title"],
    }
    operation = {
        "operationId": "createThing",
        "parameters": [{"name": "owner", "in": "query", "required": True, "schema": TEXT}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": {"description": "fine"}},
    }
    await harness.connect({"/things": {"post": operation}}, "things")
    path = next(head.path for head in await harness.catalog.page(harness.workspace))
    typescript = (await harness.catalog.declarations(harness.workspace, "typescript", [path])).text
    python = (await harness.catalog.declarations(harness.workspace, "python", [path])).text
    right = (
        {"owner": "a", "title": "t"},
        {"owner": "a", "body": {"title": "t"}},
        {"owner": "a", "title": "t", "body": {"tags": []}},
    )
    for arguments in right:
        await harness.catalog.check(await harness.tool(path), arguments)
        assert typescript_says(tmp_path, typescript, call(path, arguments, "typescript")) == []
        assert python_says(python, call(path, arguments, "python")) == []
    for wrong in ({"owner": "a"}, {"title": "t"}, {"owner": "a", "titel": "t"}, {"owner": "a", "title": 1}):
        assert typescript_says(tmp_path, typescript, call(path, wrong, "typescript"))
        assert python_says(python, call(path, wrong, "python"))
