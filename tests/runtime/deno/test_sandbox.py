"""What is Deno's own: a process an execution, its seals and limits, V8's library, and no way out of the realm."""

# ruff: noqa: E501 - a program a line
from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from executor.errors import Busy, SandboxLost
from executor.runtime.deno import binary, probe
from executor.runtime.deno.runtime import DenoRuntime
from executor.runtime.protocol import Answer
from tests.runtime.program_driver import CLOCK, SYNTAX_ERRORS, drive, failure_of, first_step, outcome, program, value_of
from tests.runtime.test_hostile import DEEP, KILLERS

pytestmark = pytest.mark.asyncio(loop_scope="session")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")


@pytest.mark.parametrize(("code", "line", "column"), SYNTAX_ERRORS)
async def test_places_of_syntax_errors_are_those_of_the_user(
    runtime: DenoRuntime, code: str, line: int, column: int
) -> None:
    failure = await failure_of(runtime, code)
    assert (failure.code, failure.details) == ("syntax_error", {"line": line, "column": column})


async def test_places_of_errors_on_the_first_line_are_those_of_the_user(runtime: DenoRuntime) -> None:
    failure = await failure_of(runtime, 'const a: number = 1; throw new Error("x")')
    assert (failure.details["line"], failure.details["column"]) == (1, 28)


async def test_intl_is_there(runtime: DenoRuntime) -> None:
    code = """
    const price = new Intl.NumberFormat("de-DE", { style: "currency", currency: "EUR" }).format(1234.5);
    const sorted = ["z", "ä", "a"].sort(new Intl.Collator("de").compare);
    return [price.replace(/\\s/g, " "), sorted, new Intl.DateTimeFormat().resolvedOptions().timeZone]"""
    assert await value_of(runtime, code) == ["1.234,50 €", ["a", "ä", "z"], "UTC"]


async def test_heavy_computation_fits_into_the_usual_limit(runtime: DenoRuntime) -> None:
    code = "let s = 0; for (let i = 0; i < 1e8; i++) s = (s + i * 7) % 1000003; return s > 0"
    assert await value_of(runtime, code, cpu_ms=10_000) is True


CLOCKS = {
    "Date.now()": CLOCK,
    "new Date().getTime()": CLOCK,
    "new (class extends Date {})().getTime()": CLOCK,
    "new Date(5).getTime()": 5,
    "Date.parse(Date())": CLOCK,
    "new Intl.DateTimeFormat('sv').format()": "2023-11-14",
    "new Intl.DateTimeFormat('sv').formatToParts()[0].value": "2023",
    "Temporal.Now.instant().epochMilliseconds": CLOCK,
    "Temporal.Now.plainDateISO().toString()": "2023-11-14",
    "new Date(0).constructor.now()": CLOCK,
    "performance.now()": 0,
}


@pytest.mark.parametrize("clock", CLOCKS)
async def test_every_clock_is_the_host_s(runtime: DenoRuntime, clock: str) -> None:
    assert await value_of(runtime, f"return {clock}") == CLOCKS[clock]


async def test_the_same_seed_gives_the_same_random_numbers_and_another_gives_others(runtime: DenoRuntime) -> None:
    code = "return [Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))]]"
    first, again, other = [await value_of(runtime, code, seed=bytes([n]) * 16) for n in (1, 1, 2)]
    assert first == again != other


WAYS_OUT = {
    "Deno": "typeof Deno",
    "process": "typeof process",
    "WebAssembly": "typeof WebAssembly",
    "Worker": "typeof Worker",
    "SharedArrayBuffer": "typeof SharedArrayBuffer",
    "the garbage collector": "typeof WeakRef + typeof FinalizationRegistry === 'undefinedundefined' ? 'undefined' : 'there'",
    "eval": "(() => { try { return typeof eval('Deno') } catch { return 'undefined' } })()",
    "a constructor": "(() => { try { return typeof (() => {}).constructor('return Deno')() } catch { return 'undefined' } })()",
    "the error of a stack overflow": "(() => { const f = () => { try { return f() } catch (e) { return e } }; try { return typeof f().constructor.constructor('return Deno')() } catch { return 'undefined' } })()",
}


@pytest.mark.parametrize("way", WAYS_OUT)
async def test_nothing_of_the_process_is_reached(runtime: DenoRuntime, way: str) -> None:
    assert await value_of(runtime, f"return {WAYS_OUT[way]}") == "undefined"


FRAMES = """
let got = null;
const grab = (_, frames) => { got = frames; return "" };
const attempts = [
  () => { Error.prepareStackTrace = grab },
  () => { globalThis.Error = { prepareStackTrace: grab } },
  () => { Object.defineProperty(Error, "prepareStackTrace", { value: grab }) },
  () => { Object.defineProperty(globalThis, "Error", { value: { prepareStackTrace: grab } }) },
  () => { delete globalThis.Error; globalThis.Error = { prepareStackTrace: grab } },
  () => { Function.prototype.prepareStackTrace = Object.prototype.prepareStackTrace = TypeError.prepareStackTrace = grab },
  () => { Object.setPrototypeOf(globalThis, { Error: { prepareStackTrace: grab } }) },
  () => { class Own extends Error { static prepareStackTrace = grab } new Own().stack },
];
for (const attempt of attempts) {
  try { attempt() } catch {}
  try { null.x } catch (e) { String(e.stack) }
  const target = {};
  Error.captureStackTrace(target);
  String(target.stack);
}
return got === null
"""
REALM = """
const seen = new Set(), found = [];
const rootOf = (o) => { let p = o; while (Object.getPrototypeOf(p) !== null) p = Object.getPrototypeOf(p); return p };
const visit = (value, path) => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value) || value === tools) return;
  seen.add(value);
  const root = rootOf(value);
  if (root !== Object.prototype && Object.hasOwn(root, "hasOwnProperty")) found.push(path);
  visit(Object.getPrototypeOf(value), path + ".__proto__");
  for (const key of Reflect.ownKeys(value)) {
    const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key);
    for (const next of [held, get, set]) visit(next, path + "." + String(key));
  }
};
visit(globalThis, "globalThis");
for (const make of [() => null.x, () => eval("1"), () => new Array(-1), () => decodeURI("%"), () => JSON.parse("{"), () => 1n + 1]) {
  try { make() } catch (e) { visit(e, String(make)) }
}
return [seen.size > 500, found]
"""


async def test_frames_of_the_stack_are_never_handed_to_code(runtime: DenoRuntime) -> None:
    assert await value_of(runtime, FRAMES) is True


async def test_every_object_that_code_can_reach_is_of_its_own_realm(runtime: DenoRuntime) -> None:
    assert await value_of(runtime, REALM) == [True, []]


@pytest.mark.parametrize(
    "attempt",
    [
        "Promise.resolve('import(\"node:fs\")').then(eval)",
        "Promise.resolve().then(() => (0, eval)('import(\"node:fs\")'))",
        "(async () => {}).constructor('return import(\"node:fs\")')()",
        "new Promise((_, no) => setTimeout(() => { try { Function('return import(\"data:text/javascript,1\")')() } catch (e) { no(e) } }, 0))",
    ],
)
async def test_no_module_is_ever_loaded(runtime: DenoRuntime, attempt: str) -> None:
    code = f"try {{ return Object.keys(await {attempt}) }} catch (e) {{ return e.name }}"
    assert await value_of(runtime, code) == "EvalError"


@pytest.mark.parametrize("name", [name for name in DEEP if name != "nested eval"])
async def test_code_too_deep_is_an_error(runtime: DenoRuntime, name: str) -> None:
    assert (await failure_of(runtime, DEEP[name], memory_bytes=32 << 20)).code in ("code_error", "memory_limit")


@pytest.mark.parametrize("name", KILLERS)
async def test_what_the_host_cannot_read_ends_the_program(runtime: DenoRuntime, name: str) -> None:
    assert (await failure_of(runtime, KILLERS[name], output_bytes=1000, log_bytes=1000)).code == "code_error"


async def test_a_result_nested_without_measure_is_refused(runtime: DenoRuntime) -> None:
    code = "let o: any = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o"
    assert (await failure_of(runtime, code)).code == "unserializable_result"


async def test_buffers_outside_the_heap_count_as_memory(runtime: DenoRuntime) -> None:
    code = "const a: any[] = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))"
    assert (await failure_of(runtime, code)).code == "memory_limit"


async def test_an_answer_too_large_for_the_memory_ends_that_execution(runtime: DenoRuntime) -> None:
    sandbox = await runtime.open()
    await sandbox.start(program("const v = await tools.a.b({}); return v.length", memory_bytes=16 << 20))
    step = await sandbox.answer(Answer(1, CLOCK, value=json.dumps([["x"] * 100] * 200_000)))
    await sandbox.close()
    assert step.failure is not None
    assert step.failure.code == "memory_limit"


async def test_cpu_time_adds_up_over_the_steps(runtime: DenoRuntime) -> None:
    code = "let x = 0; for (;;) { await tools.a.b({}); for (let i = 0; i < 2e7; i++) x = (x * 31 + i) % 65537 }"
    last = (await drive(runtime, code, {"a.b": lambda _: 1}, cpu_ms=300))[-1]
    assert last.failure is not None
    assert last.failure.code == "cpu_limit"


async def test_polluted_prototypes_do_not_reach_the_bridge(runtime: DenoRuntime) -> None:
    code = """
    Object.prototype.toJSON = () => ({ forged: true });
    Object.prototype.then = function (resolve) { resolve("forged") };
    Array.prototype[Symbol.iterator] = Promise.prototype.then = () => { throw new Error("polluted") };
    await tools.a.b({ n: 1 });
    return 1"""
    step = await first_step(runtime, code)
    assert [(proposal.path, proposal.arguments) for proposal in step.proposals] == [("a.b", '{"forged":true}')]


async def test_a_killed_process_is_a_lost_sandbox_and_the_next_is_not_harmed(runtime: DenoRuntime) -> None:
    before = set(runtime.pids)
    sandbox = await runtime.open()
    await sandbox.start(program("return await tools.a.b({})"))
    (pid,) = before & set(runtime.pids)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxLost):
        await sandbox.answer(Answer(1, CLOCK, value="1"))
    await sandbox.close()
    assert await outcome(runtime, "return await tools.a.b({})", {"a.b": lambda _: 5}) == 5


async def test_closing_ends_a_program_that_runs_for_ever(runtime: DenoRuntime) -> None:
    sandbox = await runtime.open()
    step = asyncio.ensure_future(sandbox.start(program("for (;;);", cpu_ms=600_000)))
    await asyncio.sleep(0)
    await sandbox.close()
    with pytest.raises(SandboxLost):
        await step


async def test_no_more_processes_than_allowed_run_at_once() -> None:
    runtime = DenoRuntime(processes=1)
    try:
        first = await runtime.open()
        second = asyncio.ensure_future(runtime.open())
        assert (await first.start(program("return 1"))).value == "1"
        assert not second.done()
        await first.close()
        assert (await (await second).start(program("return 2"))).value == "2"
    finally:
        await runtime.close()
    assert runtime.pids == []


@linux_only
async def test_the_doctor_tells_what_the_process_is_sealed_with() -> None:
    layers = await asyncio.to_thread(probe.layers)
    assert {layer.name for layer in layers if layer.active} >= {"rlimits", "no new privileges", "seccomp"}


async def test_a_program_that_does_not_start_is_reported_and_not_tried_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(binary, "find", lambda: Path("/bin/false"))
    with pytest.raises(Busy) as caught:
        await DenoRuntime(processes=1).start()
    assert "doctor" in caught.value.hint


@linux_only
async def test_the_process_is_sealed_as_the_kernel_sees_it(
    runtime: DenoRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXECUTOR_TEST_SECRET", "must not be seen")
    sandbox = await runtime.open()
    await sandbox.start(program("return await tools.a.b({})", memory_bytes=65 << 20))
    here, *seen = (Path(f"/proc/{pid}") for pid in ("self", *runtime.pids))
    try:
        assert len(seen) >= 1
        for process in seen:
            status = (process / "status").read_text()
            assert "\nSeccomp:\t2\n" in status
            assert "\nNoNewPrivs:\t1\n" in status
            assert b"must not be seen" not in (process / "environ").read_bytes()
            assert (process / "ns/net").readlink() != (here / "ns/net").readlink()
    finally:
        await sandbox.close()
    assert {layer.name for layer in runtime.layers if layer.active} >= {"rlimits", "no new privileges", "seccomp"}


STACKS = """
const made = {};
Error.captureStackTrace(made);
const late = await Promise.resolve().then(() => new Error("late").stack);
let thrown = "";
try { null.x } catch (error) { thrown = error.stack }
return [new Error("now").stack, made.stack, late, thrown, new Error("cause", {cause: new Error("inner")}).cause.stack];
"""


async def test_stacks_do_not_tell_where_executor_is_installed(runtime: DenoRuntime) -> None:
    stacks = await value_of(runtime, STACKS)
    assert all("main.ts:" in stack for stack in stacks)
    assert not any("file:" in stack or "/executor" in stack or "site-packages" in stack for stack in stacks)
