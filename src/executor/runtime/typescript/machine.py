"""One program's machine: a fresh instance of the baked image, with its own memory, globals and limits."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from pathlib import Path

from executor.runtime.worker.wasmtime_ffi import (
    DeadlineCallback,
    Extern,
    Instance,
    Module,
    Raw,
    Trap,
    Value,
    WasmError,
    check,
    lib,
    raise_trap,
)

__all__ = ["DeadlineCallback", "Machine", "OutOfMemory", "Trap", "WasmError"]

PRELUDE = Path(__file__).with_name("prelude")
PARTS = (
    *("intrinsics", "serialize", "conversions", "random", "program", "console", "tools", "timers"),
    *("encoding", "clone", "host", "url"),
)
LAST = ("localization", "finish")
APART = ("locale", "numbers", "dates", "collation")  # evaluated when a program first uses them
_SHARED = (  # what they take from the other parts
    *("apply", "codePointAt", "dateNow", "defineMethod", "defineProperty", "floor", "hinted", "Intl", "isArray"),
    *("isFinite", "max", "min", "number", "quote", "shown", "text", "typedArrayPrototype"),
)
_ITEM = Extern.item.offset
_EXPORTS = (b"memory", b"allocate", b"boot", b"start", b"answer", b"flag")
_SMALL = 4096
_KIND_I64 = 1


class OutOfMemory(Exception):
    """There was no room left inside to take input in or hand output out."""


def prelude() -> str:
    import json  # only here: workers have no use for it

    names = ", ".join(_SHARED)
    apart = f'"use strict"; ({names}) => {{\n{_text(APART)}\n}}'
    given = f"const LOCALIZATION = {{ text: {json.dumps(apart)}, shared: () => [{names}] }};"
    return f'(() => {{"use strict";\n{_text(PARTS)}\n{given}\n{_text(LAST)}\n}})()'


def _text(parts: tuple[str, ...]) -> str:
    return "\n".join(PRELUDE.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in parts)


class Machine:
    def __init__(self, module: Module, memory_bytes: int) -> None:
        self.store: int | None = lib.wasmtime_store_new(module.engine.pointer, None, None)
        self._context: int = lib.wasmtime_store_context(self.store)
        self.limit(memory_bytes)
        lib.wasmtime_context_set_epoch_deadline(self._context, 1 << 40)
        self._instance, trap = Instance(), c_void_p()
        check(
            lib.wasmtime_instance_new(self._context, module.pointer, None, 0, byref(self._instance), byref(trap)),
        )
        self._externs = {name: self.export(name) for name in _EXPORTS}
        self._memory, self._allocate, self._boot, self._start, self._answer, self._flag = (
            ctypes.addressof(self._externs[name]) + _ITEM for name in _EXPORTS
        )
        self._values = (Raw * 6)()

    def limit(self, memory_bytes: int) -> None:
        lib.wasmtime_store_limiter(self.store, memory_bytes, -1, 1, -1, 1)

    def watch(self, on_deadline: object) -> None:
        lib.wasmtime_store_epoch_deadline_callback(self.store, on_deadline, None, None)

    def deadline(self, ticks: int) -> None:
        lib.wasmtime_context_set_epoch_deadline(self._context, ticks)

    def export(self, name: bytes) -> Extern:
        extern = Extern()
        if not lib.wasmtime_instance_export_get(self._context, byref(self._instance), name, len(name), byref(extern)):
            raise WasmError(f"the image exports no {name.decode()}")
        return extern

    def call(self, function: int, *arguments: int) -> int:
        values, trap = self._values, c_void_p()
        for index, argument in enumerate(arguments):
            values[index].i64 = argument
        error = lib.wasmtime_func_call_unchecked(self._context, function, values, 6, byref(trap))
        if error:
            check(error)
        if trap:
            raise_trap(trap)
        result: int = values[0].i64
        return result

    def _put(self, data: bytes) -> int:
        """Where the engine finds `data`. The buffer's address is looked up each time: memory moves when it grows."""
        pointer = self.call(self._allocate, len(data)) & 0xFFFFFFFF
        if pointer == 0:
            raise OutOfMemory
        ctypes.memmove(self.address + pointer, data + b"\0", len(data) + 1)
        return pointer

    def _take(self, packed: int) -> bytes:
        pointer, length = (packed >> 32) & 0xFFFFFFFF, packed & 0xFFFFFFFF
        if pointer == 0 or pointer + length > self.size:
            raise OutOfMemory
        return ctypes.string_at(self.address + pointer, length)

    @property
    def size(self) -> int:
        size: int = lib.wasmtime_memory_data_size(self._context, self._memory)
        return size

    def boot(self, clock_ms: int, settings: bytes) -> None:
        if self.call(self._boot, clock_ms * 1_000_000, self._put(settings), len(settings)) & 0xFFFFFFFF:
            raise OutOfMemory

    def start(self, clock_ms: int, code: bytes) -> bytes:
        return self._take(self.call(self._start, clock_ms * 1_000_000, self._put(code), len(code)))

    def answer(self, clock_ms: int, seq: int, succeeded: bool, data: bytes) -> bytes:
        pointer = self._put(data)
        return self._take(self.call(self._answer, clock_ms * 1_000_000, seq, succeeded, pointer, len(data)))

    def interrupt(self) -> None:
        """Makes the engine throw, at its next look, an error that code can't catch. Safe while code runs."""
        ctypes.memset(self.address + self._flag_at, 1, 1)

    def prepare_interrupt(self) -> None:
        self._flag_at = self.call(self._flag) & 0xFFFFFFFF

    def read_global(self, name: str) -> int:
        extern, value = self.export(name.encode()), Value()
        lib.wasmtime_global_get(self._context, ctypes.addressof(extern) + _ITEM, byref(value))
        bits = 64 if value.kind == _KIND_I64 else 32
        number: int = value.of[0] & ((1 << bits) - 1)
        return number - (1 << bits) if number >> (bits - 1) else number

    @property
    def address(self) -> int:
        """Of its memory, which moves when it grows."""
        address: int = lib.wasmtime_memory_data(self._context, self._memory)
        return address

    def memory(self) -> bytes:
        return ctypes.string_at(self.address, self.size)

    def initialize(self) -> None:
        """Starts the engine and evaluates the prelude: done once, before the image is baked."""
        source = prelude().encode()
        self.call(ctypes.addressof(self.export(b"_initialize")) + _ITEM)
        malloc_size = max(len(source), _SMALL)
        # `_put` with a small text would use the buffer that `initialize` has yet to make.
        pointer = self._put(source.ljust(malloc_size))
        outcome = self.call(ctypes.addressof(self.export(b"initialize")) + _ITEM, pointer, malloc_size) & 0xFFFFFFFF
        if outcome:
            text = self._take(self.call(ctypes.addressof(self.export(b"complaint")) + _ITEM))
            raise WasmError(f"the prelude failed ({outcome}): {text.decode('utf-8', 'replace')}")

    def close(self) -> None:
        if self.store:
            lib.wasmtime_store_delete(self.store)
            self.store = None
