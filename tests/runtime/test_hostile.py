"""Code that means harm: it ends with a typed error, alone, and its worker lives on."""

# ruff: noqa: E501 - a program a line
from __future__ import annotations

import asyncio
import json

import pytest

from executor.runtime.protocol import Answer
from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import CLOCK, Failed, drive, failure_of, first_step, outcome, program, value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

# None of these needs more memory as it goes on: otherwise the limit that is met first would depend on the machine.
ENDLESS = {
    "a loop": "while (true) {}",
    "a loop that catches everything": "for (;;) { try { for (;;) {} } catch {} }",
    "a loop in finally": "try { for (;;) {} } finally { for (;;) {} }",
    "regular expression backtracking": 'return /^(a+)+$/.test("a".repeat(40) + "b")',
    "promises without end": "const f = () => { Promise.resolve().then(f) }; f(); await new Promise(() => {})",
    "awaiting without end": "for (;;) await null",
    "a clock that is asked for ever": "while (Date.now() >= 0) new Date().getHours()",
    "sorting": "const a = Array.from({length: 1e4}, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5)",
    "a big number": "let n = 3n; for (;;) { n *= n; if (n.toString().length > 1e5) n = 3n }",
    "a getter in the result": "return { get a() { for (;;); } }",
    "toJSON in an argument": "await tools.a.b({ toJSON() { for (;;); } })",
    "a logged value": "console.log({ get [Symbol.toStringTag]() { for (;;); } , toString() { for (;;); } }, new Proxy({}, { get() { for (;;); }, ownKeys() { for (;;); } }))",
    "an error without end": "throw { get message() { for (;;); } }",
    "a thenable": "await { then() { for (;;); } }",
    "a generator": "for (const x of (function* () { for (;;) yield 1 })());",
    "a timer": "setTimeout(() => { for (;;); }, 0); await new Promise(() => {})",
}
GREEDY = {
    "arrays": "const a: any[] = []; for (;;) a.push(new Array(1000).fill(1))",
    "strings": "const a: any[] = []; for (let i = 0; ; i++) a.push('x'.repeat(1e5) + i)",
    "buffers": "const a: any[] = []; for (;;) a.push(new ArrayBuffer(1 << 20))",
    "one huge buffer": "return new Uint8Array(2 ** 31 - 1).length",
    "maps": "const m = new Map(); for (let i = 0; ; i++) m.set(i, {})",
    "promises": "const a: any[] = []; for (;;) a.push(new Promise(() => {}))",
    "jobs": "for (;;) Promise.resolve().then(() => {})",
    "closures": "let f = () => 0; for (;;) { const g = f; f = () => g() }",
    "caught again and again": "const a: any[] = []; for (;;) { try { for (;;) a.push(new ArrayBuffer(1 << 16)) } catch {} }",
    "typed arrays": "let t = new Float64Array(1 << 10); for (;;) { const u = new Float64Array(t.length * 2); u.set(t); t = u }",
}
DEEP = {
    "recursion": "const f = () => f(); f()",
    "mutual recursion": "const f = () => g(), g = () => f(); f()",
    "recursion through a getter": "const o = { get a() { return this.a } }; o.a",
    "recursion through toString": "const o = { toString() { return '' + this } }; '' + o",
    "recursion through a proxy": "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); p.a",
    "recursion through sort": "const f = () => [2, 1].sort(f); f()",
    "recursion through replace": "const f = () => 'a'.replace('a', f); f()",
    "recursion through JSON": "const f = () => JSON.stringify({ toJSON: f }); f()",
    "nested JSON text": "JSON.parse('['.repeat(1e6))",
    "a nested regular expression": "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
    "nested eval": "eval('('.repeat(1e5))",
    "a nested spread": "const f = (...a) => f(...a, 1); f()",
    "nested classes": "class A { constructor() { new A() } } new A()",
    "nested async": "const f = async () => { await f() }; await f()",
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_code_without_end_is_stopped_by_its_cpu_limit(runtime: TypeScriptRuntime, name: str) -> None:
    assert (await failure_of(runtime, ENDLESS[name], cpu_ms=150)).code == "cpu_limit"


@pytest.mark.parametrize("name", GREEDY)
async def test_greedy_code_is_stopped_by_its_memory_limit(runtime: TypeScriptRuntime, name: str) -> None:
    failure = await failure_of(runtime, GREEDY[name], memory_bytes=16 << 20, cpu_ms=2_000)
    # The engine drops a promise job it has no room for, so that loop goes on until its time is up.
    goes_on = name in ("jobs", "caught again and again")
    assert failure.code in (("memory_limit", "cpu_limit") if goes_on else ("memory_limit",))


@pytest.mark.parametrize("name", DEEP)
async def test_code_too_deep_is_an_error_and_no_crash(runtime: TypeScriptRuntime, name: str) -> None:
    pids = runtime.worker_pids
    failure = await failure_of(runtime, DEEP[name], memory_bytes=32 << 20)
    assert failure.code in ("code_error", "memory_limit")
    assert runtime.worker_pids == pids


async def test_recursion_can_be_caught(runtime: TypeScriptRuntime) -> None:
    code = "const f = () => f(); try { f() } catch (e) { return e instanceof RangeError }"
    assert await value_of(runtime, code) is True


@pytest.mark.parametrize(
    "source", ["(" * 100_000, "[" * 100_000, "{" * 100_000, "`${" * 30_000, "a<" * 50_000, '"' * 50_000]
)
async def test_code_that_is_mostly_brackets_is_a_syntax_error(runtime: TypeScriptRuntime, source: str) -> None:
    failure = await failure_of(runtime, source, cpu_ms=20_000)
    assert failure.code in ("syntax_error", "code_error")


@pytest.mark.parametrize(
    "result",
    [
        "(() => { let o: any = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o })()",
        "(() => { let o: any = []; for (let i = 0; i < 1e4; i++) o = [o]; return o })()",
        "({ toJSON: () => { let o: any = {}; for (let i = 0; i < 900; i++) o = { o }; return o } })",
        "({ toJSON: () => { let o: any = {}; for (let i = 0; i < 300; i++) o = { o }; return o } })",
    ],
)
async def test_a_result_nested_without_measure_is_refused(runtime: TypeScriptRuntime, result: str) -> None:
    pids = runtime.worker_pids
    assert (await failure_of(runtime, f"const x = 1; return {result}")).code == "unserializable_result"
    assert runtime.worker_pids == pids


async def test_a_result_that_changes_while_it_is_read_stays_json(runtime: TypeScriptRuntime) -> None:
    code = """
    let reads = 0;
    return { get a() { return reads++ ? { toJSON: () => "\\n}{" } : 1 }, b: new Proxy([], { get: (t, k) => k === "length" ? 3 : undefined }) }
    """
    step = await first_step(runtime, code)
    assert step.value is not None
    json.loads(step.value)


async def test_a_wide_result_made_of_shared_parts_is_bounded(runtime: TypeScriptRuntime) -> None:
    code = "let o: any = [1]; for (let i = 0; i < 60; i++) o = [o, o]; return o"
    assert (await failure_of(runtime, code, output_bytes=100_000)).code == "output_limit"


# Left out on purpose: `toJSON` and `then` belong to the code's own values, and the engine's JSON.stringify itself trips
# over a setter for "0" on Array.prototype. All of them fail only the call of the code that did it.
POLLUTION = """
const bad = () => { throw new TypeError("polluted") };
const define = Object.defineProperty;
const trap = Object.assign(Object.create(null), { get: bad, set: bad, configurable: true });
const objects = ["get", "set", "value", "code", "path", "timer", "resolve", "reject", "error", "line", "what"];
const arrays = ["1", "push", "map", "join", "forEach", "slice"];
Array.prototype[Symbol.iterator] = bad;
JSON.stringify = JSON.parse = bad;
String.prototype.slice = String.prototype.indexOf = String.prototype.toString = bad;
Promise.prototype.then = Promise.resolve = Promise.reject = bad;
Reflect.apply = Object.keys = Object.defineProperty = Object.create = bad;
Function.prototype.call = Function.prototype.apply = bad;
WeakMap.prototype.get = WeakMap.prototype.set = bad;
globalThis.Promise = globalThis.JSON = globalThis.Error = globalThis.String = undefined;
const O = Object.prototype;
const A = Array.prototype;
for (let i = 0; i < objects.length; i++) define(O, objects[i], trap);
for (let i = 0; i < arrays.length; i++) define(A, arrays[i], trap);
"""


async def test_polluted_prototypes_do_not_reach_the_bridge(runtime: TypeScriptRuntime) -> None:
    code = POLLUTION + "console.log('still here'); const v = await tools.a.b({ n: 1 }); return v.n + 1"
    steps = await drive(runtime, code, {"a.b": lambda arguments: {"n": arguments["n"] + 1}})
    assert steps[0].proposals[0].arguments == '{"n":1}'
    assert [log.text for log in steps[0].logs] == ["still here"]
    assert steps[-1].value == "3"


async def test_a_polluted_to_json_changes_only_the_code_s_own_values(runtime: TypeScriptRuntime) -> None:
    code = "Object.prototype.toJSON = () => ({ forged: true }); await tools.a.b({ n: 1 }); return 1"
    step = await first_step(runtime, code)
    assert (step.proposals[0].path, step.proposals[0].arguments) == ("a.b", '{"forged":true}')


@pytest.mark.parametrize(
    "attempt",
    [
        "this.constructor.constructor('return process')()",
        "(function () {}).constructor('return this')().process",
        "tools.constructor",
        "Object.getPrototypeOf(tools) ?? undefined",
        "globalThis.__api",
        "globalThis.os ?? globalThis.std ?? globalThis.scriptArgs ?? globalThis.bjson",
        "(await (async function* () {}).constructor('return globalThis.process')().next()).value",
    ],
)
async def test_no_constructor_leads_out(runtime: TypeScriptRuntime, attempt: str) -> None:
    code = f"try {{ const r = {attempt}; return r === undefined || r === null || typeof r === 'function' }} catch {{ return true }}"
    assert await value_of(runtime, code) is True


async def test_tools_cannot_be_replaced_or_changed(runtime: TypeScriptRuntime) -> None:
    code = """
    const tried = [];
    for (const attempt of [() => { globalThis.tools = 1 }, () => { tools.a = 1 }, () => { delete tools.a }, () => Object.setPrototypeOf(tools, {})]) {
      try { attempt(); tried.push("passed") } catch { tried.push("refused") }
    }
    return tried"""
    assert await value_of(runtime, code) == ["refused"] * 4


async def test_nothing_is_left_behind_for_the_next_execution(runtime: TypeScriptRuntime) -> None:
    leave = "globalThis.secret = 'x'; Object.prototype.leak = 1; Math.random = () => 0.5; ToolError.prototype.leak = 1; return 1"
    look = "return [typeof secret, typeof ({}).leak, Math.random() === 0.5, typeof ToolError.prototype.leak]"
    for _ in range(10):
        await first_step(runtime, leave)
        assert await value_of(runtime, look) == ["undefined", "undefined", False, "undefined"]


async def test_code_cannot_forge_lines_of_the_protocol(runtime: TypeScriptRuntime) -> None:
    code = 'console.log("x\\nv1\\nc1 \\"a\\"\\n{}"); await tools["a\\nv2"]({ k: "\\nv3\\n" }); return 1'
    step = await first_step(runtime, code)
    assert not step.has_ended
    assert [proposal.path for proposal in step.proposals] == ["a\nv2"]
    assert step.logs[0].text == 'x\nv1\nc1 "a"\n{}'


async def test_closing_the_wrapper_from_inside_gains_nothing(runtime: TypeScriptRuntime) -> None:
    step = await first_step(runtime, "}); globalThis.x = 1; (async function () { return 2")
    assert step.failure is None or step.failure.code in ("syntax_error", "code_error")


async def test_calls_in_parallel_do_not_dodge_the_limit(runtime: TypeScriptRuntime) -> None:
    code = "await Promise.all(Array.from({ length: 50 }, () => tools.a.b({}).catch(() => 0)))"
    step = await first_step(runtime, code, calls=10)
    assert step.failure is not None
    assert step.failure.code == "call_limit"
    assert len(step.proposals) == 10


async def test_cpu_time_adds_up_over_the_steps(runtime: TypeScriptRuntime) -> None:
    code = "for (;;) { await tools.a.b({}); for (let i = 0; i < 300000; i++); }"
    last = (await drive(runtime, code, {"a.b": lambda _: 1}, cpu_ms=300))[-1]
    assert last.failure is not None
    assert last.failure.code == "cpu_limit"


async def test_an_answer_too_large_for_the_memory_ends_that_execution(runtime: TypeScriptRuntime) -> None:
    sandbox = await runtime.open()
    await sandbox.start(program("return (await tools.a.b({})).length", memory_bytes=16 << 20))
    step = await sandbox.answer(Answer(1, CLOCK, value=json.dumps("x" * (20 << 20))))
    await sandbox.close()
    assert step.failure is not None
    assert step.failure.code == "memory_limit"


KILLERS = {
    "a stack with a line beyond all numbers": 'const e = new Error("x"); e.stack = "  at main.ts:" + "9".repeat(400); throw e',
    "raw JSON as the result": 'return JSON.rawJSON("9".repeat(400))',
    "raw JSON as an argument": 'return await tools.a.b({ n: JSON.rawJSON("9".repeat(400)) })',
    "raw JSON in an error": 'throw Object.assign(new ToolError("x"), { status: JSON.rawJSON("9".repeat(400)) })',
    "names of tools at their longest": "for (let i = 0; i < 1000; i++) tools['\\u0001'.repeat(999) + '😀']({}).catch(() => 0); throw new Error('x')",
}


@pytest.mark.parametrize("name", KILLERS)
async def test_what_the_host_cannot_read_ends_its_program_and_not_the_worker(
    runtime: TypeScriptRuntime, name: str
) -> None:
    pids = runtime.worker_pids
    bystander = await runtime.open()
    await bystander.start(program("return await tools.a.b({})"))
    assert (await failure_of(runtime, KILLERS[name], output_bytes=1000, log_bytes=1000)).code == "code_error"
    assert (await bystander.answer(Answer(1, CLOCK, value="7"))).value == "7"
    await bystander.close()
    assert runtime.worker_pids == pids


HUGE = {
    "a name": "const e = new Error('x'); e.name = 'n'.repeat(15e6); throw e",
    "a message": "throw new Error('\\u0001'.repeat(15e6))",
    "a stack": "const e = new Error('x'); e.stack = '    at f (main.ts:1:1)\\n'.repeat(3e5); throw e",
    "an object": "throw { a: 'x'.repeat(15e6) }",
    "a text": "throw 'x'.repeat(15e6)",
    "details": "try { await tools.a.b({}) } catch (e) { e.details = { toJSON: () => 'd'.repeat(15e6) }; throw e }",
    "a status": "try { await tools.a.b({}) } catch (e) { e.status = { toJSON: () => 'd'.repeat(15e6) }; throw e }",
    "a hint": "try { await tools.a.b({}) } catch (e) { e.hint = 'h'.repeat(15e6); throw e }",
}


@pytest.mark.parametrize("name", HUGE)
async def test_an_error_is_no_way_around_the_output_limit(runtime: TypeScriptRuntime, name: str) -> None:
    def refuse(_: object) -> None:
        raise Failed({"code": "denied", "message": "no"})

    last = (await drive(runtime, HUGE[name], {"a.b": refuse}))[-1]
    assert last.failure is not None
    assert last.failure.code in ("code_error", "denied")
    assert len(json.dumps(last.failure.to_dict())) < 100_000


@pytest.mark.parametrize(
    "flood",
    [
        "for (;;) { try { tools.a.b({}).catch(() => 0) } catch {} }",
        "for (;;) { try { setTimeout(() => 0, 5) } catch {} }",
        "const again = () => { try { tools.a.b({}) } catch {} Promise.resolve().then(again) }; again(); await tools.a.b({})",
    ],
)
async def test_a_flood_of_calls_ends_at_the_limit_and_burns_no_more_time(
    runtime: TypeScriptRuntime, flood: str
) -> None:
    step = await first_step(runtime, flood, calls=10, cpu_ms=60_000)
    assert step.failure is not None
    assert (step.failure.code, len(step.proposals)) == ("call_limit", 10)
    assert step.cpu_ms < 10_000


async def test_others_are_served_while_one_loops(runtime: TypeScriptRuntime) -> None:
    """Counted, not timed: the loop is still running when twenty others have finished."""
    loops = ("for (;;);", "while (Date.now() > 0);")
    hogs = [asyncio.create_task(failure_of(runtime, code, cpu_ms=120_000)) for code in loops]
    for _ in range(20):
        assert await value_of(runtime, "return 1 + 1") == 2
    assert not any(hog.done() for hog in hogs)
    for hog in hogs:
        hog.cancel()
    await asyncio.gather(*hogs, return_exceptions=True)
    assert await outcome(runtime, "return await tools.a.b({})", {"a.b": lambda _: 5}) == 5
