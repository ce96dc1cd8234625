"""Machines that are prepared ahead: the same as new ones, only sooner."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.runtime.typescript import image
from executor.runtime.typescript.machine import Machine
from executor.runtime.typescript.spare_machine import PAGE, SpareMachine
from executor.runtime.typescript.worker_main import warm_up
from executor.runtime.worker.wasmtime_ffi import Engine, Module

GREEDY = b"""(async function () {
  const kept = [];
  try { for (;;) kept.push(new Uint8Array(1 << 20)); } catch { return kept.length; }
})"""


@pytest.fixture
def module(cache_dir: Path) -> Module:
    return Module.load(Engine(), image.ensure(cache_dir))


def test_a_prepared_machine_is_the_next_that_is_taken_and_no_one_gets_it_twice(module: Module) -> None:
    spare = SpareMachine(module, warm_up(module))
    spare.prepare()
    spare.prepare()
    prepared = spare._spare[0]
    assert [spare.take(64 << 20) is prepared for _ in range(3)] == [True, False, False]


def test_preparing_changes_nothing_in_a_machine(module: Module) -> None:
    spare = SpareMachine(module, warm_up(module))
    spare.prepare()
    assert spare.take(64 << 20).memory() == Machine(module, 64 << 20).memory()


def test_what_programs_write_is_few_whole_pages(module: Module) -> None:
    written = warm_up(module)
    assert written == sorted(written)
    assert all(begin < end and begin % PAGE == end % PAGE == 0 for begin, end in written)
    assert 0 < sum(end - begin for begin, end in written) < Machine(module, 64 << 20).size // 2


def test_a_machine_is_bounded_by_the_program_that_takes_it(module: Module) -> None:
    spare = SpareMachine(module)
    found = []
    for limit in (8 << 20, 32 << 20):
        spare.prepare()
        machine = spare.take(limit)
        machine.boot(
            0,
            b'{"seed":[1,2,3,4],"calls":1,"output":1000,"logs":1000,"offset":0,"callable":false,"end":[0,0],"stray":[0,0],"inserted":[0,0]}',
        )
        found.append(int(machine.start(0, GREEDY)[1:]))
        assert machine.size <= limit
    assert 0 < found[0] < 8 <= found[1] < 32
