"""One program's machine: a fresh instance of the image, with its own memory, clock, chance and limits.

An instance gets of the host: the time, random bytes, and `step`. Files, sockets, processes and the rest of WASI are not
linked at all: code that gets as far as calling one is stopped.
"""

from __future__ import annotations

from _random import Random
from collections.abc import Callable
from ctypes import byref
from itertools import count
from typing import Any

from executor.runtime.python.component_ffi import (
    U32,
    U64,
    Component,
    Function,
    Instance,
    Linker,
    Value,
    host_function,
    put_nothing,
    put_number,
    put_octets,
    put_record,
    put_resource,
    put_text,
    text_of,
)
from executor.runtime.worker.wasmtime_ffi import WasmError, check, lib

_MOST_ENTROPY = 1 << 16
_INPUT, _OUTPUT = 1, 2  # kinds of resources: streams that lead nowhere
_WASI = "@0.2.9"
_machines: dict[int, Machine] = {}  # by the number that its store carries
_numbers = count(1)  # threads make machines at the same time: each must get a number of its own


class Machine:
    """`on_step` gets the lines of a step and gives the next answer, with the clock set; it may raise to end it all."""

    def __init__(self, component: Component, linker: Linker, memory_bytes: int) -> None:
        self._number = next(_numbers)
        _machines[self._number] = self
        self.store: int | None = lib.wasmtime_store_new(component.engine.pointer, self._number, None)
        self._context: int = lib.wasmtime_store_context(self.store)
        self.on_step: Callable[[bytes], bytes] = _no_step
        self.clock_ms = self._began_ms = 0
        self._entropy = Random(0)
        self._error: BaseException | None = None
        self.limit(memory_bytes)
        self.deadline(1 << 40)
        instance, self._run = Instance(), Function()
        check(
            lib.wasmtime_component_linker_instantiate(linker.pointer, self._context, component.pointer, byref(instance))
        )
        if not lib.wasmtime_component_instance_get_func(
            byref(instance), self._context, component.entry, byref(self._run)
        ):
            raise WasmError("the image exports no run")

    def limit(self, memory_bytes: int) -> None:
        lib.wasmtime_store_limiter(self.store, memory_bytes, -1, -1, -1, -1)

    def watch(self, on_deadline: object) -> None:
        lib.wasmtime_store_epoch_deadline_callback(self.store, on_deadline, None, None)

    def deadline(self, ticks: int) -> None:
        lib.wasmtime_context_set_epoch_deadline(self._context, ticks)

    def begin(self, seed: bytes, clock_ms: int) -> None:
        self.clock_ms = self._began_ms = clock_ms
        self._entropy = Random(int.from_bytes(b"entropy" + seed, "little"))

    def run(self, program: bytes) -> bytes:
        """The program's last lines. Raises what `on_step` raised, or WasmError if the engine stopped the program."""
        argument, result = Value(), Value()
        put_text(argument, program)
        try:
            error = lib.wasmtime_component_func_call(
                byref(self._run), self._context, byref(argument), 1, byref(result), 1
            )
            if error:
                self._raise(error)
            output = text_of(result)
            lib.wasmtime_component_val_delete(byref(result))
            return output
        finally:
            lib.wasmtime_component_val_delete(byref(argument))

    def _raise(self, error: int) -> None:
        own, self._error = self._error, None
        try:
            check(error)
        except WasmError:
            if own is not None:
                raise own from None
            raise

    def step(self, output: bytes) -> bytes:
        try:
            return self.on_step(output)
        except BaseException as error:
            self._error = error
            raise

    def random_octets(self, count: int) -> bytes:
        if count > _MOST_ENTROPY:
            raise ValueError("too many random bytes at once")
        return self._entropy.getrandbits(8 * count).to_bytes(count, "little") if count else b""

    @property
    def elapsed_ns(self) -> int:
        return max(0, self.clock_ms - self._began_ms) * 1_000_000

    def close(self) -> None:
        if self.store:
            lib.wasmtime_store_delete(self.store)
            self.store = None
            _machines.pop(self._number, None)


def _no_step(output: bytes) -> bytes:
    raise RuntimeError("the machine is not in use")


def link(component: Component) -> Linker:
    """One for all machines of a process: each function finds its machine by the number in the store."""
    linker = Linker(component)
    linker.define("", {"step": host_function(_step)})
    linker.define(f"wasi:clocks/wall-clock{_WASI}", {"now": host_function(_wall_clock), "resolution": _resolution()})
    clock = {
        "now": host_function(_monotonic_clock),
        "resolution": host_function(lambda c, a, r: put_number(_first(r), 1_000_000)),
    }
    linker.define(f"wasi:clocks/monotonic-clock{_WASI}", clock)
    chance = {"get-random-bytes": host_function(_random), "get-random-u64": host_function(_random_number)}
    linker.define(f"wasi:random/random{_WASI}", chance)
    empty, nothing = host_function(lambda c, a, r: put_octets(_first(r), b"")), host_function(_nothing)
    surroundings = {"get-environment": empty, "get-arguments": empty, "initial-cwd": nothing}
    linker.define(f"wasi:cli/environment{_WASI}", surroundings)
    linker.define(f"wasi:filesystem/preopens{_WASI}", {"get-directories": empty})
    linker.define(f"wasi:io/streams{_WASI}", {}, {"input-stream": _INPUT, "output-stream": _OUTPUT})
    for number, (name, kind) in enumerate((("stdin", _INPUT), ("stdout", _OUTPUT), ("stderr", _OUTPUT))):
        linker.define(f"wasi:cli/terminal-{name}{_WASI}", {f"get-terminal-{name}": nothing})
        linker.define(f"wasi:cli/{name}{_WASI}", {f"get-{name}": _stream(number, kind)})
    linker.finish()
    return linker


def _of(context: int) -> Machine:
    return _machines[lib.wasmtime_context_get_data(context)]


def _first(values: Any) -> Value:
    first: Value = values[0]
    return first


def _step(context: int, arguments: Any, results: Any) -> None:
    put_text(_first(results), _of(context).step(text_of(_first(arguments))))


def _wall_clock(context: int, arguments: Any, results: Any) -> None:
    seconds, milliseconds = divmod(_of(context).clock_ms, 1000)
    put_record(_first(results), ((b"seconds", U64, seconds), (b"nanoseconds", U32, milliseconds * 1_000_000)))


def _resolution() -> object:
    fields = ((b"seconds", U64, 0), (b"nanoseconds", U32, 1_000_000))
    return host_function(lambda context, arguments, results: put_record(_first(results), fields))


def _monotonic_clock(context: int, arguments: Any, results: Any) -> None:
    put_number(_first(results), _of(context).elapsed_ns)


def _random(context: int, arguments: Any, results: Any) -> None:
    put_octets(_first(results), _of(context).random_octets(_first(arguments).of[0]))


def _random_number(context: int, arguments: Any, results: Any) -> None:
    put_number(_first(results), int.from_bytes(_of(context).random_octets(8), "little"))


def _nothing(context: int, arguments: Any, results: Any) -> None:
    put_nothing(_first(results))


def _stream(number: int, kind: int) -> object:
    return host_function(lambda context, arguments, results: put_resource(_first(results), context, number, kind))
