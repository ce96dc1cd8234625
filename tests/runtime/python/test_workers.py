"""Workers and their interpreters die; executions don't."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import psutil
import pytest
import pytest_asyncio

from executor.errors import SandboxLost
from executor.runtime.protocol import Answer
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import CLOCK, program, value_of
from tests.support.conditions import until


@pytest_asyncio.fixture
async def own() -> AsyncIterator[PythonRuntime]:
    started = PythonRuntime(workers=1, slots=2)
    await started.start()
    yield started
    await started.close()


def interpreters(runtime: PythonRuntime) -> list[psutil.Process]:
    return [child for pid in runtime.worker_pids for child in psutil.Process(pid).children()]


async def test_an_interpreter_that_is_killed_loses_its_program_alone(own: PythonRuntime) -> None:
    sandboxes = [await own.open(), await own.open()]
    codes = ("await tools.a.b(n=1)\n'one'", "await tools.a.b(n=2)\n'two'")
    await sandboxes[0].start(program(codes[0]))
    [first] = interpreters(own)
    await sandboxes[1].start(program(codes[1]))
    first.kill()
    with pytest.raises(SandboxLost):
        await sandboxes[0].answer(Answer(1, CLOCK, value="1"))
    assert (await sandboxes[1].answer(Answer(1, CLOCK, value="1"))).value == '"two"'
    for sandbox in sandboxes:
        await sandbox.close()
    assert [await value_of(own, "1 + 1") for _ in range(4)] == [2] * 4


async def test_a_worker_that_is_killed_is_replaced_and_takes_its_interpreters_along(own: PythonRuntime) -> None:
    sandbox = await own.open()
    running = asyncio.ensure_future(sandbox.start(program("while True:\n    pass", cpu_ms=2_000)))
    await until(lambda: own.open_sandboxes and interpreters(own))
    before = interpreters(own)
    os.kill(own.worker_pids[0], signal.SIGKILL)
    with pytest.raises(SandboxLost):
        await running
    await sandbox.close()
    assert await value_of(own, "1 + 1") == 2
    _, alive = await asyncio.to_thread(psutil.wait_procs, before, timeout=60)
    assert alive == []


async def test_a_program_that_is_given_up_is_stopped_and_its_place_serves_the_next(own: PythonRuntime) -> None:
    for _ in range(3):
        sandboxes = [await own.open(), await own.open()]
        running = [
            asyncio.ensure_future(sandbox.start(program("while True:\n    pass", cpu_ms=60_000)))
            for sandbox in sandboxes
        ]
        await asyncio.sleep(0)
        for task, sandbox in zip(running, sandboxes, strict=True):
            task.cancel()
            await sandbox.close()
        await asyncio.gather(*running, return_exceptions=True)
        assert await value_of(own, "1 + 1") == 2


async def test_programs_side_by_side_keep_their_names_and_numbers_apart(own: PythonRuntime) -> None:
    code = "import random\nmine = {n}\nfirst = random.random()\nawait tools.a.b()\n[mine, first, random.random()]"
    alone = [await _to_end(own, code.format(n=n)) for n in range(6)]
    together = await asyncio.gather(*(_to_end(own, code.format(n=n)) for n in range(6)))
    assert list(together) == alone


async def _to_end(runtime: PythonRuntime, code: str) -> str | None:
    sandbox = await runtime.open()
    try:
        await sandbox.start(program(code))
        return (await sandbox.answer(Answer(1, CLOCK, value="null"))).value
    finally:
        await sandbox.close()


async def test_the_interpreters_of_a_burst_go_once_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executor.runtime.worker.pool._REST_SECONDS", 0.2)
    runtime = PythonRuntime(workers=1, slots=4)
    await runtime.start()
    try:
        sandboxes = [await runtime.open() for _ in range(4)]
        for sandbox in sandboxes:
            await sandbox.start(program("await tools.a.b(n=1)"))
        before, pids = interpreters(runtime), runtime.worker_pids
        assert len(before) == 4
        for sandbox in sandboxes:
            await sandbox.close()
        await until(lambda: len(interpreters(runtime)) <= 1 and runtime.worker_pids != pids)
        assert await value_of(runtime, "1 + 1") == 2
        _, alive = await asyncio.to_thread(psutil.wait_procs, before, timeout=60)
        assert alive == [] and len(runtime.worker_pids) == 1
    finally:
        await runtime.close()
