"""Workers die; executions don't. And what is called by address has the layout that the library has."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import pytest_asyncio

from executor.errors import EngineMissing, SandboxLost
from executor.runtime.protocol import Answer
from executor.runtime.python import component_ffi, image, machine
from executor.runtime.python.machine import Machine
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import CLOCK, program, value_of


@pytest_asyncio.fixture
async def own() -> AsyncIterator[PythonRuntime]:
    started = PythonRuntime(workers=1, slots=2, cache_dir=image.BESIDE)
    await started.start()
    yield started
    await started.close()


async def test_a_worker_that_is_killed_loses_its_programs_and_is_replaced(own: PythonRuntime) -> None:
    sandbox = await own.open()
    await sandbox.start(program("await tools.a.b(n=1)\n'one'"))
    os.kill(own.worker_pids[0], signal.SIGKILL)
    with pytest.raises(SandboxLost):
        await sandbox.answer(Answer(1, CLOCK, value="1"))
    await sandbox.close()
    assert await value_of(own, "1 + 1") == 2


async def test_a_program_that_is_given_up_is_stopped_and_its_place_serves_the_next(own: PythonRuntime) -> None:
    for code in ("while True:\n    pass", "await tools.a.b()", "import time\ntime.sleep(60)"):
        sandboxes = [await own.open(), await own.open()]
        running = [asyncio.ensure_future(sandbox.start(program(code, cpu_ms=60_000))) for sandbox in sandboxes]
        await asyncio.sleep(0)
        for task, sandbox in zip(running, sandboxes, strict=True):
            task.cancel()
            await sandbox.close()
        await asyncio.gather(*running, return_exceptions=True)
        assert await value_of(own, "1 + 1") == 2


async def test_programs_side_by_side_keep_their_names_and_numbers_apart(own: PythonRuntime) -> None:
    code = "import random\nmine = {n}\nfirst = random.random()\nawait tools.a.b()\n[mine, first, random.random()]"
    alone = [await _to_end(own, code.format(n=n)) for n in range(4)]
    together = await asyncio.gather(*(_to_end(own, code.format(n=n)) for n in range(4)))
    assert list(together) == alone


class SlowDict(dict[int, Machine]):
    """Lets other threads go on while it is looked through."""

    def __iter__(self) -> Iterator[int]:
        yield from list(self.keys())
        time.sleep(0.005)


def test_machines_that_threads_make_at_the_same_time_have_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_machines", SlowDict())
    component = component_ffi.Component.load(component_ffi.new_engine(), image.ensure(image.BESIDE))
    linker = machine.link(component)
    with ThreadPoolExecutor(8) as threads:
        machines = list(threads.map(lambda _: Machine(component, linker, 1 << 30), range(24)))
    stepped: list[int] = []
    for number, one in enumerate(machines):
        one.on_step = lambda output, number=number: stepped.append(number) or b"1 1 1\n0"  # type: ignore[misc]
    for one in machines:
        one.run(b"00 0 1 1000 1000\nawait tools.a.b()")
        one.close()
    assert stepped == list(range(24))


async def _to_end(runtime: PythonRuntime, code: str) -> str | None:
    sandbox = await runtime.open()
    try:
        await sandbox.start(program(code))
        return (await sandbox.answer(Answer(1, CLOCK, value="null"))).value
    finally:
        await sandbox.close()


def test_the_layouts_are_those_of_the_library() -> None:
    from wasmtime import _bindings as bindings

    assert ctypes.sizeof(component_ffi.Value) == ctypes.sizeof(bindings.wasmtime_component_val_t)
    assert component_ffi.Value.of.offset == bindings.wasmtime_component_val_t.of.offset
    assert ctypes.sizeof(component_ffi.Field) == ctypes.sizeof(bindings.wasmtime_component_valrecord_entry_t)
    assert ctypes.sizeof(component_ffi.Function) == ctypes.sizeof(bindings.wasmtime_component_func_t)
    assert ctypes.sizeof(component_ffi.Instance) == ctypes.sizeof(bindings.wasmtime_component_instance_t)


def test_a_component_that_was_not_built_is_missed_with_a_hint(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "COMPONENT", image.COMPONENT.with_name("absent.wasm"))
    with pytest.raises(EngineMissing, match=r"absent\.wasm"):
        image.key()
