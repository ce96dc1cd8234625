"""What keeps TypeScript from running, what only warns, and what says nothing at all."""

from __future__ import annotations

import pytest

from tests.checking.conftest import CheckerHarness


async def test_a_wrong_argument_is_an_error_at_its_place_with_the_right_signature(checks: CheckerHarness) -> None:
    (error,) = await checks.errors("const a = 1;\nreturn await tools.ledger.entries.addEntry({key: 5})")
    assert (error.line, error.column, error.end_line, error.end_column) == (2, 45, 2, 48)
    assert "'number' is not assignable to type 'string'" in error.message
    assert error.tool == "ledger.entries.addEntry"
    assert "addEntry(args: { key: string; amount?: number; })" in error.signature


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('return await tools.ledger.entries.addEntry({key: "a", amout: 5})', "amout"),
        ("return await tools.ledger.entries.addEntry({amount: 5})", "key is required"),
        ("return await tools.ledger.entries.addEntry()", "Expected 1 arguments"),
        ('const e = tools.ledger.entries;\nreturn await e.addEntry({key: "a", amount: "x"})', "'string'"),
        ("const {ledger: l} = tools; return await l['entries'].addEntry({key: 1})", "'number'"),
        ("const n = 5; return await tools.ledger.entries.addEntry({key: n})", "'number'"),
        ("const args = {amount: 1}; return await tools.ledger.entries.addEntry(args)", "key"),
        ("const base = {amount: 1}; return await tools.ledger.entries.addEntry({...base, key: 3})", "'number'"),
        ("async ({tools}) => await tools.ledger.entries.addEntry({key: 1})", "'number'"),
        ("export default async function main(tools) { await tools.ledger.entries.addEntry({key: 1}) }", "'number'"),
        ("// @ts-nocheck\nreturn await tools.ledger.entries.addEntry({key: 1})", "'number'"),
        ("return await Promise.all([1].map((i) => tools.ledger.entries.listEntries({key: i})))", "'number'"),
        ("```ts\nreturn await tools.ledger.entries.addEntry({key: 1})\n```", "'number'"),
        ("return await tools.discover({query: 5})", "'number'"),
        ('return await tools.ledger.entries.addEntry("a")', "'string'"),
    ],
)
async def test_arguments_that_would_be_refused_are_errors(checks: CheckerHarness, code: str, said: str) -> None:
    (error,) = await checks.errors(code)
    assert said in error.message


async def test_an_unknown_tool_is_an_error_that_names_the_nearest(checks: CheckerHarness) -> None:
    (error,) = await checks.errors("return await tools.ledger.entries.addEntri({key: 'a'})")
    assert (error.code, error.column, error.end_column) == ("unknown_tool", 35, 43)
    assert "ledger.entries.addEntry" in error.hint


@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_a_group_of_tools_is_no_tool(checks: CheckerHarness, language: str) -> None:
    (error,) = await checks.errors("await tools.ledger.entries()", language)
    assert (error.code, error.tool) == ("unknown_tool", "ledger.entries")


async def test_an_unknown_tool_is_found_behind_another_name(checks: CheckerHarness) -> None:
    (error,) = await checks.errors("const {ledger} = tools; return ledger.entries.addEntri({key: 'a'})")
    assert error.tool == "ledger.entries.addEntri"


@pytest.mark.parametrize(
    "code",
    [
        "return await tools.ledger.entries.addEntry({key: 'a', amount: 1})",
        "return await tools.ledger.entries.addEntry({body: {key: 'a'}})",
        "const made = await tools.ledger.entries.addEntry({key: 'a'}); return made.anything.at.all",
        "const args: any = {}; args.key = 1; return await tools.ledger.entries.addEntry(args)",
        "const ns = 'ledger'; return await tools[ns].entries.listEntries({key: 'a'})",
        "for (const one of ['a']) await tools.ledger.entries.removeEntry({key: one})",
        "function f(tools) { return tools.nope.x() } return f({nope: {x: () => 1}})",
        "const tools: any = {nope: () => 1}; return await tools.nope()",
        "// tools.nope.there()\nreturn 'tools.nope.there()'",
        "// @ts-ignore\nreturn await tools.ledger.entries.addEntry({key: 1})",
        "import('x'); return await tools.ledger.entries.listEntries()",
        "return await tools.ledger.entries.listEntries({key: '😀' as any, })",
        "let x = null; if (Date.now()) x = 'a'; return await tools.ledger.entries.listEntries({key: x})",
    ],
)
async def test_code_that_may_be_right_is_never_an_error(checks: CheckerHarness, code: str) -> None:
    assert await checks.errors(code) == []


@pytest.mark.parametrize(
    "code",
    [
        "const args = {}; args.key = 'x'; return await tools.ledger.entries.addEntry(args)",
        "let s: string | undefined; if (Date.now()) s = 'x'; return await tools.ledger.entries.removeEntry({key: s})",
        "try { await tools.ledger.entries.addEntry({key: 1}) } catch (e) { return e.code }",
        "return await tools.ledger.entries.addEntri({key: 'a'}).catch((e) => e.code)",
        "return await Promise.allSettled([tools.ledger.entries.addEntry({key: 1})])",
        "await tools.executor.sources.add({url: 'http://x', namespace: 'brand'}); return await tools.brand.fresh({})",
        "const made = await tools.ledger.entries.addEntry({key: 'a'}); const n: number = 'x'; return made",
    ],
)
async def test_what_stays_in_doubt_is_a_warning(checks: CheckerHarness, code: str) -> None:
    assert await checks.warnings(code)


async def test_code_that_names_no_tool_is_not_checked(checks: CheckerHarness) -> None:
    assert await checks.warnings("const n: number = 'x'; return n") == []
    assert checks.checker.typescript.pid == 0


async def test_broken_syntax_is_left_to_the_sandbox(checks: CheckerHarness) -> None:
    assert await checks.warnings("return await tools.ledger.entries.addEntry({key: 5,") == []


async def test_columns_count_characters_also_behind_an_emoji(checks: CheckerHarness) -> None:
    code = "const s = '😀'; return await tools.ledger.entries.addEntry({key: 5})"
    (error,) = await checks.errors(code)
    assert error.column == code.index("key") + 1


async def test_what_the_sandbox_offers_is_known(checks: CheckerHarness) -> None:
    code = """
    const url = new URL("https://x.example/?a=1"); console.log(url.searchParams.get("a"), atob(btoa("x")));
    setTimeout(() => console.warn(crypto.randomUUID()), 10); structuredClone({}); new TextEncoder().encode("x");
    const stop = new AbortController(); stop.abort(); performance.now(); queueMicrotask(() => {});
    try { await tools.ledger.entries.listEntries() } catch (e) { if (e instanceof ToolError) return e.retryable }
    """
    assert await checks.warnings(code) == []
