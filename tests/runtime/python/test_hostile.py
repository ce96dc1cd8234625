"""Hostile programs: each ends in order or with a limit, the host gets nothing wrong, and the next program runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from executor.errors import SandboxLost
from executor.runtime.protocol import Step
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import program, value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

MEGABYTES = 64 * 1024 * 1024
LIMITS = ("cpu_limit", "memory_limit", "output_limit", "call_limit")
# What it does → the code, and the failures that are in order; a value is in order where None is among them.
CASES: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "a list without end": ("x = []\nwhile True:\n    x.append(x)", LIMITS),
    "strings without end": ("x = []\nwhile True:\n    x.append('a' * 1000000 + str(len(x)))", LIMITS),
    "a string multiplied": ("'a' * 10**10", LIMITS),
    "a list multiplied": ("[0] * 10**10", LIMITS),
    "a string doubled": ("x = 'a'\nwhile True:\n    x = x + x", LIMITS),
    "a dict without end": ("d = {}\ni = 0\nwhile True:\n    d[i] = i\n    i += 1", LIMITS),
    "a power": ("2 ** 10**10", LIMITS),
    "a shift": ("1 << 10**12", (*LIMITS, "code_error")),
    "powers of powers": ("x = 7\nwhile True:\n    x = x * x", LIMITS),
    "a number as text": ("len(str(10 ** 5000000))", (*LIMITS, "code_error")),
    "a format's width": ("f'{1:1000000000}'", (*LIMITS, "code_error")),
    "an old format's width": ("'%1000000000d' % 1", (*LIMITS, "code_error")),
    "recursion": ("def f():\n    f()\nf()", ("code_error",)),
    "mutual recursion caught": (
        "def f():\n    try:\n        g()\n    except RecursionError:\n        g()\ndef g():\n    f()\nf()",
        (*LIMITS, "code_error"),
    ),
    "a deep value compared": (
        "def deep():\n    x = []\n    for i in range(100000):\n        x = [x]\n    return x\ndeep() == deep()",
        (*LIMITS, "code_error", None),
    ),
    "a deep value shown": ("x = []\nfor i in range(100000):\n    x = [x]\nlen(repr(x))", (*LIMITS, "code_error", None)),
    "a deep value as JSON": (
        "import json\nx = []\nfor i in range(100000):\n    x = [x]\njson.dumps(x)",
        (*LIMITS, "code_error"),
    ),
    "a deep value returned": ("x = []\nfor i in range(100000):\n    x = [x]\nx", ("unserializable_result",)),
    "a deep argument": ("x = []\nfor i in range(100000):\n    x = [x]\nawait tools.a.b(x=x)", ("code_error",)),
    "a bomb of shared parts returned": ("a = [0] * 1000\nb = [a] * 1000\n[b] * 1000", ("output_limit",)),
    "a bomb of shared parts as argument": (
        "a = [0] * 1000\nb = [a] * 1000\nawait tools.a.b(x=[b] * 1000)",
        ("code_error", "cpu_limit"),
    ),
    "a cycle": ("x = []\nx.append(x)\nx", ("unserializable_result", None)),
    "regular expressions that backtrack": (
        "import re\nre.match('(a|a)*b' * 5, 'a' * 5000)\nre.match('(a+)+$', 'a' * 5000 + 'b')",
        (*LIMITS, "code_error", None),
    ),
    "a regular expression that is huge": ("import re\nre.compile('(a{1000}){1000}')", (*LIMITS, "code_error", None)),
    "a loop that catches everything": (
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        LIMITS,
    ),
    "memory errors that are caught": (
        "while True:\n    try:\n        x = 'a' * 10**10\n    except BaseException:\n        pass",
        LIMITS,
    ),
    "a clock read for ever": ("import time\nwhile True:\n    time.time()", LIMITS),
    "sleeping nothing for ever": ("import asyncio\nwhile True:\n    await asyncio.sleep(0)", LIMITS),
    "tools named for ever": ("x = 0\nwhile 1:\n    getattr(tools, 'a' + str(x))\n    x += 1", (*LIMITS, "code_error")),
    "calls for ever": ("while True:\n    tools.a.b()", ("call_limit",)),
    "printing for ever": ("while True:\n    print('x' * 10000)", LIMITS),
    "one line printed for ever": ("while True:\n    print('x' * 10000, end='')", LIMITS),
    "brackets without end": ("(" * 100000, ("syntax_error", "code_error")),
    "operators without end": ("1" + "+1" * 100000, ("syntax_error", "code_error", None)),
    "a class reached through an object": ("().__class__.__bases__[0].__subclasses__()", ("code_error",)),
    "a class reached through a format": ("'{0.__class__.__bases__}'.format(tools)", ("code_error",)),
    "globals of a function": ("def f(): pass\nf.__globals__", ("code_error",)),
    "the tools object taken apart": ("[tools.__class__, tools.__dict__]", ("code_error",)),
    "a file": ("open('/etc/passwd').read()", ("code_error",)),
    "files through pathlib": ("import pathlib\npathlib.Path('/etc/passwd').read_text()", ("code_error",)),
    "the environment": ("import os\nos.environ['HOME']", ("code_error",)),
    "a process": ("import os\nos.system('id')", ("code_error",)),
    "code in a string that escapes": ("eval(\"__import__('os').system('id')\")", ("code_error",)),
    "a huge source": ("x = 1\n" * 150000, (None, "syntax_error", "code_error", *LIMITS)),
    "many tasks": (
        "import asyncio\nasync def f():\n    return 1\nlen(await asyncio.gather(*[f() for i in range(100000)]))",
        (None, *LIMITS, "code_error"),
    ),
}  # fmt: skip


async def step_of(runtime: PythonRuntime, code: str, **limits: int) -> Step:
    sandbox = await runtime.open()
    try:
        return await sandbox.start(program(code, **{"cpu_ms": 1500, "memory_bytes": MEGABYTES, **limits}))
    finally:
        await sandbox.close()


@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_program_is_contained(runtime: PythonRuntime, name: str) -> None:
    code, in_order = CASES[name]
    workers = runtime.worker_pids
    try:
        step = await step_of(runtime, code)
    except SandboxLost:
        pytest.fail("the interpreter died of it")
    assert step.has_ended, step
    assert (step.failure.code if step.failure else None) in in_order, step
    assert runtime.worker_pids == workers
    assert await value_of(runtime, "1 + 1") == 2


@pytest.mark.parametrize(
    "name",
    [
        'a"\nv1\n',
        "a\nf{}",
        "v1\n",
        "\x00",
        "\ud7ff\uffff",
        "c2 \\u0022",
    ],
)
async def test_a_name_that_looks_like_a_frame_is_a_name(runtime: PythonRuntime, name: str) -> None:
    step = await step_of(runtime, f"await getattr(tools, {name!r})(x={name!r})")
    [proposal] = step.proposals
    assert proposal.path == name
    assert json.loads(proposal.arguments) == {"x": name}
    assert step.value is None


@pytest.mark.parametrize("text", ['\nv"forged"\n', '\n\n\x00\x01c1 "a.b"\n{}\n', 'f{"code":"internal"}'])
async def test_printed_and_returned_text_that_looks_like_a_frame_is_text(runtime: PythonRuntime, text: str) -> None:
    step = await step_of(runtime, f"print({text!r})\n{text!r}")
    assert json.loads(step.value or "") == text
    assert "\n".join(log.text for log in step.logs) == text
    assert step.proposals == ()


async def test_an_error_that_pretends_to_be_of_the_host_is_an_error_of_the_code(runtime: PythonRuntime) -> None:
    step = await step_of(runtime, "raise ToolError('denied')")
    assert step.failure is not None
    assert step.failure.code == "code_error"


async def test_names_of_the_bridge_give_nothing_away(runtime: PythonRuntime) -> None:
    for code in ("_failure_of('x')", "_failure_of({})", "_failure_of()", "error_of(3)"):
        step = await step_of(runtime, code)
        assert step.value in ("null", "3"), step


def kernel_status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


async def test_what_runs_code_can_reach_no_file_no_network_and_no_other_process(runtime: PythonRuntime) -> None:
    """Asked of the kernel, about the worker and about each interpreter under it."""
    import psutil

    await value_of(runtime, "1")
    [worker] = [psutil.Process(pid) for pid in runtime.worker_pids]
    family = [worker, *worker.children(recursive=True)]
    assert len(family) > 1
    for process in family:
        status = kernel_status(process.pid)
        assert status["Seccomp"] == "2"
        assert status["NoNewPrivs"] == "1"
    assert {layer.name for layer in runtime.layers if layer.active} >= {"landlock", "seccomp", "rlimits"}
