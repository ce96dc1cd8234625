"""One program, from its text to its last line."""

from __future__ import annotations

import asyncio
import builtins
import sys
import types
from asyncio import events
from inspect import isawaitable
from typing import Any

import failures
import surroundings
import values
from host import Ended, Host, failure_line
from loop import Loop
from source import FILE, RESULT, compile_program
from tools import Bridge, Tool, ToolError, error_of


def run(message: str) -> str:
    """`message`: one line of settings (seed, clock, limits), then the code."""
    head, _, text = message.partition("\n")
    seed, clock_ms, calls, output_bytes, log_bytes = head.split(" ")
    host = Host(int(clock_ms), int(calls), int(output_bytes), int(log_bytes))
    loop = Loop(host)
    bridge = Bridge(host, loop)
    loop.deliver = bridge.deliver
    surroundings.enter(host, b"random" + bytes.fromhex(seed))
    events._set_running_loop(loop)
    main = _module(bridge, text)
    last = _last_line(host, loop, bridge, main, text)
    return host.flush(last=last)


def _module(bridge: Bridge, text: str) -> types.ModuleType:
    import linecache

    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=FILE, tools=Tool(bridge, ""))
    main.__dict__.update(ToolError=ToolError, error_of=error_of)
    sys.modules["__main__"] = main
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    return main


def _last_line(host: Host, loop: Loop, bridge: Bridge, main: types.ModuleType, text: str) -> str:
    try:
        code = compile_program(text)
    except MemoryError as error:
        return failures.of_syntax(error) if error.args else failures.out_of_memory()
    except (SyntaxError, ValueError, RecursionError) as error:
        return failures.of_syntax(error)
    try:
        value = _result(loop, main, code)
        return host.end or _value_line(value, host.output_bytes)
    except Ended:
        return host.end or failure_line("code_error", "the program ended itself")
    except MemoryError:
        main.__dict__.clear()
        return host.end or failures.out_of_memory()
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is the program's end
        sys.last_exc = error  # freeing a long chain of errors would run out of stack
        return host.end or failures.describe(error, bridge.given)


def _result(loop: Loop, main: types.ModuleType, code: types.CodeType) -> Any:
    running = eval(code, main.__dict__)  # noqa: S307 - running it is the purpose
    if isawaitable(running):
        _run_to_end(loop, running)
    value = main.__dict__.pop(RESULT, None)
    if isawaitable(value):
        value = loop.run_until_complete(value if asyncio.isfuture(value) else loop.create_task(value))
    return value


def _run_to_end(loop: Loop, running: Any) -> None:
    """A task can't end with StopIteration, but a program can: `next(...)` of nothing, outside of functions."""
    try:
        loop.run_until_complete(loop.create_task(running))
    except RuntimeError as error:
        if isinstance(error.__cause__, StopIteration) and str(error).startswith("StopIteration interacts badly"):
            raise error.__cause__ from None
        raise


def _value_line(value: Any, most: int) -> str:
    try:
        text = values.write(value, most)
    except values.Flaw as flaw:
        return failures.unserializable(flaw)
    except RecursionError:
        return failures.unserializable(values.Flaw("nested too deeply"))
    except values.TooLarge:
        return failures.too_large(most)
    return f"v{text}\n"
