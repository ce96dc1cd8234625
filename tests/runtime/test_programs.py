"""What counts as a program, and where its errors are."""

from __future__ import annotations

import pytest

from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import SYNTAX_ERRORS, failure_of, outcome, value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    "code",
    [
        "return 1 + 1",
        "const two: number = await Promise.resolve(2); return two",
        "```ts\nreturn 2\n```",
        "```\nconst x: number = 2\nreturn x\n```\n",
        "\n\n```typescript\nreturn 2\n```",
        "export default 2",
        "export default 2 as number",
        "export default async function main(): Promise<number> { return 2 }",
        "export default async function () { return 2 }",
        "export default function () { return 2 }\nconst unused = 1",
        "export default async () => { return 2 }",
        "export default async () => 2;",
        "export default (async () => 2)",
        "const helper = () => 2;\nexport default () => helper()",
        "const answer = 2\nexport default answer",
        "async () => 2",
        "async () => { return 2 };",
        "(async () => { return 2 })",
        "(async () => { return 2 })()",
        "async function main() { return 2 }",
        "function main(): number { return 2 }",
        "async function main(n = 2) { return n }",
        "// a comment first\nasync () => 2 // and one last",
        "interface Unused { a: string }\nasync () => 2",
        "1 + 1",
        "export const unused = 1; export type T = string; return 2",
        "const x = 2; export { x }\nreturn x",
        "\ufeffreturn 2",
        "return 2 // no newline after this",
        "return (\n2\n)",
    ],
)
async def test_every_usual_shape_of_a_program_gives_its_value(runtime: TypeScriptRuntime, code: str) -> None:
    assert await value_of(runtime, code) == 2


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("const a = 1; a + 1", 2),
        ("const a = 1\na + 1 // two", 2),
        ("const a: number = 1;\n\na + 1;\n// the end", 2),
        ("async function main() { return 2 }\nmain()", 2),
        ("const main = async () => { return 2 };\nawait main();", 2),
        ("main()\nasync function main() { return 2 }\nfunction other() { return 3 }", 2),
        ("const list = [1, 2];\nlist.map((n) => { return n * 2 })", [2, 4]),
        ("const o = { a: 1 };\n({ ...o, b: [2] } as any)", {"a": 1, "b": [2]}),
        ("const a = 1\nif (a > 1) return 'early';\n`${a}`", "1"),
        ("const a = 3\nif (a > 1) return 'early'\na", "early"),
        ("console.log('x'); Promise.resolve({ ok: true })", {"ok": True}),
        ("const a = 1; a, a + 1", 2),
        ("let a = 1; a = 2", None),
        ("const a = 1; if (a) { a }", None),
        ("const a = 1", None),
    ],
)
async def test_a_last_expression_is_the_result(runtime: TypeScriptRuntime, code: str, value: object) -> None:
    assert await value_of(runtime, code) == value


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("const a = 1; b.c", 1, 14),
        ("const a: number = 1;\n  b.c", 2, 3),
        ("const a = 1;\nf();\nfunction f() {\n  b.c }", 4, 3),
    ],
)
async def test_an_error_in_a_last_expression_is_where_the_user_wrote_it(
    runtime: TypeScriptRuntime, code: str, line: int, column: int
) -> None:
    failure = await failure_of(runtime, code)
    assert (failure.details["line"], failure.details["column"]) == (line, column)


@pytest.mark.parametrize(
    "code",
    [
        "async (tools) => await tools.a.b({})",
        "async tools => await tools.a.b({})",
        "async ({ tools }) => await tools.a.b({})",
        "export default async function main({ tools }: { tools: any }) { return await tools.a.b({}) }",
        "export default async (tools: any) => await tools.a.b({})",
    ],
)
async def test_a_program_that_names_tools_as_its_parameter_gets_them(runtime: TypeScriptRuntime, code: str) -> None:
    assert await outcome(runtime, code, {"a.b": lambda _: 7}) == 7


@pytest.mark.parametrize("code", ["", "// nothing", "const x = 1", "return", "return undefined", "type A = string"])
async def test_a_program_without_a_value_gives_null(runtime: TypeScriptRuntime, code: str) -> None:
    assert await value_of(runtime, code) is None


@pytest.mark.parametrize(("code", "line", "column"), [*SYNTAX_ERRORS, ("() => {\n  let = = 1\n}", 2, 7)])
async def test_a_syntax_error_tells_the_line_and_column_as_submitted(
    runtime: TypeScriptRuntime, code: str, line: int, column: int
) -> None:
    failure = await failure_of(runtime, code)
    assert (failure.code, failure.details) == ("syntax_error", {"line": line, "column": column})


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("const a = 1;\nenum Color { Red }", 2, "enum"),
        ("const enum Color { Red }", 1, "enum"),
        ("namespace A { export const x = 1 }", 1, "namespace"),
        ("class A {\n  constructor(private x: number) {}\n}", 2, "parameter properties"),
        ("class A { constructor(readonly x: number) {} }", 1, "parameter properties"),
        ('import fs from "fs"', 1, "import"),
        ('import "fs"', 1, "import"),
        ('const fs = await import("fs")', 1, "import()"),
        ('export * from "fs"', 1, "export"),
    ],
)
async def test_what_cannot_run_here_is_refused_with_its_place_and_a_hint(
    runtime: TypeScriptRuntime, code: str, line: int, word: str
) -> None:
    failure = await failure_of(runtime, code)
    assert failure.code == "syntax_error"
    assert failure.message.startswith(word)
    assert failure.details["line"] == line
    assert failure.hint


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ('throw new TypeError("no")', 1),
        ('const x: number = 1;\n\nthrow new TypeError("no")', 3),
        ('```ts\nfunction f(a: string): never {\n  throw new TypeError("no")\n}\nf("x")\n```', 3),
        ('export default async () => {\n  throw new TypeError("no")\n}', 2),
        ('async () => {\n  await null;\n  throw new TypeError("no")\n}', 3),
        ('setTimeout(() => {\n  throw new TypeError("no")\n}, 0)\nawait new Promise(() => {})', 2),
    ],
)
async def test_an_uncaught_error_tells_the_line_as_submitted(runtime: TypeScriptRuntime, code: str, line: int) -> None:
    failure = await failure_of(runtime, code)
    assert (failure.code, failure.message) == ("code_error", "TypeError: no")
    assert failure.details["name"] == "TypeError"
    assert failure.details["line"] == line
    assert f"main.ts:{line}:" in failure.details["stack"]


async def test_columns_of_the_first_line_are_those_of_the_user(runtime: TypeScriptRuntime) -> None:
    failure = await failure_of(runtime, 'const a: number = 1; throw new Error("x")')
    assert failure.details["line"] == 1
    assert failure.details["column"] == 28 + 4  # `Error` in `new Error`


async def test_only_frames_of_the_submitted_code_are_shown(runtime: TypeScriptRuntime) -> None:
    failure = await failure_of(runtime, "function outer() { [1].map(() => { throw new Error('x') }) }\nouter()")
    frames = failure.details["stack"].splitlines()[1:]
    assert frames and all("main.ts:" in frame for frame in frames)


@pytest.mark.parametrize(
    ("thrown", "shown"), [('"text"', "text"), ("null", "null"), ("42", "42"), ("{a: 1}", "{ a: 1 }")]
)
async def test_throwing_something_that_is_no_error_still_says_what(
    runtime: TypeScriptRuntime, thrown: str, shown: str
) -> None:
    failure = await failure_of(runtime, f"throw {thrown}")
    assert failure.code == "code_error"
    assert shown in failure.message


@pytest.mark.parametrize("code", ["await new Promise(() => {})", "await { then() {} }"])
async def test_a_program_that_waits_for_nothing_gets_a_clear_error(runtime: TypeScriptRuntime, code: str) -> None:
    failure = await failure_of(runtime, code)
    assert failure.code == "code_error"
    assert "deadlock" in failure.message


@pytest.mark.parametrize("name", ["fetch", "require"])
async def test_what_is_absent_says_what_to_use_instead(runtime: TypeScriptRuntime, name: str) -> None:
    failure = await failure_of(runtime, f"{name}('https://example.com')")
    assert "tools.*" in failure.message


async def test_assigning_to_an_undeclared_name_fails_as_in_a_module(runtime: TypeScriptRuntime) -> None:
    assert (await failure_of(runtime, "undeclared = 1")).details["name"] == "ReferenceError"
