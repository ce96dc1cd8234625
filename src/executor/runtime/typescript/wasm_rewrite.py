"""Rewriting WebAssembly: graft the driver onto the engine, and bake a started engine into its own data segments.

The engine imports only functions, which come first in the index space. So its imports can be replaced by as many
defined functions without renumbering anything. The driver is compiled against a list of stand-ins as long as the
engine's functions and globals, which makes the indices in its code those of the grafted module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from executor.runtime.worker.wasmtime_ffi import compile_text

TYPE, IMPORT, FUNCTION, MEMORY, GLOBAL, EXPORT, ELEMENT, CODE, DATA, DATA_COUNT = 1, 2, 3, 5, 6, 7, 9, 10, 11, 12
_KIND_FUNCTION, _KIND_GLOBAL = 0, 3
_PAGE = 4096
_IMPORTED_FUNCTION = re.compile(r'\(import "engine" "(\w+)" (\(func \$\w+.*?\))\)\n')

Sections = dict[int, bytes]


class Malformed(ValueError):
    """The engine's binary is not built the way the graft relies on."""


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _encode_unsigned(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        out.append(byte | 0x80 if value else byte)
        if not value:
            return bytes(out)


def _encode_signed(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        if value == (-1 if byte & 0x40 else 0):
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


def sections(binary: bytes) -> Sections:
    """Names and other custom sections are dropped."""
    found: Sections = {}
    at = 8
    while at < len(binary):
        number = binary[at]
        size, at = _read(binary, at + 1)
        if number:
            found[number] = binary[at : at + size]
        at += size
    return found


def assemble(parts: Sections) -> bytes:
    """Sections come in the order of their numbers, except that the data count is before the code."""
    order = sorted(parts, key=lambda number: CODE - 0.5 if number == DATA_COUNT else number)
    return b"\0asm\1\0\0\0" + b"".join(bytes([n]) + _encode_unsigned(len(parts[n])) + parts[n] for n in order)


def _vector(body: bytes) -> tuple[int, bytes]:
    count, at = _read(body, 0)
    return count, body[at:]


def _join(first: bytes, second: bytes) -> bytes:
    count, items = _vector(first)
    more, others = _vector(second)
    return _encode_unsigned(count + more) + items + others


def _exports(body: bytes) -> Iterator[tuple[str, int, int]]:
    count, at = _read(body, 0)
    for _ in range(count):
        size, at = _read(body, at)
        name = body[at : at + size].decode()
        kind = body[at + size]
        index, at = _read(body, at + size + 1)
        yield name, kind, index


def _export(name: str, kind: int, index: int) -> bytes:
    return _encode_unsigned(len(name)) + name.encode() + bytes([kind]) + _encode_unsigned(index)


def _import_count(body: bytes) -> int:
    count, at = _read(body, 0)
    for _ in range(count):
        for _ in range(2):
            size, at = _read(body, at)
            at += size
        if body[at] != _KIND_FUNCTION:
            raise Malformed("the engine imports something else than functions")
        _, at = _read(body, at + 1)
    return count


def _code_bodies(body: bytes) -> list[bytes]:
    count, at = _read(body, 0)
    bodies = []
    for _ in range(count):
        size, after = _read(body, at)
        bodies.append(body[at : after + size])
        at = after + size
    return bodies


def _stand_ins(driver: str, functions: dict[str, int], total: int, global_count: int) -> str:
    """The driver's text with its imports put at the engine's indices, and everything else filled up."""
    wanted = {functions[name]: declaration for name, declaration in _IMPORTED_FUNCTION.findall(driver)}
    if max(wanted) >= total:
        raise Malformed("a function that the driver needs is among the last of the engine")
    lines = [f'(import "" "" {wanted.get(index, "(func)")})' for index in range(total)]
    lines += ['(import "" "" (global (mut i32)))'] * global_count
    return _IMPORTED_FUNCTION.sub("", driver).replace("(module", "(module\n" + "\n".join(lines), 1)


def graft(engine: bytes, driver: str) -> bytes:
    host = sections(engine)
    imports = _import_count(host.pop(IMPORT))
    defined, types = _vector(host[FUNCTION])
    globals_, _ = _vector(host[GLOBAL])
    functions = {name: index for name, kind, index in _exports(host[EXPORT]) if kind == _KIND_FUNCTION}
    # The first `imports` functions of the driver move to the front, so it is numbered from `defined`.
    guest = sections(compile_text(_stand_ins(driver, functions, defined, globals_)))
    shift, _ = _vector(host[TYPE])
    used, guest_types = _vector(guest[FUNCTION])
    indices, at = [], 0
    for _ in range(used):
        index, at = _read(guest_types, at)
        indices.append(_encode_unsigned(index + shift))
    bodies = _code_bodies(guest[CODE])
    code = bodies[:imports] + _code_bodies(host[CODE]) + bodies[imports:]
    host[TYPE] = _join(host[TYPE], guest[TYPE])
    host[FUNCTION] = (
        _encode_unsigned(defined + used) + b"".join(indices[:imports]) + types + b"".join(indices[imports:])
    )
    host[GLOBAL] = _join(host[GLOBAL], guest[GLOBAL])
    host[CODE] = _encode_unsigned(len(code)) + b"".join(code)
    host[EXPORT] = _grafted_exports(host, guest)
    return assemble(host)


def _grafted_exports(host: Sections, guest: Sections) -> bytes:
    """What a step needs, `_initialize`, and every global by number so that baking can read it."""
    kept = [_export(*item) for item in _exports(host[EXPORT]) if item[0] in ("memory", "_initialize")]
    kept += [_export(*item) for item in _exports(guest[EXPORT])]
    count, _ = _vector(host[GLOBAL])
    kept += [_export(f"global{index}", _KIND_GLOBAL, index) for index in range(count)]
    return _encode_unsigned(len(kept)) + b"".join(kept)


def bake(grafted: bytes, memory: bytes, read_global: Callable[[str], int]) -> bytes:
    """The module whose fresh instance is in the state given: its memory as data segments, its globals as constants."""
    parts = sections(grafted)
    parts[MEMORY] = _baked_memory(parts[MEMORY], len(memory))
    parts[GLOBAL] = _baked_globals(parts[GLOBAL], read_global)
    segments = list(_segments(memory))
    parts[DATA] = _encode_unsigned(len(segments)) + b"".join(
        b"\0\x41" + _encode_signed(offset) + b"\x0b" + _encode_unsigned(len(data)) + data for offset, data in segments
    )
    if DATA_COUNT in parts:
        parts[DATA_COUNT] = _encode_unsigned(len(segments))
    kept = [_export(*item) for item in _exports(parts[EXPORT]) if item[1] != _KIND_GLOBAL and item[0] != "_initialize"]
    parts[EXPORT] = _encode_unsigned(len(kept)) + b"".join(kept)
    return assemble(parts)


def _baked_memory(body: bytes, size: int) -> bytes:
    count, at = _read(body, 0)
    flags = body[at]
    _, after = _read(body, at + 1)
    return _encode_unsigned(count) + bytes([flags]) + _encode_unsigned(size >> 16) + body[after:]


def _baked_globals(body: bytes, read_global: Callable[[str], int]) -> bytes:
    count, at = _read(body, 0)
    out = bytearray(_encode_unsigned(count))
    for index in range(count):
        kind, mutable, opcode = body[at], body[at + 1], body[at + 2]
        if opcode not in (0x41, 0x42):
            raise Malformed("a global of the engine is neither a 32 nor a 64 bit constant")
        end = at + 3
        while body[end] & 0x80:
            end += 1
        end += 2
        if mutable:
            out += bytes([kind, mutable, opcode]) + _encode_signed(read_global(f"global{index}")) + b"\x0b"
        else:
            out += body[at:end]
        at = end
    return bytes(out)


def _segments(memory: bytes) -> Iterator[tuple[int, bytes]]:
    """Runs of pages that are not all zero: a page left out costs nothing, neither in the file nor when copied."""
    empty, at = bytes(_PAGE), 0
    while at < len(memory):
        start = at
        while at < len(memory) and memory[at : at + _PAGE] != empty:
            at += _PAGE
        if at > start:
            yield start, memory[start:at]
        at += _PAGE
