"""Code with types is parsed where it can be killed; code without is compiled as it is, and means the same."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from executor.runtime.javascript import blank_queue
from executor.runtime.javascript.plain_source import plain
from executor.runtime.typescript.runtime import TypeScriptRuntime
from executor.runtime.worker.frames import Reply
from tests.runtime.program_driver import failure_of, value_of
from tests.support.conditions import until

ENDLESS_TO_PARSE = b"(i)[l*@i]@\xf0\x9f\x98\x80[;enum /default>```,[}s /n\nt ${".decode()
TYPED = "const a: number = 1; return a + 1"


@pytest_asyncio.fixture
async def own(cache_dir: Path) -> AsyncIterator[TypeScriptRuntime]:
    started = TypeScriptRuntime(workers=1, slots=4, cache_dir=cache_dir)
    await started.start()
    assert await value_of(started, TYPED) == 2
    yield started
    await started.close()


async def test_code_that_is_parsed_without_end_is_a_syntax_error(own: TypeScriptRuntime) -> None:
    pids = own.worker_pids
    for _ in range(2):
        failure = await failure_of(own, ENDLESS_TO_PARSE)
        assert (failure.code, failure.message) == ("syntax_error", "the code takes too long to parse")
    assert await value_of(own, TYPED) == 2
    assert own.worker_pids == pids


async def test_others_are_served_while_code_is_parsed_without_end(own: TypeScriptRuntime) -> None:
    stuck = [asyncio.create_task(failure_of(own, ENDLESS_TO_PARSE + " " * 32_000)) for _ in range(3)]
    for _ in range(10):
        assert await value_of(own, "return 1 + 1") == 2
    assert not stuck[-1].done()
    assert {(await task).code for task in stuck} == {"syntax_error"}


async def test_small_code_does_not_wait_for_large_code_to_be_parsed(own: TypeScriptRuntime) -> None:
    stuck = asyncio.create_task(failure_of(own, ENDLESS_TO_PARSE + " " * 200_000))
    await asyncio.sleep(0)
    assert await value_of(own, TYPED) == 2
    assert not stuck.done()
    assert (await stuck).message == "the code takes too long to parse"


async def test_a_parser_that_was_killed_is_started_again(own: TypeScriptRuntime) -> None:
    for _ in range(2):
        os.kill(own._lane.pid, signal.SIGKILL)
        assert await value_of(own, TYPED) == 2


async def test_the_parser_for_large_code_ends_when_no_one_needs_it(
    own: TypeScriptRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blank_queue, "_IDLE_SECONDS", 0.01)
    large = TYPED + " " * 40_000
    assert await value_of(own, large) == 2
    await until(lambda: not own._large_lane.pid)
    assert await value_of(own, large) == 2


async def test_a_sandbox_closed_while_its_code_is_parsed_gives_its_place_back(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsing, blank = asyncio.Event(), blank_queue.Lane.blank

    async def note_and_blank(lane: blank_queue.Lane, code: bytes) -> Reply:
        parsing.set()
        return await blank(lane, code)

    monkeypatch.setattr(blank_queue.Lane, "blank", note_and_blank)
    runtime = TypeScriptRuntime(workers=1, slots=1, cache_dir=cache_dir)
    await runtime.start()
    for _ in range(3):
        parsing.clear()
        task = asyncio.create_task(failure_of(runtime, ENDLESS_TO_PARSE))
        await parsing.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await value_of(runtime, "return 1 + 1") == 2
    await runtime.close()


async def test_closing_the_runtime_ends_its_parsers(cache_dir: Path) -> None:
    runtime = TypeScriptRuntime(workers=1, slots=2, cache_dir=cache_dir)
    await runtime.start()
    assert await value_of(runtime, TYPED) == 2
    stuck = asyncio.create_task(failure_of(runtime, ENDLESS_TO_PARSE + " " * 200_000))
    await until(lambda: runtime._large_lane.pid)
    pids = [runtime._lane.pid, runtime._large_lane.pid]
    await runtime.close()
    await asyncio.gather(stuck, return_exceptions=True)
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.parametrize("layer", ["seccomp", "landlock", "rlimits"])
async def test_the_parser_is_sealed_like_a_worker(own: TypeScriptRuntime, layer: str) -> None:
    assert own._lane._blanker is not None
    active = {found.name for found in own._lane._blanker.layers if found.active}
    assert (layer in active) == (layer in {found.name for found in own.layers if found.active})


JAVASCRIPT = [
    "return 1+1",
    "1 + 1",
    "1 + 1;",
    "({ a: 1 })",
    "async () => { const x = await tools.a.b({}); return x }",
    "// why\n/* what */ const x = [1].map(y => y * 2)\nreturn x",
    "for (let i = 0; i < 3; i++) {}\nreturn [1].map(x => x)",
    "```js\nreturn 1\n```",
    "const a = await f({ a: 1 });\nif (a) { return 1 }\nconst b = a ?? { return: 1 };\nreturn b",
]
DOUBTFUL = [
    "return f<T>(x)",
    "const a = new Map<string>([])",
    "return a < b || c > (d)",
    "f<T>\nfoo",
    "await import('x')",
    "return import('x')",
    "function f() {}\n(1)",
    "async function main() { return 1 }",
    "(tools) => tools.a",
    "({ tools }) => 1",
    "(function (tools) { return 1 })",
    "const a: number = 1",
    "interface A { b: string }",
    "const a = 1; a + 1",
    "const f = () => { return 1 }; f()",
    "const a = 1; if (a) return 2; a + 1",
    "const a = 1; if (f({ a })) return 2; a + 1",
    "const a = 1; if (a)\n  return 2\nelse\n  return 3",
    "try { return 1 } catch { 2 }",
]


@pytest.mark.parametrize("code", JAVASCRIPT)
def test_what_is_surely_the_same_in_javascript_needs_no_parser(code: str) -> None:
    assert plain(code.encode()) is not None


@pytest.mark.parametrize("code", DOUBTFUL)
def test_what_could_mean_something_else_goes_to_the_parser(code: str) -> None:
    assert plain(code.encode()) is None


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("const f = (x) => x, T = 0; return f<T>(1)", 1),
        ("class A { v; constructor(v) { this.v = v } } const string = 1; return new A<string>(7).v", 7),
        ("function f() { return 5 }\n(1)", 1),
        ("function f() { return 5 }", 5),
        ("1 + 1 // two;", 2),
        ("1 + 1; // two", 2),
        (";;1 + 1;;", 2),
        ("{ a: 1 }", {"a": 1}),
        ("class A {}", None),
        ("async (tools) => typeof tools.a", "function"),
        ("let n = 1\nn\n++n\nreturn n", 2),
        ("\u2028return 3", 3),
        ("// c\r(0, class { static x = 4 }).x", 4),
    ],
)
async def test_compiled_as_it_is_or_parsed_first_code_means_what_typescript_says(
    own: TypeScriptRuntime, code: str, value: object
) -> None:
    assert await value_of(own, code) == value


async def test_what_is_valid_only_inside_brackets_is_no_expression(own: TypeScriptRuntime) -> None:
    assert (await failure_of(own, "1) + (2")).code == "syntax_error"
