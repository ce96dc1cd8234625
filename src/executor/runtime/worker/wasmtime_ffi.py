"""The few functions of wasmtime's C library that the runtime uses, called through ctypes.

The `wasmtime` package itself binds all of the library: importing it costs every worker 6 MB and 50 ms. Only its shared
library is loaded here; a test compares the layouts below with the package's own.
"""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import sys
from ctypes import POINTER, byref, c_bool, c_char_p, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

_LIBRARIES = {"linux": "_libwasmtime.so", "darwin": "_libwasmtime.dylib", "win32": "_wasmtime.dll"}
_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64", "ARM64": "aarch64"}
TRAP_STACK_OVERFLOW = 0
CONTINUE = 0
_LARGEST_MEMORY = 1 << 32
_KEPT = 2 << 20  # of an instance's memory: as large as the image of the JavaScript engine


class Bytes(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("data", c_void_p)]


class Extern(ctypes.Structure):
    """An export: `item` holds the 16 bytes of a function or the 24 of a memory or global."""

    _fields_ = [("kind", c_uint8), ("item", c_uint64 * 3)]


class Instance(ctypes.Structure):
    _fields_ = [("store_id", c_uint64), ("index", c_size_t)]


class Raw(ctypes.Union):
    """One argument or result. 16 bytes, because it may also be a vector."""

    _fields_ = [("i32", ctypes.c_int32), ("i64", c_int64), ("vector", c_uint8 * 16)]


class Value(ctypes.Structure):
    _fields_ = [("kind", c_uint8), ("of", c_uint64 * 3)]


DeadlineCallback = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, POINTER(c_uint64), POINTER(c_uint8))
Finalizer = ctypes.CFUNCTYPE(None, c_void_p)


def library_path() -> Path:
    spec = importlib.util.find_spec("wasmtime")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the wasmtime package is not installed")
    machine = _MACHINES.get(platform.machine(), platform.machine())
    return Path(spec.submodule_search_locations[0]) / f"{sys.platform}-{machine}" / _LIBRARIES[sys.platform]


_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "wasm_config_new": (c_void_p, []),
    "wasmtime_config_epoch_interruption_set": (None, [c_void_p, c_bool]),
    "wasmtime_config_max_wasm_stack_set": (None, [c_void_p, c_size_t]),
    "wasmtime_config_async_stack_size_set": (None, [c_void_p, c_uint64]),
    "wasmtime_config_memory_init_cow_set": (None, [c_void_p, c_bool]),
    "wasmtime_config_strategy_set": (None, [c_void_p, c_uint8]),
    "wasmtime_pooling_allocation_config_new": (c_void_p, []),
    "wasmtime_pooling_allocation_config_delete": (None, [c_void_p]),
    "wasmtime_pooling_allocation_config_total_core_instances_set": (None, [c_void_p, c_uint32]),
    "wasmtime_pooling_allocation_config_total_memories_set": (None, [c_void_p, c_uint32]),
    "wasmtime_pooling_allocation_config_total_tables_set": (None, [c_void_p, c_uint32]),
    "wasmtime_pooling_allocation_config_total_component_instances_set": (None, [c_void_p, c_uint32]),
    "wasmtime_pooling_allocation_config_total_stacks_set": (None, [c_void_p, c_uint32]),
    "wasmtime_pooling_allocation_config_total_gc_heaps_set": (None, [c_void_p, c_uint32]),
    "wasmtime_pooling_allocation_config_linear_memory_keep_resident_set": (None, [c_void_p, c_size_t]),
    "wasmtime_pooling_allocation_config_max_memory_size_set": (None, [c_void_p, c_size_t]),
    "wasmtime_pooling_allocation_strategy_set": (None, [c_void_p, c_void_p]),
    "wasm_engine_new_with_config": (c_void_p, [c_void_p]),
    "wasm_engine_delete": (None, [c_void_p]),
    "wasmtime_engine_increment_epoch": (None, [c_void_p]),
    "wasmtime_module_new": (c_void_p, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]),
    "wasmtime_module_serialize": (c_void_p, [c_void_p, POINTER(Bytes)]),
    "wasmtime_module_deserialize_file": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "wasmtime_store_new": (c_void_p, [c_void_p, c_void_p, c_void_p]),
    "wasmtime_store_context": (c_void_p, [c_void_p]),
    "wasmtime_store_delete": (None, [c_void_p]),
    "wasmtime_store_limiter": (None, [c_void_p, c_int64, c_int64, c_int64, c_int64, c_int64]),
    "wasmtime_store_epoch_deadline_callback": (None, [c_void_p, DeadlineCallback, c_void_p, c_void_p]),
    "wasmtime_context_set_epoch_deadline": (None, [c_void_p, c_uint64]),
    "wasmtime_instance_new": (
        c_void_p,
        [c_void_p, c_void_p, c_void_p, c_size_t, POINTER(Instance), POINTER(c_void_p)],
    ),
    "wasmtime_instance_export_get": (c_bool, [c_void_p, POINTER(Instance), c_char_p, c_size_t, POINTER(Extern)]),
    "wasmtime_func_call_unchecked": (c_void_p, [c_void_p, c_void_p, POINTER(Raw), c_size_t, POINTER(c_void_p)]),
    "wasmtime_memory_data": (c_void_p, [c_void_p, c_void_p]),
    "wasmtime_memory_data_size": (c_size_t, [c_void_p, c_void_p]),
    "wasmtime_global_get": (None, [c_void_p, c_void_p, POINTER(Value)]),
    "wasmtime_error_new": (c_void_p, [c_char_p]),
    "wasmtime_error_message": (None, [c_void_p, POINTER(Bytes)]),
    "wasmtime_error_delete": (None, [c_void_p]),
    "wasmtime_trap_code": (c_bool, [c_void_p, POINTER(c_uint8)]),
    "wasm_trap_message": (None, [c_void_p, POINTER(Bytes)]),
    "wasm_trap_delete": (None, [c_void_p]),
    "wasm_byte_vec_delete": (None, [POINTER(Bytes)]),
    "wasmtime_wat2wasm": (c_void_p, [c_char_p, c_size_t, POINTER(Bytes)]),
}

lib = ctypes.CDLL(str(library_path()))
for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


class WasmError(Exception):
    """Something the library refused: a broken module, a file that is no module, limits too small for the module."""


class Trap(Exception):
    """Code inside the module was stopped. `stack` is true when it ran out of stack."""

    def __init__(self, message: str, *, stack: bool) -> None:
        super().__init__(message)
        self.stack = stack


def take(vector: Bytes) -> bytes:
    data = ctypes.string_at(vector.data, vector.size) if vector.data else b""
    lib.wasm_byte_vec_delete(byref(vector))
    return data


def check(error: int | None) -> None:
    if not error:
        return
    message = Bytes()
    lib.wasmtime_error_message(error, byref(message))
    lib.wasmtime_error_delete(error)
    raise WasmError(take(message).decode("utf-8", "replace"))


def raise_trap(trap: c_void_p) -> None:
    message, code = Bytes(), c_uint8(255)
    lib.wasm_trap_message(trap, byref(message))
    lib.wasmtime_trap_code(trap, byref(code))
    lib.wasm_trap_delete(trap)
    text = take(message).decode("utf-8", "replace").rstrip("\0")
    raise Trap(text, stack=code.value == TRAP_STACK_OVERFLOW)


def compile_text(text: str) -> bytes:
    source, binary = text.encode(), Bytes()
    check(lib.wasmtime_wat2wasm(source, len(source), byref(binary)))
    return take(binary)


class Engine:
    """Process-wide settings of compiled code. `max_stack` is what one call into a module may use of the thread's.

    With `instances`, there are places for that many instances of one memory each; see docs/decisions/kept-memory.md.
    """

    def __init__(self, *, max_stack: int = 1 << 20, instances: int = 0) -> None:
        config = lib.wasm_config_new()
        lib.wasmtime_config_epoch_interruption_set(config, True)
        lib.wasmtime_config_max_wasm_stack_set(config, max_stack)
        lib.wasmtime_config_async_stack_size_set(config, 2 * max_stack)  # not used, but must be the larger
        lib.wasmtime_config_memory_init_cow_set(config, True)
        if instances and may_reserve(instances * _LARGEST_MEMORY):
            keep_memory(config, instances)
        self.pointer: int = lib.wasm_engine_new_with_config(config)

    def tick(self) -> None:
        lib.wasmtime_engine_increment_epoch(self.pointer)


def may_reserve(size: int) -> bool:
    """The library aborts the process if it can't reserve the addresses of every place."""
    try:
        import resource
    except ImportError:
        return False
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return sys.maxsize > 1 << 32 and (most == resource.RLIM_INFINITY or most > 2 * size)


def keep_memory(config: int, instances: int) -> None:
    pool = lib.wasmtime_pooling_allocation_config_new()
    for what, most in (
        *(("core_instances", instances), ("memories", instances), ("tables", instances)),
        *(("component_instances", 0), ("stacks", 0), ("gc_heaps", 0)),
    ):
        getattr(lib, f"wasmtime_pooling_allocation_config_total_{what}_set")(pool, most)
    lib.wasmtime_pooling_allocation_config_max_memory_size_set(pool, _LARGEST_MEMORY)
    lib.wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(pool, _KEPT)
    lib.wasmtime_pooling_allocation_strategy_set(config, pool)
    lib.wasmtime_pooling_allocation_config_delete(pool)


class Module:
    def __init__(self, engine: Engine, pointer: c_void_p) -> None:
        self.engine = engine
        self.pointer = pointer

    @classmethod
    def compile(cls, engine: Engine, binary: bytes) -> Module:
        pointer = c_void_p()
        check(lib.wasmtime_module_new(engine.pointer, binary, len(binary), byref(pointer)))
        return cls(engine, pointer)

    @classmethod
    def load(cls, engine: Engine, path: Path) -> Module:
        """Maps the file, so that all workers share its pages. The file holds native code: only ever load our own."""
        pointer = c_void_p()
        check(lib.wasmtime_module_deserialize_file(engine.pointer, bytes(path), byref(pointer)))
        return cls(engine, pointer)

    def serialize(self) -> bytes:
        data = Bytes()
        check(lib.wasmtime_module_serialize(self.pointer, byref(data)))
        return take(data)
