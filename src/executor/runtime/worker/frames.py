"""What parent and worker say to each other: frames of a 4 byte length and a body. No JSON: workers don't load it."""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

START, ANSWER, CLOSE, RUN = 1, 2, 3, 4
ABORT, HOG = 9, 10
STEP, CLOSED, TYPED = 1, 2, 3
UNUSABLE_IMAGE = 3  # a worker's exit code
MALFORMED = struct.error

LENGTH = struct.Struct("<I")
_START = struct.Struct("<B16sqQIIII?")
_ANSWER = struct.Struct("<BqIB")
_REPLY = struct.Struct("<BII")
_CONTROL = struct.Struct("<BII")
_SOURCE = struct.Struct("<IBIIIIII")
_LARGEST = 0xFFFFFFFF
CONTROL_SIZE = _CONTROL.size
_LONGEST_CALL = 6 * 1000 + 64  # a tool's name at its longest, every character escaped
_CLOSE = LENGTH.pack(1) + bytes([CLOSE])


class Source(NamedTuple):
    """`offset` is how far the first line is shifted; `callable` says that a function it gives is the program itself.

    `end` is the line and column after the last character, `stray` of a bracket that closes nothing: what goes wrong
    beyond the last line goes wrong there. `inserted` is where `return(` was put before the last expression, if it was.
    """

    code: bytes
    offset: int
    callable: bool
    end: tuple[int, int] = (0, 0)
    stray: tuple[int, int] = (0, 0)
    inserted: tuple[int, int] = (0, 0)


class Start(NamedTuple):
    """`attempt`: it may turn out to be no JavaScript; the worker then says TYPED, and the next frame is a RUN."""

    seed: bytes
    clock_ms: int
    memory_bytes: int
    cpu_ms: int
    calls: int
    output_bytes: int
    log_bytes: int
    attempt: bool
    source: Source


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


def largest_output(calls: int, output_bytes: int, log_bytes: int) -> int:
    """JSON escapes and UTF-8 can make six bytes of one character; arguments, value and logs are bounded apart."""
    return 6 * (2 * output_bytes + log_bytes) + calls * _LONGEST_CALL + (1 << 19)


def encode_start(start: Start, kind: int = START) -> bytes:
    seed, clock_ms, memory_bytes, *bounds = start[:-2]
    head = _START.pack(kind, seed, clock_ms, memory_bytes, *(min(bound, _LARGEST) for bound in bounds), start.attempt)
    head += encode_source(start.source._replace(code=b""))
    return LENGTH.pack(len(head) + len(start.source.code)) + head + start.source.code


def encode_answer(answered: Answered) -> bytes:
    head = _ANSWER.pack(ANSWER, *answered[:-1])
    return LENGTH.pack(len(head) + len(answered.text)) + head + answered.text


def encode_close() -> bytes:
    return _CLOSE


def encode_abort(slot: int, number: int) -> bytes:
    return _CONTROL.pack(ABORT, slot, number)


def encode_hog(slot: int, number: int) -> bytes:
    return LENGTH.pack(CONTROL_SIZE) + _CONTROL.pack(HOG, slot, number)


def encode_source(source: Source) -> bytes:
    places = (*source.end, *source.stray, *source.inserted)
    return _SOURCE.pack(source.offset, source.callable, *places) + source.code


def decode_source(body: bytes) -> Source:
    offset, callable_, *places = _SOURCE.unpack_from(body)
    end, stray, inserted = ((places[at], places[at + 1]) for at in (0, 2, 4))
    return Source(body[_SOURCE.size :], offset, bool(callable_), end, stray, inserted)


def decode_start(body: bytes) -> Start:
    _, seed, clock_ms, memory_bytes, cpu_ms, calls, output_bytes, log_bytes, attempt = _START.unpack_from(body)
    source = decode_source(body[_START.size :])
    return Start(seed, clock_ms, memory_bytes, cpu_ms, calls, output_bytes, log_bytes, attempt, source)


def decode_answer(body: bytes) -> Answered:
    _, clock_ms, seq, succeeded = _ANSWER.unpack_from(body)
    return Answered(clock_ms, seq, bool(succeeded), body[_ANSWER.size :])


def decode_control(body: bytes) -> tuple[int, int, int]:
    """ABORT or HOG, the slot, and the number of the program there."""
    kind, slot, number = _CONTROL.unpack(body)
    return kind, slot, number


def encode_reply(reply: Reply) -> bytes:
    parts = () if reply.fault is None else (str(part).replace("\0", " ") for part in reply.fault)
    fault = "\0".join(parts).encode("utf-8", "replace")
    head = _REPLY.pack(reply.kind, min(reply.cpu_us, _LARGEST), len(fault))
    return LENGTH.pack(len(head) + len(fault) + len(reply.output)) + head + fault + reply.output


def decode_reply(body: bytes) -> Reply:
    """Raises ValueError, struct.error or UnicodeDecodeError for anything that is not a reply."""
    kind, cpu_us, size = _REPLY.unpack_from(body)
    fault_text = body[_REPLY.size : _REPLY.size + size]
    if kind not in (STEP, CLOSED, TYPED) or len(fault_text) != size:
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
