# ruff: noqa: E501 - a program a line
from __future__ import annotations

import pytest

from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import first_step, logs_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('"a", 1, true, null, undefined', "a 1 true null undefined"),
        ("{a: 1, b: 'x', 'odd key': [1, 2]}", '{ a: 1, b: "x", "odd key": [ 1, 2 ] }'),
        ("new Map([['k', {v: 1n}]]), new Set([1])", 'Map(1) { "k" => { v: 1n } } Set(1) { 1 }'),
        ("(() => { const o: any = {a: 1}; o.self = o; return o })()", "{ a: 1, self: [Circular] }"),
        ("{a: {b: {c: {d: {e: {f: 1}}}}}}", "{ a: { b: { c: { d: { e: [Object] } } } } }"),
        ("new Date(0), /x/g, Symbol('s'), -0", "1970-01-01T00:00:00.000Z /x/g Symbol(s) -0"),
        ("class A {}, function f() {}, async () => 1", "[class A] [Function: f] [AsyncFunction]"),
        ("new (class Point { x = 1 })()", "Point { x: 1 }"),
        ("Array.from({length: 150}, (_, i) => i).length, []", "150 []"),
        ("new Uint8Array([1, 2]), Promise.resolve(1)", "Uint8Array(2) [ 1, 2 ] Promise {}"),
        ("tools.a.b, tools", "[tool a.b] [tool ]"),
        ('"%s is %d%%", "half", 50', "half is 50%"),
        ('"100%", 1', "100% 1"),
        ("{ get a() { throw 1 } }", "{ a: [Getter] }"),
        ("new Proxy({}, { ownKeys() { throw 1 } })", "[a value that can't be shown]"),
        ("Object.create(null)", "[null prototype] {}"),
    ],
)
async def test_values_are_shown_readably(runtime: TypeScriptRuntime, arguments: str, line: str) -> None:
    assert await logs_of(runtime, f"console.log({arguments}); return 1") == [line]


async def test_an_error_is_shown_with_its_place(runtime: TypeScriptRuntime) -> None:
    (line,) = await logs_of(runtime, "const a: number = 1\nconsole.error(new TypeError('no')); return 1")
    assert line.startswith("TypeError: no\n")
    assert "main.ts:2:" in line


async def test_levels_are_kept(runtime: TypeScriptRuntime) -> None:
    code = "for (const level of ['debug', 'log', 'info', 'warn', 'error']) console[level](level); return 1"
    step = await first_step(runtime, code)
    assert [(log.level, log.text) for log in step.logs] == [
        (level, level) for level in ("debug", "log", "info", "warn", "error")
    ]


async def test_the_lesser_used_methods_work(runtime: TypeScriptRuntime) -> None:
    code = """
    console.group("g"); console.log("in"); console.groupEnd(); console.count(); console.count();
    console.assert(false, "must hold"); console.assert(true, "unseen"); console.table([1]); console.time(); console.timeEnd();
    return 1"""
    assert await logs_of(runtime, code) == [
        "g",
        "  in",
        "default: 1",
        "default: 2",
        "Assertion failed: must hold",
        "[ 1 ]",
        "default: 0ms",
    ]


async def test_logs_over_the_limit_are_dropped_with_one_warning_and_the_code_goes_on(
    runtime: TypeScriptRuntime,
) -> None:
    code = "for (let i = 0; i < 10000; i++) console.log('x'.repeat(100)); return 'done'"
    step = await first_step(runtime, code, log_bytes=1000)
    assert step.value == '"done"'
    assert step.logs[-1].level == "warn"
    assert "log limit" in step.logs[-1].text
    assert len(step.logs) < 12


async def test_logs_before_an_endless_loop_are_seen(runtime: TypeScriptRuntime) -> None:
    step = await first_step(runtime, "console.log('before'); for (;;);", cpu_ms=200)
    assert step.failure is not None
    assert step.failure.code == "cpu_limit"
    assert [log.text for log in step.logs] == ["before"]
