"""What parent and worker say to each other: frames of a 4 byte length and a body. No JSON: workers don't load it."""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

START, ANSWER, CLOSE = 1, 2, 3
ABORT = 9
STEP, CLOSED = 1, 2
UNUSABLE_IMAGE = 3  # a worker's exit code
MALFORMED = struct.error

LENGTH = struct.Struct("<I")
_START = struct.Struct("<B16sqQIIII")
_ANSWER = struct.Struct("<BqIB")
_REPLY = struct.Struct("<BII")
_ABORT = struct.Struct("<BII")
_LARGEST = 0xFFFFFFFF
CONTROL_SIZE = _ABORT.size
_CLOSE = LENGTH.pack(1) + bytes([CLOSE])


class Start(NamedTuple):
    seed: bytes
    clock_ms: int
    memory_bytes: int
    cpu_ms: int
    calls: int
    output_bytes: int
    log_bytes: int
    code: bytes


class Answered(NamedTuple):
    clock_ms: int
    seq: int
    succeeded: bool
    text: bytes


class Fault(NamedTuple):
    """A failure that the worker found, not the program."""

    code: str
    message: str
    hint: str = ""
    line: int = 0
    column: int = 0


class Reply(NamedTuple):
    """`output` is the program's own text, line by line; `fault` ends the program whatever its text says."""

    kind: int
    cpu_us: int
    fault: Fault | None
    output: bytes


def encode_start(start: Start) -> bytes:
    seed, clock_ms, memory_bytes, *bounds = start[:-1]
    head = _START.pack(START, seed, clock_ms, memory_bytes, *(min(bound, _LARGEST) for bound in bounds))
    return LENGTH.pack(len(head) + len(start.code)) + head + start.code


def encode_answer(answered: Answered) -> bytes:
    head = _ANSWER.pack(ANSWER, *answered[:-1])
    return LENGTH.pack(len(head) + len(answered.text)) + head + answered.text


def encode_close() -> bytes:
    return _CLOSE


def encode_abort(slot: int, number: int) -> bytes:
    return _ABORT.pack(ABORT, slot, number)


def decode_start(body: bytes) -> Start:
    _, seed, clock_ms, memory_bytes, cpu_ms, calls, output_bytes, log_bytes = _START.unpack_from(body)
    return Start(seed, clock_ms, memory_bytes, cpu_ms, calls, output_bytes, log_bytes, body[_START.size :])


def decode_answer(body: bytes) -> Answered:
    _, clock_ms, seq, succeeded = _ANSWER.unpack_from(body)
    return Answered(clock_ms, seq, bool(succeeded), body[_ANSWER.size :])


def decode_abort(body: bytes) -> tuple[int, int]:
    _, slot, number = _ABORT.unpack(body)
    return slot, number


def encode_reply(reply: Reply) -> bytes:
    fault = b"" if reply.fault is None else "\0".join(str(part) for part in reply.fault).encode("utf-8", "replace")
    head = _REPLY.pack(reply.kind, min(reply.cpu_us, _LARGEST), len(fault))
    return LENGTH.pack(len(head) + len(fault) + len(reply.output)) + head + fault + reply.output


def decode_reply(body: bytes) -> Reply:
    """Raises ValueError, struct.error or UnicodeDecodeError for anything that is not a reply."""
    kind, cpu_us, size = _REPLY.unpack_from(body)
    fault_text = body[_REPLY.size : _REPLY.size + size]
    if kind not in (STEP, CLOSED) or len(fault_text) != size:
        raise ValueError("not a reply")
    fault = None
    if fault_text:
        code, message, hint, line, column = fault_text.decode().split("\0")
        fault = Fault(code, message, hint, int(line), int(column))
    return Reply(kind, cpu_us, fault, body[_REPLY.size + size :])


def read_exactly(descriptor: int, size: int) -> bytes | None:
    """None at the end of the stream."""
    chunk = os.read(descriptor, size)
    if len(chunk) == size:
        return chunk
    parts = [chunk]
    missing = size - len(chunk)
    while chunk and missing:
        chunk = os.read(descriptor, min(missing, 1 << 20))
        parts.append(chunk)
        missing -= len(chunk)
    return None if missing else b"".join(parts)


def read_frame(descriptor: int) -> bytes | None:
    head = read_exactly(descriptor, LENGTH.size)
    return None if head is None else read_exactly(descriptor, LENGTH.unpack(head)[0])


def write_all(descriptor: int, data: bytes) -> None:
    sent = os.write(descriptor, data)
    if sent < len(data):
        view = memoryview(data)[sent:]
        while view:
            view = view[os.write(descriptor, view) :]
