"""From a worker's reply to a `Step`. Whatever is inside may be hostile: everything is checked before it is believed."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from executor.model.execution import Failure, Limits
from executor.runtime.sandbox import Log, Proposal, Step
from executor.runtime.typescript.frames import Fault, Reply

LEVELS: tuple[Literal["debug", "log", "info", "warn", "error"], ...] = ("debug", "log", "info", "warn", "error")
_LONGEST_PATH = 1000
_LONGEST_TIMER = 2**31 - 1
_SHALLOW = 200  # fewer brackets than this can't be too deep
_TOO_DEEP = "is nested too deeply"


class Violation(Exception):
    """The reply is nothing a healthy worker sends."""


class TooDeep(Exception):
    """JSON that is well-formed but nested deeper than anything here will carry."""


def largest_reply(limits: Limits) -> int:
    """JSON escapes and UTF-8 can make six bytes of one character; arguments, value and logs are bounded apart."""
    return 6 * (2 * limits.output_bytes + limits.log_bytes) + (1 << 20)


class Reader:
    """Reads the replies of one program. Numbers of proposals must go up by one, and no further than the limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
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
        except TooDeep:
            value, failure = None, _too_deep()
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise Violation(f"a malformed line: {error}") from error
        if reply.fault is not None:
            value, failure = None, _failure(reply.fault)
        return Step(tuple(proposals), tuple(logs), value, failure, reply.cpu_us / 1000)

    def _next(self, head: bytes) -> int:
        seq = int(head[1:])
        if seq != self._seq + 1 or seq > self._limits.calls:
            raise Violation(f"call {seq} came after call {self._seq}")
        self._seq = seq
        return seq

    def _call(self, line: bytes, arguments: bytes) -> Proposal:
        head, _, quoted = line.partition(b" ")
        path = orjson.loads(quoted)
        if not isinstance(path, str) or not 0 < len(path) <= _LONGEST_PATH:
            raise Violation("a call without a proper path")
        if not isinstance(_load(arguments), dict):
            raise Violation("arguments that are no object")
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
        code, message, hint, details = (fields[name] for name in ("code", "message", "hint", "details"))
        if not all(isinstance(part, str) for part in (code, message, hint)) or not isinstance(details, dict):
            raise Violation("a failure of the wrong shape")
        return None, Failure(code[:100], message, hint, details)


def _load(text: bytes) -> Any:
    """Parsed, and shallow enough to be written again: the writer's bound is far lower than the parser's."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if text.count(b"[") + text.count(b"{") > _SHALLOW:
            raise TooDeep from error
        raise
    if text.count(b"[") + text.count(b"{") > _SHALLOW:
        try:
            orjson.dumps(value)
        except TypeError as error:
            raise TooDeep from error
    return value


def _log(line: bytes) -> Log:
    text = orjson.loads(line[2:])
    if not isinstance(text, str):
        raise Violation("a log line that is no text")
    return Log(LEVELS[int(line[1:2])], text)


def _failure(fault: Fault) -> Failure:
    details: dict[str, Any] = {"line": fault.line, "column": fault.column} if fault.line else {}
    return Failure(fault.code, fault.message, fault.hint, details)


def _output_limit(most: int) -> Failure:
    return Failure(
        "output_limit",
        f"the result is larger than {most} bytes",
        "return only what is needed, for example a count or the first items",
    )


def _too_deep() -> Failure:
    return Failure(
        "unserializable_result",
        f"a value that the code hands out {_TOO_DEEP}",
        "return plain data of few levels",
    )
