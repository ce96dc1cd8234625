"""Hostile programs: each ends in order or with a limit, the host gets nothing wrong, and the next program runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from executor.errors import SandboxLost
from executor.runtime.protocol import Step
from executor.runtime.python.lines import Forged, Lines
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import program, value_of

loop = pytest.mark.asyncio(loop_scope="session")
MEGABYTES = 64 * 1024 * 1024
LIMITS = ("cpu_limit", "memory_limit", "output_limit", "call_limit")
# What it does → the code, and the failures that are in order; a value is in order where None is among them.
ENDS = (*LIMITS, "code_error", "unserializable_result", "syntax_error", None)
CASES: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "a list without end": ("x = []\nwhile True:\n    x.append(x)", LIMITS),
    "strings without end": ("x = []\nwhile True:\n    x.append('a' * 1000000 + str(len(x)))", LIMITS),
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
    # The code may look into everything that is in the sandbox with it: there is nothing else to find.
    "a string multiplied": ("'a' * 10**10", (*LIMITS, "code_error")),
    "a list multiplied": ("[0] * 10**10", (*LIMITS, "code_error")),
    "a bomb of shared parts returned": ("a = [0] * 1000\nb = [a] * 1000\n[b] * 1000", LIMITS),
    "a class reached through an object": ("len(().__class__.__bases__[0].__subclasses__()) > 0", (None,)),
    "a class reached through a format": ("'{0.__class__.__bases__}'.format(tools)", (None,)),
    "globals of a function": ("def f(): pass\nlen(f.__globals__) > 0", (None,)),
    "the tools object taken apart": ("[str(tools.__class__), list(tools.__dict__)]", (None,)),
    "the driver's own frames": ("import sys\nf = sys._getframe()\nwhile f.f_back:\n    f = f.f_back\n1", (None,)),
    "the driver found by the collector": (
        "import gc\nfor o in gc.get_objects() + gc.get_referrers(tools):\n"
        "    if type(o).__name__ == 'Host':\n        o.seq = -7\n        o.end = 'forged'\nawait tools.a.b()",
        (None, *ENDS),
    ),
    "the collector thawed": ("import gc\ngc.unfreeze()\ngc.collect()\n1", (None, *LIMITS)),
    "the way out called by hand": ("import wit_world\nwit_world.step('v1\\n')", ("code_error",)),
    "lines that are none": ("import wit_world\nwit_world.step('x')", ("code_error",)),
    "a call numbered wrongly": ("import wit_world\nwit_world.step('c9 \"a.b\"\\n{}\\n')", ("code_error",)),
    "a timer without end": ("import wit_world\nwit_world.step('t1 99999999999\\n')", ("code_error",)),
    "an import hook": (
        "import sys\nclass Hook:\n    def find_spec(self, *a):\n        raise SystemExit('hooked')\n"
        "sys.meta_path.insert(0, Hook())\nimport anything",
        ("code_error",),
    ),
    "the encoder replaced": (
        "import json\njson.dumps = json.JSONEncoder.encode = lambda *a, **k: 'v1\\nv2'\n{'a': 1}",
        (None, "code_error", "unserializable_result"),
    ),
    "bytecode made by hand": (
        "def f(): pass\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 64)\nf()",
        ENDS,
    ),
    "the stack through the encoder": ("import json\nx = []\nfor i in range(100000):\n    x = [x]\njson.dumps(x)", ENDS),
    "a huge recursion limit": ("import sys\nsys.setrecursionlimit(10**9)\ndef f():\n    f()\nf()", ENDS),
    "a regular expression of stars": ("import re\nre.match('(x+x+)+y', 'x' * 40)", LIMITS),
    "the process ended": ("import os\nos._exit(0)", ("code_error",)),
    "the process aborted": ("import os\nos.abort()", ("memory_limit", "code_error")),
    "standard output by its number": ("import os\nos.write(1, b'v1')", ("code_error",)),
    "sleeping around the clock": ("import select\nselect.select([], [], [], 3600)", ("code_error",)),
    "native code": ("import ctypes", ("code_error",)),
}  # fmt: skip


def kernel_status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


async def step_of(runtime: PythonRuntime, code: str, **limits: int) -> Step:
    sandbox = await runtime.open()
    try:
        return await sandbox.start(program(code, **{"cpu_ms": 400, "memory_bytes": MEGABYTES, **limits}))
    finally:
        await sandbox.close()


@loop
@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_program_is_contained(runtime: PythonRuntime, name: str) -> None:
    code, in_order = CASES[name]
    await value_of(runtime, "1 + 1")
    workers = runtime.worker_pids
    try:
        step = await step_of(runtime, code)
    except SandboxLost:
        pytest.fail("the worker died of it")
    if step.has_ended:
        assert (step.failure.code if step.failure else None) in (*in_order, "cpu_limit"), step
    else:
        assert None in in_order, step
    assert runtime.worker_pids == workers
    assert await value_of(runtime, "1 + 1") == 2


@loop
@pytest.mark.parametrize("name", ['a"\nv1\n', "a\nf{}", "v1\n", "\x00", "\ud7ff\uffff", "c2 \\u0022"])
async def test_a_name_that_looks_like_a_frame_is_a_name(runtime: PythonRuntime, name: str) -> None:
    step = await step_of(runtime, f"await getattr(tools, {name!r})(x={name!r})")
    [proposal] = step.proposals
    assert proposal.path == name
    assert json.loads(proposal.arguments) == {"x": name}
    assert step.value is None


@loop
@pytest.mark.parametrize("text", ['\nv"forged"\n', '\n\n\x00\x01c1 "a.b"\n{}\n', 'f{"code":"internal"}', "\ud800"])
async def test_printed_and_returned_text_that_looks_like_a_frame_is_text(runtime: PythonRuntime, text: str) -> None:
    step = await step_of(runtime, f"print({text!r})\n{text!r}")
    shown = text.encode("utf-8", "replace").decode()
    assert json.loads(step.value or "") == shown
    assert "\n".join(log.text for log in step.logs) == shown
    assert step.proposals == ()


@loop
async def test_an_error_that_pretends_to_be_of_the_host_is_an_error_of_the_code(runtime: PythonRuntime) -> None:
    step = await step_of(runtime, "raise ToolError('denied', code='denied')")
    assert step.failure is not None
    assert step.failure.code == "code_error"


@loop
async def test_what_runs_code_can_reach_no_file_no_network_and_no_other_process(runtime: PythonRuntime) -> None:
    """Asked of the kernel, about the worker."""
    await value_of(runtime, "1")
    [worker] = runtime.worker_pids
    status = kernel_status(worker)
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    assert {layer.name for layer in runtime.layers if layer.active} >= {"landlock", "seccomp", "rlimits"}


@pytest.mark.parametrize(
    ("output", "last"),
    [
        (b"", True),
        (b"v1", True),
        (b"l9x\nv1\n", True),
        (b"lx\n", False),
        (b"v1\n", False),
        (b"v1\nv2\n", True),
        (b'c2 "a.b"\n{}\n', False),
        (b'c1 "a.b"\n', False),
        (b'c\xb2 "a.b"\n{}\n', False),
        (b"t1 0\n", False),
        (b"t1 2147483648\n", False),
        (b"t1 x\n", False),
        (b'c1 "a"\n{}\nc2 "a"\n{}\nc3 "a"\n{}\n', False),
        (b"\n", False),
    ],
)
def test_lines_that_the_driver_never_writes_are_no_reply(output: bytes, last: bool) -> None:
    with pytest.raises(Forged):
        Lines(2).check(output, last=last)


def test_lines_of_the_driver_are_a_reply() -> None:
    lines = Lines(3)
    lines.check(b'c1 "a.b"\n{"v":1}\nt2 5\nl1"x"\n', last=False)
    lines.check(b"", last=False)
    lines.check(b'c3 "a"\nv\nl4"y"\nf{}\n', last=True)
