"""Programs that burn CPU time without end leave room for those that don't."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from executor.errors import SandboxLost
from executor.runtime.protocol import Answer, Program
from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import CLOCK, failure_of, program, value_of
from tests.support.conditions import until

ENDLESS = "for (;;);"


@pytest_asyncio.fixture
async def own(cache_dir: Path) -> AsyncIterator[TypeScriptRuntime]:
    """Eight places, of which hogs may hold six."""
    started = TypeScriptRuntime(workers=2, slots=4, cache_dir=cache_dir)
    await started.start()
    await until(lambda: sum(len(worker.free) for worker in started._workers) == 8)
    yield started
    await started.close()


def hog(number: int) -> Program:
    return program(ENDLESS, seed=number.to_bytes(16, "little"), cpu_ms=600_000)


async def run(runtime: TypeScriptRuntime, given: Program) -> None:
    sandbox = await runtime.open()
    try:
        await sandbox.start(given)
    finally:
        await sandbox.close()


async def stop(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_small_program_is_served_though_hogs_would_fill_every_place(own: TypeScriptRuntime) -> None:
    pids = own.worker_pids
    hogs = [asyncio.create_task(run(own, hog(number))) for number in range(40)]
    await asyncio.sleep(0)
    for _ in range(5):
        assert await value_of(own, "return 1 + 1") == 2
    assert not any(task.done() for task in hogs)
    assert own.worker_pids == pids
    await stop(hogs)
    assert await value_of(own, "return 1 + 1") == 2
    assert own.worker_pids == pids


async def test_hogs_keep_every_place_while_no_one_else_wants_one(own: TypeScriptRuntime) -> None:
    hogs = [asyncio.create_task(run(own, hog(number))) for number in range(8)]
    places = [place for worker in own._workers for place in worker.places]
    await until(lambda: all(place.hog_since is not None for place in places))
    assert not own.turns._known
    await stop(hogs)


async def test_an_evicted_hog_is_run_again_and_comes_to_its_end(own: TypeScriptRuntime) -> None:
    codes = [asyncio.create_task(failure_of(own, ENDLESS, cpu_ms=200, seed=bytes([n] * 16))) for n in range(20)]
    failures = await asyncio.gather(*codes)
    assert {failure.code for failure in failures} == {"cpu_limit"}
    assert own.turns._known


async def test_a_hog_evicted_after_a_call_learns_that_it_is_innocent_and_waits_its_turn(
    own: TypeScriptRuntime,
) -> None:
    late = program("await tools.a.b({}); for (;;);", cpu_ms=600_000)
    hogs = [asyncio.create_task(run(own, hog(number))) for number in range(6)]
    await until(lambda: own.turns._held_by_hogs == 6)
    sandboxes = [await own.open(), await own.open()]
    for sandbox in sandboxes:
        await sandbox.start(late)
    steps = [asyncio.create_task(sandbox.answer(Answer(1, CLOCK, value="1"))) for sandbox in sandboxes]
    await until(lambda: own.turns._held_by_hogs == 8)
    assert await value_of(own, "return 1 + 1") == 2
    done, _ = await asyncio.wait(steps, return_when=asyncio.FIRST_COMPLETED)
    with pytest.raises(SandboxLost) as lost:
        await next(iter(done))
    assert lost.value.details == {"innocent": True}
    assert own.turns.is_known(late)
    for sandbox in sandboxes:
        await sandbox.close()
    again = asyncio.create_task(run(own, late))
    await until(lambda: len(own.turns._hogs) == 1)
    await stop([hogs.pop()])
    await asyncio.wait_for(again, 120)
    await stop(hogs)
    await asyncio.gather(*steps, return_exceptions=True)
