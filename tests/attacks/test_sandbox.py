"""Attacks 61 to 67: on the sandbox, by the code that runs in it, with a whole Executor around it."""

from __future__ import annotations

import json

import psutil
import pytest

from executor.model.execution import Limits
from tests.execution.conftest import ExecutorHarness, value

ESCAPES = {
    "constructor": "return [].constructor.constructor('return typeof process + typeof require + typeof Deno')()",
    "tool's constructor": "return tools.ledger.entries.listEntries.constructor('return typeof process')()",
    "error's constructor": """
        try { await tools.no.such({}) } catch (e) { return e.constructor.constructor('return typeof process')() }""",
    "async generator": """
        const G = (async function* () {}).constructor; return (await G('yield typeof process')().next()).value""",
    "stack": "Error.prepareStackTrace = (e, s) => s; return typeof new Error('x').stack",
    "proxy": "return typeof new Proxy(tools, {get: (t, k) => t[k]}).__proto__",
    "symbols": "return Object.getOwnPropertySymbols(globalThis).map(String).filter((s) => /host/i.test(s)).join()",
}
PYTHON = {
    "subclasses": "().__class__.__base__.__subclasses__()",
    "globals": "(lambda: 0).__globals__",
    "import": "__import__('os').environ",
    "builtins": "__builtins__",
    "open": "open('/etc/passwd').read()",
    "format": "'{0.__class__.__mro__}'.format(1)",
}


@pytest.mark.parametrize("name", ESCAPES)
async def test_61_prototype_and_constructor_escapes(harness: ExecutorHarness, name: str) -> None:
    """Defence: the engine is WebAssembly with nothing of the host in it (runtime/worker/wasmtime_ffi.py)."""
    outcome = await harness.run(ESCAPES[name])
    told = str(outcome.execution.result or outcome.execution.failure)
    assert "object" not in told.replace("[object", "").replace("objects", "") or name in ("stack", "proxy")
    assert "/src/executor" not in told and "Traceback" not in told


@pytest.mark.parametrize("name", PYTHON)
async def test_61_reflection_in_python_finds_nothing_of_the_host(harness: ExecutorHarness, name: str) -> None:
    """Defence: only the time, random bytes and steps are linked (runtime/python/machine.py)."""
    outcome = await harness.run(f"return str({PYTHON[name]})", language="python")
    told = str(outcome.execution.result or "") + str(outcome.execution.failure or "")
    assert outcome.execution.status in ("completed", "failed")
    assert "root:" not in told and "EXECUTOR" not in told and "/src/executor" not in told


FLOODS = {
    "cpu": ("while (true);", {"cpu_limit"}),
    "memory": ("const a = []; while (true) a.push(new Uint8Array(1 << 20).fill(1))", {"memory_limit"}),
    "recursion": ("const f = () => f() + 1; return f()", {"code_error"}),
    "regex": ("return /^(a+)+$/.test('a'.repeat(60) + '!')", {"cpu_limit"}),
    "big integer": ("let n = 3n; while (true) n = n * n", {"cpu_limit", "memory_limit", "code_error"}),
    "output": ("return 'x'.repeat(20_000_000)", {"output_too_large", "output_limit", "memory_limit", "code_error"}),
    "promises": ("const f = () => Promise.resolve().then(f); await f()", {"cpu_limit", "memory_limit"}),
}


@pytest.mark.parametrize("name", FLOODS)
async def test_62_floods(harness: ExecutorHarness, name: str) -> None:
    """Defence: fuel, memory and output bounds of each sandbox (model `Limits`); others are served meanwhile."""
    code, expected = FLOODS[name]
    outcome = await harness.run(code, limits=Limits(cpu_ms=400, memory_bytes=48 << 20), typecheck="off")
    assert outcome.execution.failure is not None and outcome.execution.failure.code in expected
    assert value(await harness.run("return 1")) == 1


async def test_63_probes_of_files_environment_network_and_processes(harness: ExecutorHarness) -> None:
    """Defence: no such names inside; and around it `seal.seal`, with a clean environment."""
    code = """
        const out = [];
        for (const name of ["process", "require", "fetch", "XMLHttpRequest", "WebSocket", "Deno", "Bun", "os", "std"])
          out.push(typeof globalThis[name]);
        try { out.push(await import("fs")) } catch (e) { out.push("undefined") }
        return out;
    """
    outcome = await harness.run(code)
    if outcome.execution.failure is None:
        assert set(value(outcome)) == {"undefined"}
    for child in psutil.Process().children(recursive=True):
        try:
            if "executor" not in " ".join(child.cmdline()):
                continue
            names = set(child.environ())
        except psutil.NoSuchProcess:  # it ended meanwhile, or nobody has asked for its end yet
            continue
        assert not [name for name in names if name.startswith("EXECUTOR_") or "TOKEN" in name]


async def test_64_a_forged_snapshot(harness: ExecutorHarness) -> None:
    """Defence: the code is replayed against the journal; no state of a sandbox is ever stored or read."""
    paused = await harness.run('const n = 1; await tools.ledger.entries.addEntry({key: "a", amount: n}); return n')
    assert paused.execution.status == "paused"
    tables = await harness.executor.database.read(
        lambda c: [row[0] for row in c.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")]
    )
    assert not [name for name in tables if "snapshot" in name or "heap" in name]
    await harness.settle(paused, "approve")
    assert value(await harness.wait(paused.execution.id)) == 1


async def test_65_state_left_for_the_next_execution(harness: ExecutorHarness) -> None:
    """Defence: every program starts from the same image, in a new instance (runtime/typescript/slot.py)."""
    plant = """
        globalThis.left = 'secret'; Array.prototype.left = 1; JSON.parse = () => 'mine';
        Object.prototype.then = undefined; Promise.prototype.left = 1; return 1;
    """
    for _ in range(10):
        await harness.run(plant)
        after = "return [typeof left, typeof [].left, JSON.parse('2'), typeof Promise.resolve().left]"
        assert value(await harness.run(after)) == ["undefined", "undefined", 2, "undefined"]


async def test_66_a_budget_dodged_by_parallel_calls(harness: ExecutorHarness) -> None:
    """Defence: calls are counted where they are proposed (`Limits.calls`), before any is sent."""
    calls = 'Promise.allSettled(Array.from({length: 50}, () => tools.ledger.entries.listEntries({key: "a"})))'
    outcome = await harness.run(f"return (await {calls}).length", limits=Limits(calls=5))
    assert outcome.execution.failure is not None and outcome.execution.failure.code == "call_limit"


HOSTILE = (
    "({get a() { throw new Error('getter') }})",
    "({get a() { return this.b = (this.b || 0) + 1 }})",
    "({toJSON() { return {toJSON: 1} }})",
    "new Proxy({}, {ownKeys: () => ['__proto__', 'a'],"
    " getOwnPropertyDescriptor: () => ({enumerable: true, configurable: true, value: 1})})",
    'JSON.parse(\'{"__proto__": {"polluted": 1}, "constructor": 2, "then": 3}\')',
    "Object.defineProperty([], 'length', {writable: false})",
    "({a: '\\ud800', b: NaN, c: -0, d: 1e400})",
)


@pytest.mark.parametrize("result", HOSTILE)
async def test_67_results_and_arguments_that_attack_the_bridge(harness: ExecutorHarness, result: str) -> None:
    """Defence: values cross as JSON text made inside, and parsed outside by a strict reader."""
    outcome = await harness.run(f"return {result}")
    assert outcome.execution.status in ("completed", "failed")
    if outcome.execution.failure is not None:
        assert outcome.execution.failure.code in ("code_error", "invalid_result", "output_invalid", "not_serializable")
    else:
        json.loads(outcome.execution.result or "null")
    await harness.run(f"return await tools.ledger.entries.addEntry({result})")
    assert harness.effects() == []
    assert value(await harness.run("return ({}).polluted === undefined")) is True
