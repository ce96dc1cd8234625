"""From a worker's reply to a `Step`. Whatever is inside may be hostile: everything is checked before it is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import orjson

from executor.model.execution import OUTSIDE_CODES, Failure, Limits
from executor.runtime.protocol import Log, Proposal, Step
from executor.runtime.worker.frames import Fault, Reply, largest_output

LEVELS: tuple[Literal["debug", "log", "info", "warn", "error"], ...] = ("debug", "log", "info", "warn", "error")
_LONGEST_PATH = 1000
_LONGEST_TIMER = 2**31 - 1
_SHALLOW = 200  # fewer brackets than this can't be too deep
_MOST_CODE, _MOST_MESSAGE, _MOST_HINT, _MOST_STACK, _MOST_NAME = 100, 8_000, 2_000, 16_000, 200
_MOST_CARRIED, _MOST_FAILURE = 64_000, 100_000
_ESSENTIAL = ("name", "line", "column")


class Violation(Exception):
    """The reply is nothing a healthy worker sends."""


class Unreadable(Exception):
    """What the program itself wrote into a well-formed line can't be taken. That ends the program, not its worker."""


def largest_reply(limits: Limits) -> int:
    return largest_output(limits.calls, limits.output_bytes, limits.log_bytes) + (1 << 16)


class Reader:
    """Reads the replies of one program. Numbers of proposals must go up by one, and no further than the limit.

    `advise` gives the hint of an error that came without one.
    """

    def __init__(self, limits: Limits, advise: Callable[[str], str] = lambda message: "") -> None:
        self._limits = limits
        self._advise = advise
        self._seq = 0

    def read(self, reply: Reply) -> Step:
        proposals: list[Proposal] = []
        logs: list[Log] = []
        value: str | None = None
        failure: Failure | None = None
        lines = reply.output.split(b"\n")
        if lines.pop() != b"":
            raise Violation("the last line is cut")
        at = 0
        try:
            while at < len(lines):
                line = lines[at]
                kind, at = line[:1], at + 1
                if kind == b"c":
                    proposals.append(self._call(line, lines[at]))
                    at += 1
                elif kind == b"t":
                    proposals.append(self._timer(line))
                elif kind == b"l":
                    logs.append(_log(line))
                elif kind in (b"v", b"f") and at == len(lines):
                    value, failure = self._end(kind, line[1:])
                else:
                    raise Violation(f"an unknown line: {line[:40]!r}")
        except Unreadable as error:
            value, failure = None, _unreadable(str(error))
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise Violation(f"a malformed line: {error}") from error
        if reply.fault is not None:
            value, failure = None, failure_of(reply.fault)
        return Step(tuple(proposals), tuple(logs), value, failure, reply.cpu_us / 1000)

    def _next(self, head: bytes) -> int:
        seq = int(head[1:])
        if seq != self._seq + 1 or seq > self._limits.calls:
            raise Violation(f"call {seq} came after call {self._seq}")
        self._seq = seq
        return seq

    def _call(self, line: bytes, arguments: bytes) -> Proposal:
        head, _, quoted = line.partition(b" ")
        path = _load(quoted)
        if not isinstance(path, str) or not 0 < len(path) <= _LONGEST_PATH:
            raise Unreadable("is not a valid tool name")
        if not isinstance(_load(arguments), dict):
            raise Unreadable("is an argument that is not an object")
        return Proposal(self._next(head), "tool", path, arguments.decode())

    def _timer(self, line: bytes) -> Proposal:
        head, _, delay = line.partition(b" ")
        if not 1 <= int(delay) <= _LONGEST_TIMER:
            raise Violation("a timer out of range")
        return Proposal(self._next(head), "timer", "", str(int(delay)))

    def _end(self, kind: bytes, text: bytes) -> tuple[str | None, Failure | None]:
        if kind == b"v":
            if len(text) > self._limits.output_bytes:
                return None, _output_limit(self._limits.output_bytes)
            _load(text)
            return text.decode(), None
        fields = _load(text)
        if not isinstance(fields, dict) or not fields.keys() >= {"code", "message", "hint", "details"}:
            raise Unreadable("is an error of the wrong shape")
        code, message, hint, details = (fields[name] for name in ("code", "message", "hint", "details"))
        if not all(isinstance(part, str) for part in (code, message, hint)) or not isinstance(details, dict):
            raise Unreadable("is an error of the wrong shape")
        if code in OUTSIDE_CODES:
            code = "code_error"
        if code == "code_error" and not hint:
            hint = self._advise(message)
        return None, _limit_failure(code, message, hint, details)


def _load(text: bytes) -> Any:
    """Parsed, and shallow enough to be written again: the writer's bound is far lower than the parser's."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        deep = text.count(b"[") + text.count(b"{") > _SHALLOW
        raise Unreadable("is nested too deeply" if deep else "is not readable JSON") from error
    if text.count(b"[") + text.count(b"{") > _SHALLOW:
        try:
            orjson.dumps(value)
        except TypeError as error:
            raise Unreadable("is nested too deeply") from error
    return value


def _clip(text: str, most: int) -> str:
    return text if len(text) * 4 <= most else text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def _limit_failure(code: str, message: str, hint: str, details: dict[str, Any]) -> Failure:
    """What fails is written to the journal and shown to everyone, so its size is bounded whatever the code threw."""
    for name, most in (("name", _MOST_NAME), ("stack", _MOST_STACK)):
        if isinstance(details.get(name), str):
            details[name] = _clip(details[name], most)
    for name in ("status", "details"):
        if name in details and len(orjson.dumps(details[name])) > _MOST_CARRIED:
            details[name] = None
    failure = Failure(_clip(code, _MOST_CODE), _clip(message, _MOST_MESSAGE), _clip(hint, _MOST_HINT), details)
    if len(orjson.dumps([failure.code, failure.message, failure.hint, details])) > _MOST_FAILURE:
        return replace(failure, details={name: details[name] for name in _ESSENTIAL if _is_small(details.get(name))})
    return failure


def _is_small(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= _MOST_NAME)


def _log(line: bytes) -> Log:
    text = _load(line[2:])
    if not isinstance(text, str):
        raise Unreadable("is a log line that is not text")
    return Log(LEVELS[int(line[1:2])], text)


def failure_of(fault: Fault) -> Failure:
    details: dict[str, Any] = {"line": fault.line, "column": fault.column} if fault.line else {}
    return Failure(fault.code, fault.message, fault.hint, details)


def _output_limit(most: int) -> Failure:
    return Failure(
        "output_limit",
        f"the result is larger than {most} bytes",
        "return only what is needed, for example a count or the first items",
    )


def _unreadable(why: str) -> Failure:
    return Failure(
        "unserializable_result", f"a value that the code returned or logged {why}", "return plain data with few levels"
    )
