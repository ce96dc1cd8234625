"""The functions of wasmtime's C library for components, called through ctypes.

Beside those for modules in `runtime/worker/wasmtime_ffi.py`, and for the same reason. A test compares the layouts below
with those of the `wasmtime` package.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

from executor.runtime.worker.wasmtime_ffi import Bytes, Engine, Finalizer, check, lib, take

U8, U32, U64, STRING, LIST, RECORD, OPTION, RESOURCE = 2, 6, 8, 12, 13, 14, 18, 21


class Value(ctypes.Structure):
    """`of` holds a number, or the size and address of a text, list or record."""

    _fields_ = [("kind", c_uint8), ("of", c_uint64 * 3)]


class Field(ctypes.Structure):
    _fields_ = [("name", Bytes), ("value", Value)]


class Instance(ctypes.Structure):
    _fields_ = [("store_id", c_uint64), ("index", c_uint32)]


class Function(ctypes.Structure):
    _fields_ = [("owner", Instance), ("second", c_uint32), ("third", c_void_p)]


HostFunction = ctypes.CFUNCTYPE(
    c_size_t, c_void_p, c_void_p, c_void_p, POINTER(Value), c_size_t, POINTER(Value), c_size_t
)
Destructor = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, c_uint32)

_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "wasm_byte_vec_new": (None, [POINTER(Bytes), c_size_t, c_char_p]),
    "wasmtime_context_get_data": (c_void_p, [c_void_p]),
    "wasmtime_component_new": (c_void_p, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]),
    "wasmtime_component_serialize": (c_void_p, [c_void_p, POINTER(Bytes)]),
    "wasmtime_component_deserialize_file": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "wasmtime_component_get_export_index": (c_void_p, [c_void_p, c_void_p, c_char_p, c_size_t]),
    "wasmtime_component_linker_new": (c_void_p, [c_void_p]),
    "wasmtime_component_linker_root": (c_void_p, [c_void_p]),
    "wasmtime_component_linker_instantiate": (c_void_p, [c_void_p, c_void_p, c_void_p, POINTER(Instance)]),
    "wasmtime_component_linker_define_unknown_imports_as_traps": (c_void_p, [c_void_p, c_void_p]),
    "wasmtime_component_linker_instance_add_instance": (c_void_p, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]),
    "wasmtime_component_linker_instance_add_func": (
        c_void_p,
        [c_void_p, c_char_p, c_size_t, HostFunction, c_void_p, Finalizer],
    ),
    "wasmtime_component_linker_instance_add_resource": (
        c_void_p,
        [c_void_p, c_char_p, c_size_t, c_void_p, Destructor, c_void_p, Finalizer],
    ),
    "wasmtime_component_linker_instance_delete": (None, [c_void_p]),
    "wasmtime_component_resource_type_new_host": (c_void_p, [c_uint32]),
    "wasmtime_component_resource_host_new": (c_void_p, [c_bool, c_uint32, c_uint32]),
    "wasmtime_component_resource_host_to_any": (c_void_p, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "wasmtime_component_resource_host_delete": (None, [c_void_p]),
    "wasmtime_component_instance_get_func": (c_bool, [POINTER(Instance), c_void_p, c_void_p, POINTER(Function)]),
    "wasmtime_component_func_call": (
        c_void_p,
        [POINTER(Function), c_void_p, POINTER(Value), c_size_t, POINTER(Value), c_size_t],
    ),
    "wasmtime_component_vallist_new_uninit": (None, [c_void_p, c_size_t]),
    "wasmtime_component_valrecord_new_uninit": (None, [c_void_p, c_size_t]),
    "wasmtime_component_val_delete": (None, [POINTER(Value)]),
}

for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments

_OF = Value.of.offset
no_finalizer = Finalizer()


MAX_STACK = 16 << 20  # of one program, in native code: the interpreter's own bound must come first


def new_engine() -> Engine:
    return Engine(max_stack=MAX_STACK)


class Component:
    """Compiled. `entry` is where its function `run` is found."""

    def __init__(self, engine: Engine, pointer: c_void_p) -> None:
        self.engine, self.pointer = engine, pointer
        self.entry = lib.wasmtime_component_get_export_index(pointer, None, b"run", 3)

    @classmethod
    def compile(cls, engine: Engine, binary: bytes) -> Component:
        pointer = c_void_p()
        check(lib.wasmtime_component_new(engine.pointer, binary, len(binary), byref(pointer)))
        return cls(engine, pointer)

    @classmethod
    def load(cls, engine: Engine, path: Path) -> Component:
        """Maps the file, so that all workers share its pages. The file holds native code: only ever load our own."""
        pointer = c_void_p()
        check(lib.wasmtime_component_deserialize_file(engine.pointer, bytes(path), byref(pointer)))
        return cls(engine, pointer)

    def serialize(self) -> bytes:
        data = Bytes()
        check(lib.wasmtime_component_serialize(self.pointer, byref(data)))
        return take(data)


class Linker:
    """What a component gets of the host. `define` names one function; everything left undefined ends the program."""

    def __init__(self, component: Component) -> None:
        self._component = component
        self.pointer = lib.wasmtime_component_linker_new(component.engine.pointer)
        self._kept: list[object] = []  # what the library calls back must not be collected

    def define(self, instance: str, functions: dict[str, object], resources: dict[str, int] | None = None) -> None:
        root = lib.wasmtime_component_linker_root(self.pointer)
        place = root
        if instance:
            inner = c_void_p()
            path = instance.encode()
            check(lib.wasmtime_component_linker_instance_add_instance(root, path, len(path), byref(inner)))
            place = inner
        for resource, kind in (resources or {}).items():
            self._resource(place, resource.encode(), kind)
        for name, function in functions.items():
            self._kept.append(function)
            text = name.encode()
            add = lib.wasmtime_component_linker_instance_add_func
            check(add(place, text, len(text), function, None, no_finalizer))
        if instance:
            lib.wasmtime_component_linker_instance_delete(place)
        lib.wasmtime_component_linker_instance_delete(root)

    def _resource(self, place: object, name: bytes, kind: int) -> None:
        destructor = Destructor(lambda data, context, number: 0)
        self._kept.append(destructor)
        made = lib.wasmtime_component_resource_type_new_host(kind)
        add = lib.wasmtime_component_linker_instance_add_resource
        check(add(place, name, len(name), made, destructor, None, no_finalizer))

    def finish(self) -> None:
        check(lib.wasmtime_component_linker_define_unknown_imports_as_traps(self.pointer, self._component.pointer))


_OCTETS = [bytes(Value(U8, (octet, 0, 0))) for octet in range(256)]


def host_function(work: Callable[[int, object, object], None]) -> object:
    """`work` gets the store's context, the arguments and the results. An exception ends the program."""

    def call(_data: int, context: int, _type: int, arguments: object, _n: int, results: object, _m: int) -> int:
        try:
            work(context, arguments, results)
        except BaseException as error:  # noqa: BLE001 - nothing may pass through the library
            said: int = lib.wasmtime_error_new(f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
            return said
        return 0

    return HostFunction(call)


def text_of(value: Value) -> bytes:
    size, address = value.of[0], value.of[1]
    return ctypes.string_at(address, size) if size else b""


def put_text(value: Value, text: bytes) -> None:
    value.kind = STRING
    lib.wasm_byte_vec_new(Bytes.from_address(ctypes.addressof(value) + _OF), len(text), text)


def put_number(value: Value, number: int, kind: int = U64) -> None:
    value.kind = kind
    value.of[0] = number


def put_octets(value: Value, octets: bytes) -> None:
    """A list of numbers."""
    value.kind = LIST
    lib.wasmtime_component_vallist_new_uninit(ctypes.addressof(value) + _OF, len(octets))
    items = b"".join([_OCTETS[octet] for octet in octets])
    ctypes.memmove(value.of[1], items, len(items))


def put_record(value: Value, fields: tuple[tuple[bytes, int, int], ...]) -> None:
    """Of numbers: name, kind, number."""
    value.kind = RECORD
    lib.wasmtime_component_valrecord_new_uninit(ctypes.addressof(value) + _OF, len(fields))
    items = ctypes.cast(c_void_p(value.of[1]), POINTER(Field))
    for index, (name, kind, number) in enumerate(fields):
        lib.wasm_byte_vec_new(byref(items[index].name), len(name), name)
        put_number(items[index].value, number, kind)


def put_nothing(value: Value) -> None:
    value.kind = OPTION
    value.of[0] = 0


def put_resource(value: Value, context: int, number: int, kind: int) -> None:
    made, any_resource = lib.wasmtime_component_resource_host_new(True, number, kind), c_void_p()
    check(lib.wasmtime_component_resource_host_to_any(context, made, byref(any_resource)))
    lib.wasmtime_component_resource_host_delete(made)
    value.kind = RESOURCE
    value.of[0] = any_resource.value or 0
