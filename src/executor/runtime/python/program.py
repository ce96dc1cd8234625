"""One program in an interpreter of its own: driven from one wait to the next, its calls turned into proposals.

Every call, clock reading and sleep of the code suspends the interpreter and is answered here. A call is answered with a
future at once, so that the code continues until all it can do is wait; what it then waits for is the step's outcome.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic_monty import (
    ClassInstance,
    FunctionSnapshot,
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontyCrashedError,
    MontyError,
    NameLookupSnapshot,
)

from executor.runtime.python import failures
from executor.runtime.python.clock import Clock, milliseconds
from executor.runtime.python.console import Console
from executor.runtime.python.json_writer import Flaw, TooLarge, Writer, quote
from executor.runtime.python.tool_error_fields import Rewritten, rewrite
from executor.runtime.python.tools import Refused, Tools
from executor.runtime.worker.frames import Answered, Start

_SUSPENSIONS = 100_000_000  # bounded by CPU time; the interpreter's own default would end honest programs
# Errors of the interpreter carry one text and can't be subclassed: a built-in one that nothing else raises represents
# ToolError, and `error_of` asks for the fields that belong to its text.
_PRELUDE = """\
from csv import Error as ToolError
def error_of(error):
    if isinstance(error, ToolError):
        return _failure_of(str(error)) or error
    return error
"""


@dataclass
class ToolFailure:
    code: str
    message: str
    status: Any
    details: Any
    retryable: bool
    hint: str


class Program:
    """`begin` and `answer` give the step's lines. `on_session` gets the interpreter's process before code runs."""

    def __init__(self, pool: Monty, start: Start, on_session: Callable[[int], None]) -> None:
        self._start = start
        self._clock = Clock(start.seed, start.clock_ms)
        self._tools = Tools()
        self._console = Console(start.log_bytes)
        self._seq = 0
        self._calls: dict[int, int] = {}
        self._failures: dict[str, dict[str, Any]] = {}
        self._held: deque[tuple[int, Any]] = deque()
        self._lines: list[str] = []
        self._room = start.output_bytes
        self._end: bytes | None = None
        self._waiting: FutureSnapshot | None = None
        self._asleep: tuple[int, FunctionSnapshot] | None = None
        self._code = Rewritten("")
        self._file = "<python-input-0>"
        self._session = pool.checkout(
            limits={
                "max_memory": start.memory_bytes,
                "max_suspensions": _SUSPENSIONS,
            },  # CPU time is watched by the slot
            os_policy={"datetime": "call_host", "sleep": "call_host", "random_start": {"seed": b"random" + start.seed}},
        )
        self._session.__enter__()
        pid = self._session.worker_pid
        if not pid:
            raise RuntimeError("the interpreter has no process")
        on_session(pid)

    @property
    def has_ended(self) -> bool:
        return self._end is not None

    def close(self) -> None:
        self._session.__exit__(None, None, None)

    # -- steps -------------------------------------------------------------------------------------------------------

    def begin(self) -> bytes:
        code = self._start.source.code.decode("utf-8", "replace")
        self._code = rewrite(code)
        if "except" in code or "ToolError" in code or "error_of" in code:
            self._session.feed_start(_PRELUDE)
            self._file = "<python-input-1>"
        return self._drive(
            lambda: self._session.feed_start(
                self._code.code, inputs={"tools": self._tools.root}, print_callback=self._console.write
            )
        )

    def answer(self, answered: Answered) -> bytes:
        """Delivered when the code waits; while it sleeps in `time.sleep`, later."""
        self._clock.now_ms = answered.clock_ms
        if self._end is not None:
            return b""
        if self._asleep is not None and self._asleep[0] == answered.seq:
            _, snapshot = self._asleep
            self._asleep = None
            return self._drive(lambda: snapshot.resume({"return_value": None}))
        call = self._calls.pop(answered.seq, None)
        if call is not None:
            self._held.append((call, self._settle(answered)))
        waiting, self._waiting = self._waiting, None
        return self._flush() if waiting is None else self._drive(lambda: waiting)

    def _settle(self, answered: Answered) -> Any:
        try:
            value = orjson.loads(answered.text)
        except orjson.JSONDecodeError:
            return {"exc_type": "ValueError", "message": "the result is nested too deeply to be read"}
        if answered.succeeded:
            return {"return_value": value}
        message = str(value.get("message", ""))
        self._failures[message] = value
        return {"exc_type": "_csv.Error", "message": message}

    def _drive(self, first: Callable[[], Any]) -> bytes:
        try:
            snapshot = first()
            while snapshot is not None and self._end is None:
                snapshot = self._next(snapshot)
        except MontyCrashedError:
            raise
        except MontyError as error:
            self._end = failures.of_error(error, self._code, self._failures, self._file)
        return self._flush()

    def _next(self, snapshot: Any) -> Any:
        """None when there is nothing to do but wait, or when the program has ended."""
        if isinstance(snapshot, FunctionSnapshot):
            return self._system_call(snapshot) if snapshot.is_os_function else self._function(snapshot)
        if isinstance(snapshot, NameLookupSnapshot):
            return self._lookup(snapshot)
        if isinstance(snapshot, MontyComplete):
            self._end = self._value(snapshot)
            return None
        return self._deliver(snapshot)

    def _deliver(self, snapshot: FutureSnapshot) -> Any:
        """One answer at a time, in the order in which they came."""
        if not self._held:
            self._waiting = snapshot
            return None
        pending = set(snapshot.pending_call_ids)
        while self._held:
            call, settled = self._held.popleft()
            if call in pending:
                return snapshot.resume({call: settled})
        self._waiting = snapshot
        return None

    def _flush(self) -> bytes:
        lines = "".join(self._lines).encode("utf-8", "replace")
        out = lines + self._console.take(ended=self._end is not None) + (self._end or b"")
        self._lines, self._room = [], self._start.output_bytes
        return out

    def _value(self, complete: MontyComplete) -> bytes:
        most = self._start.output_bytes
        try:
            text = Writer(most).text(complete.output).encode("utf-8", "replace")
        except Flaw as flaw:
            return failures.unserializable(flaw)
        except RecursionError:
            return failures.unserializable(Flaw("nested too deeply"))
        except TooLarge:
            return failures.too_large(most)
        return b"v" + text + b"\n" if len(text) <= most else failures.too_large(most)

    # -- what the code asks for --------------------------------------------------------------------------------------

    def _function(self, snapshot: FunctionSnapshot) -> Any:
        handle, name = snapshot.object_id, snapshot.function_name
        if handle is not None and self._tools.owns(handle):
            return self._tool_call(snapshot)
        if handle is None and name == "_failure_of":
            return snapshot.resume({"return_value": self._failure(snapshot.args)})
        if handle is not None:
            return snapshot.resume({"exc_type": "AttributeError", "message": f"this object has no method '{name}'"})
        return snapshot.resume({"exc_type": "NameError", "message": f"name '{name}' is not defined"})

    def _tool_call(self, snapshot: FunctionSnapshot) -> Any:
        assert snapshot.object_id is not None  # noqa: S101 - for the type checker; the caller looked
        name = snapshot.function_name
        try:
            path, argument = self._tools.call(snapshot.object_id, name, snapshot.args, snapshot.kwargs)
            text = self._argument(path, argument)
        except Refused as refused:
            return snapshot.resume({"exc_type": refused.name, "message": str(refused)})
        except (RecursionError, ValueError) as error:  # it can't even be read
            return snapshot.resume(
                {"exc_type": "TypeError", "message": f"tools: these are not arguments: {error}"[:500]}
            )
        self._propose("c", f"{quote(path)}\n{text}", snapshot)
        return None if self._end is not None else snapshot.resume({"future": ...})

    def _argument(self, path: str, argument: Any) -> str:
        try:
            text = Writer(self._room, strict=True).text(argument)
        except (Flaw, RecursionError) as error:
            flaw = error if isinstance(error, Flaw) else Flaw("nested too deeply")
            what = f"tools.{path}: the argument at ${flaw.path} is {flaw.what}, which JSON can't carry"
            raise Refused("TypeError", f"{what}: {flaw.hint}") from None
        except TooLarge:
            raise Refused("ValueError", f"tools.{path}: the arguments are too large") from None
        self._room -= len(text)
        return text

    def _propose(self, kind: str, rest: str, snapshot: FunctionSnapshot) -> int:
        if self._seq >= self._start.calls:
            self._end = failures.too_many_calls(self._start.calls)
            return 0
        self._seq += 1
        self._calls[self._seq] = snapshot.call_id
        self._lines.append(f"{kind}{self._seq} {rest}\n")
        return self._seq

    def _failure(self, args: tuple[Any, ...]) -> ClassInstance | None:
        fields = self._failures.get(args[0]) if len(args) == 1 and isinstance(args[0], str) else None
        if fields is None:
            return None
        code, message, hint = (str(fields.get(name) or "") for name in ("code", "message", "hint"))
        failure = ToolFailure(
            code, message, fields.get("status"), fields.get("details"), bool(fields.get("retryable")), hint
        )
        return ClassInstance(failure, eager_attrs="all")

    def _lookup(self, snapshot: NameLookupSnapshot) -> Any:
        """An unknown name stays unknown. A tool has any attribute; whether that is a tool too, a call will show."""
        handle = snapshot.object_id
        if handle is None or not self._tools.owns(handle):
            return snapshot.resume()
        try:
            return snapshot.resume(value=self._tools.attribute(handle, snapshot.variable_name))
        except Refused:
            return snapshot.resume()

    # -- time and chance ---------------------------------------------------------------------------------------------

    def _system_call(self, snapshot: FunctionSnapshot) -> Any:
        name, args = snapshot.function_name, snapshot.args
        if name in ("asyncio.sleep", "time.sleep"):
            return self._sleep(snapshot, milliseconds(args[0] if args else 0), wait=name == "time.sleep")
        reading = self._clock.reading(name, args)
        return snapshot.resume_not_handled() if reading is None else snapshot.resume({"return_value": reading})

    def _sleep(self, snapshot: FunctionSnapshot, delay: int, *, wait: bool) -> Any:
        """A timer is journalled like a call. One of less than a millisecond is over at once."""
        if delay < 1:
            return snapshot.resume({"return_value": None})
        seq = self._propose("t", str(delay), snapshot)
        if self._end is not None:
            return None
        if not wait:
            return snapshot.resume({"future": ...})
        del self._calls[seq]
        self._asleep = (seq, snapshot)
        return None
