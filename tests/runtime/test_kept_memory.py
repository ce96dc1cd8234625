"""Machines one after the other in the same memory: each is as new, whatever the one before did."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from executor.runtime.typescript import image
from executor.runtime.typescript.machine import Machine
from executor.runtime.typescript.worker_main import warm_up
from executor.runtime.worker import wasmtime_ffi
from executor.runtime.worker.wasmtime_ffi import Engine, Module, WasmError

MARK = b"left behind by another program"
SETTINGS = (
    b'{"seed":[1,2,3,4],"calls":1,"output":1000,"logs":1000,"offset":0,"callable":false,'
    b'"end":[0,0],"stray":[0,0],"inserted":[0,0]}'
)
GREEDY = b"""(async function () {
  const kept = [];
  try { for (;;) kept.push(new Uint8Array(1 << 20).fill(7)); } catch { return kept.length; }
})"""
LEAVES_MARKS = b"""(async function () {
  const kept = [];
  for (let n = 0; n < 2000; n++) kept.push("%s" + n);
  const block = new Uint8Array(24 << 20);
  for (let at = 0; at < block.length; at += 1000) block.set([...%s], at);
  globalThis.kept = [kept, block];
  Object.prototype.stolen = kept;
  return kept.length;
})""" % (MARK, str(list(MARK)).encode())
LOOKS_AROUND = b"""(async function () { return [typeof kept, typeof ({}).stolen].join(); })"""


@pytest.fixture
def module(cache_dir: Path) -> Module:
    return Module.load(Engine(instances=1), image.ensure(cache_dir))


@pytest.fixture
def fresh(cache_dir: Path) -> bytes:
    """The memory of a machine that shares its place with no other."""
    return Machine(Module.load(Engine(), image.ensure(cache_dir)), 64 << 20).memory()


def run(machine: Machine, code: bytes) -> bytes:
    machine.boot(0, SETTINGS)
    return machine.start(0, code)


def test_a_machine_finds_nothing_of_the_one_before_it(module: Module, fresh: bytes) -> None:
    first = Machine(module, 64 << 20)
    place = first.address
    assert run(first, LEAVES_MARKS) == b"v2000\n"
    assert MARK in first.memory()
    assert first.size > 24 << 20
    first.close()

    second = Machine(module, 64 << 20)
    assert (second.address, second.memory()) == (place, fresh)
    assert run(second, LOOKS_AROUND) == b'v"undefined,undefined"\n'
    second.close()

    third = Machine(module, 64 << 20)
    assert int(run(third, GREEDY)[1:]) > 24
    assert MARK not in third.memory()


def test_what_was_never_written_to_is_zero_after_another_program_had_it(module: Module) -> None:
    first = Machine(module, 64 << 20)
    run(first, GREEDY)
    first.close()
    second = Machine(module, 64 << 20)
    before = second.size
    second.boot(0, SETTINGS)
    second.start(0, b"(async function () { globalThis.kept = new ArrayBuffer(16 << 20); return 1; })")
    grown = second.memory()[before + (1 << 20) : before + (15 << 20)]
    assert len(grown) == 14 << 20
    assert not any(grown[at : at + 4096] != bytes(4096) for at in range(0, len(grown), 4096))


def test_a_machine_is_bounded_by_its_own_limit_and_not_by_the_one_before_it(module: Module) -> None:
    found = []
    for limit in (32 << 20, 8 << 20, 32 << 20):
        machine = Machine(module, limit)
        found.append(int(run(machine, GREEDY)[1:]))
        assert machine.size <= limit
        machine.close()
    assert 8 <= found[0] < 32
    assert 0 < found[1] < 8
    assert found[2] == found[0]


def test_there_are_as_many_places_as_were_asked_for(cache_dir: Path) -> None:
    module = Module.load(Engine(instances=2), image.ensure(cache_dir))
    machines = [Machine(module, 64 << 20) for _ in range(2)]
    with pytest.raises(WasmError, match="limit of 2"):
        Machine(module, 64 << 20)
    machines[0].close()
    warm_up(module)
    assert run(machines[1], LOOKS_AROUND) == b'v"undefined,undefined"\n'


@pytest.mark.parametrize(("most", "may"), [(resource.RLIM_INFINITY, True), (100 << 32, True), (20 << 32, False)])
def test_places_are_reserved_only_where_the_process_may_have_the_addresses(
    most: int, may: bool, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (most, most))
    monkeypatch.setattr(wasmtime_ffi, "keep_memory", lambda config, instances: asked.append(instances))
    module = Module.load(Engine(instances=16), image.ensure(cache_dir))
    assert asked == ([16] if may else [])
    assert run(Machine(module, 64 << 20), LOOKS_AROUND) == b'v"undefined,undefined"\n'
