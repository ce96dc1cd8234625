"""Values that JSON has no form for: a result has them in a plain form, a call refuses what would change its meaning."""

from __future__ import annotations

import json

import pytest

from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import Failed, drive, failure_of, first_step, logs_of, outcome, value_of
from tests.runtime.test_hostile import POLLUTION

pytestmark = pytest.mark.asyncio(loop_scope="session")
MAP = 'new Map([["a", 1], ["b", new Map([["c", 2]])]])'
ERROR = {"name": "TypeError", "message": "no", "cause": {"name": "Error", "message": "why"}}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (MAP, {"a": 1, "b": {"c": 2}}),
        ('new Map<any, any>([[1, "one"], ["1", "text"]])', [[1, "one"], ["1", "text"]]),
        ("new Map([[{ id: 1 }, new Set([2])]])", [[{"id": 1}, [2]]]),
        ('new Map([["__proto__", 1]])', {"__proto__": 1}),
        ("new Map()", {}),
        ("{ deep: [new Set([3, 1, 2])] }", {"deep": [[3, 1, 2]]}),
        ('new TypeError("no", { cause: new Error("why") })', ERROR),
        (
            'Object.assign(new Error("x"), { code: "E1", at: new Date(0) })',
            {"name": "Error", "message": "x", "code": "E1", "at": "1970-01-01T00:00:00.000Z"},
        ),
        (
            'new AggregateError([new Error("a")], "all")',
            {"name": "AggregateError", "message": "all", "errors": [{"name": "Error", "message": "a"}]},
        ),
        (
            'await Promise.allSettled([1, Promise.reject(new RangeError("far"))])',
            [
                {"status": "fulfilled", "value": 1},
                {"status": "rejected", "reason": {"name": "RangeError", "message": "far"}},
            ],
        ),
        ("[1, NaN, Infinity, -Infinity]", [1, "NaN", "Infinity", "-Infinity"]),
        ("{ rate: 0 / 0, list: [{ n: 1 / 0 }] }", {"rate": "NaN", "list": [{"n": "Infinity"}]}),
        ("[1, undefined, 3]", [1, None, 3]),
        ("[2n ** 70n, { id: 9007199254740993n }]", ["1180591620717411303424", {"id": "9007199254740993"}]),
        ("[new Date(0), new Date(NaN)]", ["1970-01-01T00:00:00.000Z", "Invalid Date"]),
        ("new Uint8Array([1, 2, 255])", [1, 2, 255]),
        ("[new Float32Array([0.5, NaN]), new BigUint64Array([5n])]", [[0.5, "NaN"], ["5"]]),
        ("[new Uint8Array([7]).buffer, new DataView(new Uint8Array([8, 9]).buffer, 1)]", [[7], [9]]),
        ("/a+/gi", "/a+/gi"),
        ('[new URL("https://a.b/c"), new URLSearchParams({ q: "x y" })]', ["https://a.b/c", "q=x+y"]),
        ("[Object(1), Object(NaN), Object('s')]", [1, "NaN", "s"]),
        ("{ toJSON: () => new Map([['m', NaN]]) }", {"m": "NaN"}),
        ("new (class Row { id = 1; tags = new Set(['x']) })()", {"id": 1, "tags": ["x"]}),
    ],
)
async def test_a_result_has_a_plain_form_of_what_json_would_lose(
    runtime: TypeScriptRuntime, written: str, expected: object
) -> None:
    assert await value_of(runtime, f"const one: number = 1; return {written}") == expected


async def test_a_returned_tool_error_has_all_its_fields(runtime: TypeScriptRuntime) -> None:
    def refuse(_: object) -> None:
        raise Failed({"code": "upstream_error", "message": "gone", "status": 404, "hint": "look"})

    code = "try { await tools.a.b() } catch (error) { return { error } }"
    assert await outcome(runtime, code, {"a.b": refuse}) == {
        "error": {
            "name": "ToolError",
            "message": "gone",
            "code": "upstream_error",
            "status": 404,
            "details": None,
            "retryable": False,
            "hint": "look",
        }
    }


@pytest.mark.parametrize(
    ("written", "path", "words"),
    [
        ("[1, 2].map(async (n) => n)", "$[0]", "Promise.all"),
        ("{ a: tools.x.y({}) }", "$.a", "await"),
        ("new Map([['a', 1]]).keys()", "$", "[...value]"),
        ("{ g: (function* () { yield 1 })() }", "$.g", "[...value]"),
        ("(async function* () { yield 1 })()", "$", "for await"),
        ("new Map([['w', new WeakMap()]])", "$.w", "Map"),
        ("new Set([() => 1])", "$[0]", "call it"),
        ("(() => { const m = new Map(); m.set('self', [m]); return m })()", "$.self[0]", "plain data"),
    ],
)
async def test_what_has_no_plain_form_is_refused_with_what_to_write(
    runtime: TypeScriptRuntime, written: str, path: str, words: str
) -> None:
    failure = await failure_of(runtime, f"const one: number = 1; return {written}")
    assert (failure.code, failure.details["path"]) == ("unserializable_result", path)
    assert words in failure.hint


@pytest.mark.parametrize(
    ("argument", "sent"),
    [
        (MAP, {"a": 1, "b": {"c": 2}}),
        ("{ ids: new Set([1, 2]), at: new Date(0) }", {"ids": [1, 2], "at": "1970-01-01T00:00:00.000Z"}),
        ("{ bytes: new Uint8Array([1]), none: undefined }", {"bytes": [1]}),
        ('{ why: new Error("x") }', {"why": {"name": "Error", "message": "x"}}),
    ],
)
async def test_an_argument_has_a_plain_form_of_what_json_would_lose(
    runtime: TypeScriptRuntime, argument: str, sent: object
) -> None:
    (proposal,) = (await first_step(runtime, f"return await tools.a.b({argument})")).proposals
    assert json.loads(proposal.arguments) == sent


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("{ amount: Number('x') }", "$.amount is NaN"),
        ("{ a: [{ b: 1 / 0 }] }", "$.a[0].b is Infinity"),
        ("{ ids: [1, undefined] }", "$.ids[1] is undefined"),
        ("{ ids: new Set([undefined]) }", "$.ids[0] is undefined"),
        ("{ at: new Date('soon') }", "$.at is an invalid Date"),
        ("{ id: 5n }", "$.id is a BigInt"),
        ("{ of: Promise.resolve(1) }", "$.of is a Promise"),
        ("{ of: new Map([[1, 2]]).values() }", "$.of is an iterator"),
        ("new Map([[1, 2]])", "written as something else"),
    ],
)
async def test_a_call_refuses_a_value_that_would_change_its_meaning(
    runtime: TypeScriptRuntime, argument: str, words: str
) -> None:
    step = await first_step(runtime, f"const one: number = 1; await tools.a.b({argument})")
    assert step.proposals == ()
    assert step.failure is not None
    assert words in step.failure.message


async def test_the_console_shows_values_as_what_they_are(runtime: TypeScriptRuntime) -> None:
    code = "console.log(new Map([['a', NaN]]), new Set([5n]), [undefined], new Uint8Array([1]), new Date(NaN))"
    assert await logs_of(runtime, code) == [
        'Map(1) { "a" => NaN } Set(1) { 5n } [ undefined ] Uint8Array(1) [ 1 ] Invalid Date'
    ]


async def test_a_large_map_is_bounded(runtime: TypeScriptRuntime) -> None:
    code = "const m = new Map(); for (let i = 0; i < 5e4; i++) m.set('k' + i, i); return m"
    assert (await failure_of(runtime, code, output_bytes=100_000)).code == "output_limit"
    wide = "let m: any = new Set([1]); for (let i = 0; i < 60; i++) m = new Map([['a', m], ['b', m]]); return m"
    assert (await failure_of(runtime, wide, output_bytes=100_000)).code == "output_limit"


async def test_a_call_made_while_a_result_is_read_does_not_disturb_it(runtime: TypeScriptRuntime) -> None:
    code = """
    const nosy = { get a() { tools.a.b({ n: 1, bad: NaN }).catch(() => {}); tools.a.b({ n: [1, 2] }); return NaN } };
    return { first: nosy, rest: [nosy, 0 / 0, new Set([1])] }"""
    expected = {"first": {"a": "NaN"}, "rest": [{"a": "NaN"}, "NaN", [1]]}
    assert await value_of(runtime, code) == expected


async def test_polluted_prototypes_do_not_reach_a_conversion(runtime: TypeScriptRuntime) -> None:
    code = (
        "const m = new Map([['a', NaN]]);"
        + POLLUTION
        + "Map.prototype.forEach = Set.prototype.forEach = Reflect.getPrototypeOf = bad;"
        + "await tools.a.b({ m: 1 }); return m"
    )
    steps = await drive(runtime, code, {"a.b": lambda _: 1})
    assert steps[-1].value == '{"a":"NaN"}'
