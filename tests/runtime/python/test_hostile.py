# ruff: noqa: E501 - tables: one program a line
"""Hostile programs: each ends in order or with a limit, the host gets nothing wrong, and the next program runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from executor.errors import SandboxLost
from executor.model.execution import OUTSIDE_CODES
from executor.runtime.protocol import Step
from executor.runtime.python.lines import Forged, Lines
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import program, value_of

loop = pytest.mark.asyncio(loop_scope="session")
MEGABYTES = 64 * 1024 * 1024
SPIN_MS, ENOUGH_MS = 60, 3_000
DRIVER = "driver = tools._Tool__bridge\nhost = driver._host\n"
DEEP, DEEPER = (f"x = []\nfor i in range({depth}):\n    x = [x]\n" for depth in (20_000, 100_000))
# Loops without end, and work that never comes to an end: stopped by the clock alone.
SPINS: dict[str, str] = {
    "a loop that catches everything": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "memory errors that are caught": "while True:\n    try:\n        x = 'a' * 10**9\n    except BaseException:\n        pass",
    "recursion errors that are caught": "def f():\n    try:\n        f()\n    except RecursionError:\n        f()\nf()",
    "powers of powers": "x = 7\nwhile True:\n    x = x * x % 2 ** 200000 + 7",
    "a number as text": "import sys\nsys.set_int_max_str_digits(0)\nlen(str(7 ** 2000000))",
    "a text as a number": "import sys\nsys.set_int_max_str_digits(0)\nint('9' * 3000000)",
    "a factorial": "import math\nmath.factorial(10**6)",
    "a regular expression of stars": "import re\nre.match('(x+x+)+y', 'x' * 40)",
    "a regular expression of words": "import re\nre.fullmatch(r'(\\w+\\s?)*!', 'word ' * 30)",
    "a regular expression of choices": "import re\nre.match('(a|a)*b' * 5, 'a' * 5000)",
    "a clock read for ever": "import time\nwhile True:\n    time.time()",
    "sleeping nothing for ever": "import asyncio\nwhile True:\n    await asyncio.sleep(0)",
    "tools named for ever": "x = 0\nwhile 1:\n    getattr(tools, 'a' + str(x))\n    x += 1",
    "printing for ever": "while True:\n    print('x' * 10000)",
    "one line printed for ever": "while True:\n    print('x' * 10000, end='')",
    "a query without end": "import sqlite3\nsqlite3.connect(':memory:').execute('with recursive t(x) as (select 1 union all select x + 1 from t) select count(*) from t').fetchall()",
    "keys that collide": "class H:\n    def __hash__(self):\n        return 1\n{H(): i for i in range(10**5)}",
    "a trace function that spins": "import sys\ndef trace(*a):\n    while True:\n        pass\nsys.settrace(trace)\ndef f():\n    pass\nf()",
    "a finalizer that spins": "class A:\n    def __del__(self):\n        while True:\n            pass\na = A()\na.own = a\ndel a\nimport gc\ngc.collect()",
    "an error whose text spins": "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise E",
    "a result that never ends": "import itertools\nitertools.count()",
    "a loop that never turns": "import asyncio\nasyncio.get_running_loop()._turn = lambda: None\nawait asyncio.sleep(1)",
}  # fmt: skip
# More memory than there is, asked for at once or little by little.
BOMBS: dict[str, str] = {
    "a string doubled": "x = 'a'\nwhile True:\n    x = x + x",
    "strings without end": "x = []\nwhile True:\n    x.append('a' * 1000000 + str(len(x)))",
    "lists without end": "x = []\nwhile True:\n    x.append([0] * 100000)",
    "a power": "2 ** 10**9",
    "a format's width": "f'{1:1000000000}'",
    "an old format's width": "'%1000000000d' % 1",
    "a format's precision": "'{:.1000000000f}'.format(1.0)",
    "a width from outside": "'{:{w}}'.format(1, w=10**9)",
    "a product": "import itertools\nlist(itertools.product(range(1000), repeat=4))",
    "an archive": "import zlib\nx = zlib.compress(bytes(10**7))\n[zlib.decompress(x) for i in range(10)]",
    "texts joined": "','.join(['a' * 10**6] * 1000)",
    "a substitution": "import re\nre.sub('a', 'b' * 10**6, 'a' * 10**3)",
    "a blob": "import sqlite3\nsqlite3.connect(':memory:').execute('select zeroblob(900000000)').fetchall()",
}  # fmt: skip
# What it does → the code, and the one or two ends that are right. None: it gives a value, or waits for an answer.
CASES: dict[str, tuple[str, tuple[str | None, ...]]] = {
    # Too deep, in Python and in C.
    "recursion": ("def f():\n    f()\nf()", ("code_error",)),
    "a huge recursion limit": ("import sys\nsys.setrecursionlimit(10**9)\ndef f():\n    f()\nf()", ("code_error",)),
    "generators in generators": ("def g(n):\n    yield from g(n + 1)\nnext(g(0))", ("code_error",)),
    "an attribute that asks itself": ("class A:\n    def __getattr__(self, n):\n        return getattr(self, n)\nA().x", ("code_error",)),
    "a text that shows itself": ("class A:\n    def __repr__(self):\n        return repr(self)\nrepr(A())", ("code_error",)),
    "a deep value compared": (f"{DEEPER}y = x\n{DEEPER}x == y", ("code_error",)),
    "a deep value shown": (f"{DEEPER}len(repr(x))", ("code_error",)),
    "a deep value as JSON": (f"import json\n{DEEP}json.dumps(x)", ("code_error",)),
    "a deep value copied": (f"import copy\n{DEEP}copy.deepcopy(x)", ("code_error",)),
    "a deep value pickled": (f"import pickle\n{DEEP}pickle.dumps(x)", ("code_error",)),
    "a deep value returned": (f"{DEEP}x", ("unserializable_result",)),
    "a deep argument": (f"{DEEP}await tools.a.b(x=x)", ("code_error",)),
    "a cycle": ("x = []\nx.append(x)\nx", ("unserializable_result",)),
    "deep JSON read": ("import json\njson.loads('[' * 100000)", ("code_error",)),
    "a deep literal": ("import ast\nast.literal_eval('[' * 5000 + ']' * 5000)", ("memory_limit", "code_error")),
    "a deep pattern": ("import re\nre.compile('(' * 2000 + ')' * 2000)", ("code_error",)),
    "a deep tree": ("import ast\nt = ast.Constant(1)\nfor i in range(20000):\n    t = ast.UnaryOp(ast.USub(), t)\ncompile(ast.fix_missing_locations(ast.Expression(t)), 'x', 'eval')", ("code_error",)),
    "brackets without end": ("(" * 100000, ("syntax_error",)),
    "operators without end": ("1" + "+1" * 100000, ("code_error", "syntax_error")),
    "a deep group of errors": ("e = ValueError(1)\nfor i in range(5000):\n    e = ExceptionGroup('g', [e])\nraise e", ("code_error",)),
    # More than there can be, refused at once.
    "a shift": ("1 << 10**12", ("code_error",)),
    "a string multiplied": ("'a' * 10**10", ("code_error",)),
    "a list multiplied": ("[0] * 10**10", ("code_error",)),
    "a text of too many digits": ("int('9' * 5000)", ("code_error",)),
    "a bomb of shared parts returned": ("a = [0] * 1000\nb = [a] * 1000\n[b] * 1000", ("output_limit",)),
    "a bomb of shared parts in dicts": ("a = {str(i): 'x' * 1000 for i in range(1000)}\nb = {str(i): a for i in range(1000)}\n(b,) * 1000", ("output_limit",)),
    "a bomb of one shared text": ("[['x' * 100000] * 10000] * 10", ("output_limit",)),
    "a list that contains itself": ("a = [0]\na.append(a)\na", ("unserializable_result",)),
    "a bomb of shared parts as argument": ("a = [0] * 1000\nb = [a] * 1000\nawait tools.a.b(x=[b] * 1000)", ("code_error",)),
    "a huge pattern": ("import re\nre.compile('(a{1000}){1000}')", (None,)),
    "a huge source": ("x = 1\n" * 150000, ("memory_limit",)),
    "calls for ever": ("while True:\n    tools.a.b()", ("call_limit",)),
    # What is not there.
    "a file": ("open('/etc/passwd').read()", ("code_error",)),
    "a database in a file": ("import sqlite3\nsqlite3.connect(':memory:').execute(\"attach '/etc/passwd' as x\")", ("code_error",)),
    "the environment": ("import os\nos.environ['HOME']", ("code_error",)),
    "a process": ("import os\nos.system('id')", ("code_error",)),
    "code in a string that escapes": ("eval(\"__import__('os').system('id')\")", ("code_error",)),
    "a thread": ("import _thread\n_thread.start_new_thread(print, ())", ("code_error",)),
    "a lock taken twice": ("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()", ("code_error",)),
    "the process ended": ("import os\nos._exit(0)", ("code_error",)),
    "the process aborted": ("import os\nos.abort()", ("code_error",)),
    "standard output by its number": ("import os\nos.write(1, b'v1')", ("code_error",)),
    "sleeping around the clock": ("import select\nselect.select([], [], [], 3600)", ("code_error",)),
    "native code": ("import ctypes", ("code_error",)),
    "a signal": ("import signal\nsignal.raise_signal(signal.SIGTERM)", ("code_error",)),
    "a null pointer": ("import faulthandler\nfaulthandler._read_null()", ("code_error", None)),
    # The code may look into everything that is in the sandbox with it: there is nothing else to find.
    "a class reached through an object": ("len(().__class__.__bases__[0].__subclasses__()) > 0", (None,)),
    "a class reached through a format": ("'{0.__class__.__bases__}'.format(tools)", (None,)),
    "the tools object taken apart": ("[str(tools.__class__), list(tools.__dict__)]", (None,)),
    "the driver's own frames": ("import sys\nf = sys._getframe()\nwhile f.f_back:\n    f = f.f_back\n1", (None,)),
    "the collector thawed": ("import gc\ngc.unfreeze()\ngc.collect()\n1", (None,)),
    "a collector that fails": ("import gc\ngc.callbacks.append(lambda *a: 1 / 0)\ngc.collect()\n1", (None,)),
    # Tricks with bytecode, frames and traces.
    "bytecode made by hand": ("def f(): pass\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 64)\nf()", ("code_error",)),
    "bytecode without its constants": ("import types\nc = (lambda: 12345).__code__\ntypes.FunctionType(c.replace(co_consts=()), {})()", ("code_error", None)),
    "bytecode without its names": ("def f(): return len\nf.__code__ = f.__code__.replace(co_names=())\nf()", ("code_error", None)),
    "bytecode without a stack": ("def f(): return [1, 2, 3]\nf.__code__ = f.__code__.replace(co_stacksize=0)\nf()", ("code_error", None)),
    "frames of the driver changed": ("import sys\nf = sys._getframe().f_back\nwhile f:\n    for k in list(f.f_locals):\n        f.f_locals[k] = None\n    f = f.f_back\n5", ("code_error", None)),
    "a trace function": ("import sys\ndef t(*a):\n    return t\nsys.settrace(t)\ndef f():\n    return 5\nf()", (None,)),
    "a profile function that fails": ("import sys\ndef p(*a):\n    raise ValueError('p')\nsys.setprofile(p)\nlen([])\n5", ("code_error",)),
    "a monitor that fails": ("import sys\nm = sys.monitoring\nm.use_tool_id(1, 'x')\nm.register_callback(1, m.events.LINE, lambda *a: 1 / 0)\nm.set_events(1, m.events.LINE)\ndef f():\n    return 1\nf()", ("code_error",)),
    # Imports and built-in names poisoned.
    "an import hook": ("import sys\nclass Hook:\n    def find_spec(self, *a):\n        raise SystemExit('hooked')\nsys.meta_path.insert(0, Hook())\nimport anything", ("code_error",)),
    "all modules forgotten": ("import sys\nsys.modules.clear()\n5", (None,)),
    "all modules poisoned": ("import sys\nfor n in list(sys.modules):\n    sys.modules[n] = None\nimport json", ("code_error",)),
    "no built-in names": ("import builtins\nfor n in dir(builtins):\n    delattr(builtins, n)\n5", ("code_error", None)),
    "other built-in names": ("import builtins\nbuiltins.len = lambda x: -1\nbuiltins.str = None\n{'a': 1}", ("code_error", None)),
    # The driver changed: what it then writes ends this program.
    "the end forged": (f"{DRIVER}host.end = 'v\"forged\"\\n'\n5", (None,)),
    "an end that is no line": (f"{DRIVER}host.end = 'x'\n5", ("code_error",)),
    "an end that is no text": (f"{DRIVER}host.end = 5\n5", ("code_error",)),
    "a call with another number": (f"{DRIVER}host.seq = 5\nawait tools.a.b()", ("code_error",)),
    "more calls than allowed": (f"{DRIVER}host.calls = 10**9\nfor i in range(2000):\n    tools.a.b(n=i)\nawait tools.a.b()", ("code_error",)),
    "a log line of no level": (f"{DRIVER}host.console._lines.append('lX\"x\"\\n')\n5", ("code_error",)),
    "a value among the log lines": (f"{DRIVER}host.console._lines.append('v\"forged\"\\n')\n5", ("code_error",)),
    "a value sent ahead as a log": ("import wit_world\nwit_world.step('pv1\\n')", ("code_error",)),
    "a call sent ahead as a log": ("import wit_world\nwit_world.step('pl1\"x\"\\nc1 \"a.b\"\\n{}\\n')", ("code_error",)),
    "arguments that look like a log": ("import wit_world\nwit_world.step('pc1 \"a.b\"\\nl1\"x\"\\n')", ("code_error",)),
    "a result beyond the limit": (f"{DRIVER}host.output_bytes = 10**9\n'a' * 10**7", ("output_limit", "code_error")),
    "logs beyond the limit": ("import wit_world\nfor i in range(100):\n    wit_world.step('pl1\"' + 'x' * 1000000 + '\"\\n')", ("code_error",)),
    "a timer of nothing": (f"{DRIVER}host._lines.append('t1 0\\n')\nhost._exchange()", ("code_error",)),
    "a timer into the past": (f"{DRIVER}host._lines.append('t1 -5\\n')\nhost._exchange()", ("code_error",)),
    "a loop without its queue": ("import asyncio\nasyncio.get_running_loop()._ready = None\nawait asyncio.sleep(1)", (None,)),
    "arguments forged": (f"{DRIVER}driver._write = lambda *a: '{{}}\\nc9 \"x\"\\n{{}}'\nawait tools.a.b()", ("code_error",)),
    "the encoder replaced": ("import json\njson.dumps = json.JSONEncoder.encode = lambda *a, **k: 'v1\\nv2'\n{'a': 1}", ("code_error",)),
    "an error of the host forged": (f"{DRIVER}e = ToolError('x', code='denied')\ndriver.given.append(e)\nraise e", ("denied",)),
    "the driver found by the collector": ("import gc\nfor o in gc.get_referrers(tools._Tool__bridge._host):\n    pass\ntools._Tool__bridge._host.seq = -7\nawait tools.a.b()", ("code_error",)),
    "the way out called by hand": ("import wit_world\nwit_world.step('v1\\n')", ("code_error",)),
    "waiting for nothing": ("import wit_world\nwit_world.step('')", ("code_error",)),
    "answers counted wrongly": (f"{DRIVER}host.answered = -10\nimport asyncio\nawait asyncio.Event().wait()", ("code_error",)),
    "lines that are none": ("import wit_world\nwit_world.step('x')", ("code_error",)),
    "something that is no text": ("import wit_world\nwit_world.step(5)", ("code_error",)),
    "a call numbered wrongly": ("import wit_world\nwit_world.step('c9 \"a.b\"\\n{}\\n')", ("code_error",)),
    "a timer without end": ("import wit_world\nwit_world.step('t1 99999999999\\n')", ("code_error",)),
    "a call made by hand": ("import wit_world\nwit_world.step('c1 \"a.b\"\\n{}\\n')", (None,)),
    "the way out replaced": ("import wit_world\nwit_world.step = lambda o: '0 1 1\\n5'\nawait tools.a.b()", (None,)),
    # What would run late.
    "work at the exit": ("import atexit\natexit.register(lambda: print('late'))\n5", (None,)),
    "a finalizer left behind": ("class A:\n    def __del__(self):\n        while True:\n            pass\na = A()\n5", (None,)),
    "a finalizer that fails": ("class A:\n    def __del__(self):\n        raise ValueError('x')\na = A()\ndel a\n5", (None,)),
    "a finalizer that revives": ("kept = []\nclass A:\n    def __del__(self):\n        kept.append(self)\nA()\nlen(kept)", (None,)),
    # Ends of other kinds.
    "an interrupt": ("raise KeyboardInterrupt", ("code_error",)),
    "an error whose text ends the program": ("class E(Exception):\n    def __str__(self):\n        raise SystemExit\nraise E", ("code_error", None)),
    "standard output closed": ("import sys\nsys.stdout.close()\nsys.stdout = None\nprint('x')\n5", (None,)),
    "standard output replaced": ("import sys\nsys.stdout = 5\nprint('x')", ("code_error",)),
    "a list changed while it is sorted": ("x = []\nclass K:\n    def __lt__(s, o):\n        x.append(1)\n        return True\nx[:] = [K(), K()]\nx.sort()", ("code_error",)),
}  # fmt: skip

# Errors that resist being described: what ended the program, and in which line, is said all the same.
ERRORS: dict[str, tuple[str, str, int]] = {
    "a chain of causes": ("e = None\nfor i in range(50000):\n    n = ValueError(i)\n    n.__cause__, e = e, n\nraise e", "ValueError", 5),
    "a group of groups": ("e = ValueError(1)\nfor i in range(5000):\n    e = ExceptionGroup('g', [e])\nraise e", "ExceptionGroup", 4),
    "a wide group": ("raise ExceptionGroup('g', [ValueError('y' * 1000) for i in range(50000)])", "ExceptionGroup", 1),
    "a cycle of causes": ("a, b = ValueError(1), ValueError(2)\na.__cause__, b.__cause__ = b, a\nraise a", "ValueError", 3),
    "an exit whose text fails": ("class R:\n    def __eq__(self, other):\n        raise ValueError\nraise SystemExit(R())", "SystemExit", 4),
    "a class without a name": ("class M(type):\n    __name__ = __module__ = property(lambda self: 1 / 0)\nclass E(Exception, metaclass=M): pass\nraise E", "E", 4),
    "an error without a stack": ("class E(Exception):\n    __traceback__ = __cause__ = property(lambda self: 1 / 0)\nraise E", "E", 3),
    "a group without errors": ("class G(ExceptionGroup):\n    exceptions = property(lambda self: 1 / 0)\nraise G('g', [ValueError()])", "G", 3),
}  # fmt: skip


def kernel_status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


async def step_of(runtime: PythonRuntime, code: str, cpu_ms: int = ENOUGH_MS) -> Step:
    sandbox = await runtime.open()
    try:
        return await sandbox.start(program(code, cpu_ms=cpu_ms, memory_bytes=MEGABYTES))
    finally:
        await sandbox.close()


async def end_of(runtime: PythonRuntime, code: str, cpu_ms: int = ENOUGH_MS) -> str | None:
    """How the program ends, with the worker unharmed and the next program right."""
    await value_of(runtime, "1 + 1")
    workers = runtime.worker_pids
    try:
        step = await step_of(runtime, code, cpu_ms)
    except SandboxLost:
        pytest.fail("the worker died of it")
    assert runtime.worker_pids == workers
    assert await value_of(runtime, "1 + 1") == 2
    return step.failure.code if step.failure else None


@loop
@pytest.mark.parametrize("name", SPINS)
async def test_a_program_that_spins_is_stopped(runtime: PythonRuntime, name: str) -> None:
    assert await end_of(runtime, SPINS[name], SPIN_MS) == "cpu_limit"


@loop
@pytest.mark.parametrize("name", BOMBS)
async def test_a_program_that_wants_all_memory_is_stopped(runtime: PythonRuntime, name: str) -> None:
    assert await end_of(runtime, BOMBS[name]) == "memory_limit"


@loop
@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_program_is_contained(runtime: PythonRuntime, name: str) -> None:
    code, right = CASES[name]
    assert await end_of(runtime, code) in right


@loop
async def test_lines_printed_before_the_end_by_force_are_kept(runtime: PythonRuntime) -> None:
    for end in ("while True:\n    pass", "import os\nos.abort()"):
        step = await step_of(runtime, f"for n in range(100):\n    print('line', n)\n{end}", 300)
        assert step.failure is not None
        assert [log.text for log in step.logs] == [f"line {n}" for n in range(63)]


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
@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_that_resists_being_described_is_reported_with_its_line(
    runtime: PythonRuntime, name: str
) -> None:
    code, kind, line = ERRORS[name]
    step = await step_of(runtime, code)
    assert step.failure is not None
    assert step.failure.code == "code_error"
    assert (step.failure.details["name"], step.failure.details["line"]) == (kind, line)


@loop
@pytest.mark.parametrize("code", sorted(OUTSIDE_CODES))
async def test_code_cant_claim_a_failure_that_comes_from_outside(runtime: PythonRuntime, code: str) -> None:
    forged = json.dumps({"code": code, "message": "m", "hint": "", "details": {}})
    step = await step_of(runtime, f"{DRIVER}host.end = {'f' + forged + chr(10)!r}")
    assert step.failure is not None
    assert (step.failure.code, step.failure.message) == ("code_error", "m")


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
