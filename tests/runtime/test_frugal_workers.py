"""A frugal runtime, as the daemon has: processes that nothing needed yet are not started."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from executor.errors import DataDirectoryUnusable
from executor.runtime.typescript.runtime import TypeScriptRuntime
from executor.runtime.worker.process import Stream, Worker
from tests.runtime.program_driver import program, value_of
from tests.support.conditions import until

CALL = "return await tools.a.b({})"


@pytest_asyncio.fixture
async def frugal(cache_dir: Path) -> AsyncIterator[TypeScriptRuntime]:
    started = TypeScriptRuntime(workers=3, slots=4, cache_dir=cache_dir, is_frugal=True)
    await started.start()
    yield started
    await started.close()


def children_of(runtime: TypeScriptRuntime) -> int:
    return sum(child.pid in runtime.worker_pids for child in psutil.Process().children())


async def test_one_program_after_the_other_needs_one_worker_and_nothing_else(frugal: TypeScriptRuntime) -> None:
    before = len(psutil.Process().children())
    assert [await value_of(frugal, f"return {n}") for n in range(5)] == [0, 1, 2, 3, 4]
    assert children_of(frugal) == 1
    assert len(psutil.Process().children()) == before


async def test_two_programs_at_once_start_all_workers(frugal: TypeScriptRuntime) -> None:
    sandboxes = [await frugal.open() for _ in range(2)]
    for sandbox in sandboxes:
        await sandbox.start(program(CALL))
    await until(lambda: children_of(frugal) == 3)
    for sandbox in sandboxes:
        await sandbox.close()
    assert await value_of(frugal, "return 1 + 1") == 2
    assert children_of(frugal) == 3


async def test_a_program_that_finds_no_place_starts_all_workers(cache_dir: Path) -> None:
    runtime = TypeScriptRuntime(workers=2, slots=1, cache_dir=cache_dir, is_frugal=True)
    await runtime.start()
    first = await runtime.open()
    second = await runtime.open()
    assert (await second.start(program("return 1"))).value == "1"
    await first.close()
    await second.close()
    await runtime.close()


async def test_types_are_taken_out_though_nothing_was_started_for_them(frugal: TypeScriptRuntime) -> None:
    assert await value_of(frugal, "const n: number = 41; return n + 1") == 42


async def test_the_only_worker_is_replaced_when_it_dies(frugal: TypeScriptRuntime) -> None:
    (pid,) = frugal.worker_pids
    os.kill(pid, signal.SIGKILL)
    await until(lambda: pid not in frugal.worker_pids)
    assert await value_of(frugal, "return 1 + 1") == 2


async def test_workers_that_could_not_be_started_are_started_by_a_later_program(
    frugal: TypeScriptRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> Path:
        raise DataDirectoryUnusable("on purpose", hint="")

    with monkeypatch.context() as broken:
        broken.setattr(frugal, "_ensure_image", fail)
        sandboxes = [await frugal.open() for _ in range(3)]
        await until(lambda: frugal._absent == 2 and not frugal._tasks)
    sandboxes.append(await frugal.open())
    await until(lambda: children_of(frugal) == 3)
    for sandbox in sandboxes:
        await sandbox.close()


async def test_a_worker_gets_programs_only_when_each_of_its_places_can_be_reached(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy daemon may take longer to connect to the places of a worker than the worker to start."""
    connect, unreached = Worker._connect, list[int]()

    async def connect_late(worker: Worker, end: socket.socket, stream: Stream) -> None:
        if stream is not worker.control and worker.control.transport is not None:
            await until(worker.ready.done)
        await connect(worker, end, stream)

    def note(worker: Worker) -> None:
        unreached.extend(place.index for place in worker.free if place.stream.transport is None)

    monkeypatch.setattr(Worker, "_connect", connect_late)
    runtime = TypeScriptRuntime(workers=1, slots=4, cache_dir=cache_dir)
    monkeypatch.setattr(runtime, "_on_ready", note)
    await runtime.start()
    assert unreached == []
    await runtime.close()
