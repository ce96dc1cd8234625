"""The one protocol of all runtimes: feed results → run → collect calls, logs and the outcome.

A sandbox never calls the host. The host starts it with a program, reads one `Step`, answers calls one at a time, and
reads one `Step` for each answer. Everything a sandbox says is hostile: the runtime checks schema, size, depth and count
before it builds these values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from executor.dataclass import dataclass
from executor.model.execution import Failure, Limits


@dataclass(frozen=True, slots=True)
class Program:
    """`seed` (16 bytes) and `clock_ms` fix random numbers and time, so that a replay sees the same."""

    code: str
    seed: bytes
    clock_ms: int
    limits: Limits
    language: str = "typescript"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call the code wants made. `seq` counts from 1 in the order of issue, timers included.

    For `tool`: `path` as the code wrote it (`a.b.c`) and `arguments`, JSON text of the single argument (`{}` if none).
    For `timer`: `arguments` is the JSON number of milliseconds, `path` is empty.
    """

    seq: int
    kind: Literal["tool", "timer"]
    path: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a proposal. Exactly one of `value` (JSON text) and `error` (JSON text of a ToolError) is set."""

    seq: int
    clock_ms: int
    value: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    level: Literal["debug", "log", "info", "warn", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """What came out of one step. `value` (JSON text) or `failure` is set when the program has ended."""

    proposals: tuple[Proposal, ...] = ()
    logs: tuple[Log, ...] = ()
    value: str | None = None
    failure: Failure | None = None
    cpu_ms: float = 0.0

    @property
    def has_ended(self) -> bool:
        return self.value is not None or self.failure is not None


class Sandbox(Protocol):
    """One program's sandbox. `answer` may be called again before the step before has come back: order is kept."""

    async def start(self, program: Program) -> Step: ...

    async def answer(self, answer: Answer) -> Step: ...

    async def close(self) -> None:
        """Give the place back, at any time; a step still running is aborted. Never raises."""


@runtime_checkable
class BatchingSandbox(Sandbox, Protocol):
    """One that is given several answers at once, which costs less than one after the other."""

    async def answer_all(self, answers: Sequence[Answer]) -> list[Step | Exception]:
        """What `answer` would return or raise for each."""


class Runtime(Protocol):
    """`open` waits for a free place. A worker that dies raises `SandboxLost` from every step it had under way.

    `languages` are those it runs, the one it is meant for first.
    """

    languages: tuple[str, ...]

    async def open(self) -> Sandbox: ...

    async def close(self) -> None: ...


@runtime_checkable
class LaunchingRuntime(Runtime, Protocol):
    """One that can send a program on its way without waiting for anything."""

    def launch(self, program: Program) -> Sandbox | None:
        """A sandbox in which `start` finds this program running. None if there is no place for it at once."""
