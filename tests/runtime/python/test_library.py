# ruff: noqa: E501 - a table: programs
"""The standard library: all of it that needs no operating system, and asyncio and threading true to Python."""

from __future__ import annotations

from typing import Any

import pytest

from executor.runtime.python.hints import advice
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import failure_of, outcome, value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Modules of the standard library that need an operating system or a library that is not there.
LACKING = """
    bz2 ctypes curses ensurepip fcntl grp lzma mmap msvcrt multiprocessing nt pty pwd pydoc_data readline resource ssl
    syslog termios tkinter tty turtle turtledemo venv winreg winsound
"""


async def test_every_module_of_the_standard_library_is_there_or_needs_more_than_there_is(
    runtime: PythonRuntime,
) -> None:
    code = """\
import importlib, sys
lacking = {}
for name in sorted(sys.stdlib_module_names - {"antigravity", "this", "idlelib", "__main__"}):
    try:
        if not name.startswith("_"):
            importlib.import_module(name)
    except ImportError as error:
        lacking[name] = f"{type(error).__name__}: {error}"
lacking
"""
    lacking = await value_of(runtime, code, memory_bytes=256 << 20, cpu_ms=20_000)
    assert sorted(lacking) == LACKING.split()
    general = advice("No module named 'something'")
    assert [name for name, said in lacking.items() if advice(said) == general] == ["nt", "pydoc_data"]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (
            "loop, seen = asyncio.get_running_loop(), []\nloop.set_exception_handler(lambda loop, c: seen.append(str(c['exception'])))\n"
            "loop.call_soon(lambda: 1 / 0)\nawait asyncio.sleep(0)\nseen",
            ["division by zero"],
        ),
        (
            "asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)\nlog = []\nasync def f():\n    log.append(1)\n"
            "task = asyncio.create_task(f())\nlog.append(2)\nawait task\nlog",
            [1, 2],
        ),
        (
            "log = []\nasync def left():\n    try:\n        await asyncio.sleep(60)\n    finally:\n        log.append('cleaned')\n"
            "async def main():\n    asyncio.create_task(left())\n    await asyncio.sleep(0)\n    return 'done'\n[asyncio.run(main()), log]",
            ["done", ["cleaned"]],
        ),
        (
            "async def one(n):\n    return n\ndef inner():\n    return asyncio.run(one(1))\nasync def outer():\n"
            "    task = asyncio.create_task(asyncio.sleep(0.01, 2))\n    return [inner(), await task]\nasyncio.run(outer())",
            [1, 2],
        ),
        ("import threading\nthreading.Event().wait(0.5)", False),
    ],
)
async def test_what_asyncio_and_threading_offer_is_true_to_python(
    runtime: PythonRuntime, code: str, value: Any
) -> None:
    assert await outcome(runtime, f"import asyncio\n{code}", {}) == value


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import threading\nthreading.Event().wait()", "waits for something that never comes"),
        ("import queue\nqueue.Queue().get()", "waits for something that never comes"),
        ("import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()", "a lock that nothing releases"),
        ("import os\nos.abort()", "os.abort()"),
        ("import asyncio\nawait asyncio.open_connection('a', 1)", "no network"),
        ("import asyncio\nawait asyncio.create_subprocess_shell('ls')", "no processes"),
    ],
)
async def test_what_cant_be_waited_for_is_an_error_of_the_code(runtime: PythonRuntime, code: str, message: str) -> None:
    failure = await failure_of(runtime, code)
    assert failure.code == "code_error"
    assert message in failure.message
    assert failure.hint
