"""One program's sandbox: a process of its own, taken when the program is known and ended with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from executor.runtime.deno.process import ANSWER, RUN, START, STEP, TYPED, Overrun, Spoken, cpu_limit, memory_limit
from executor.runtime.sandbox import Answer, Program, Step
from executor.runtime.typescript import frames
from executor.runtime.typescript.frames import Reply, Source
from executor.runtime.typescript.hints import advice
from executor.runtime.typescript.plain import plain
from executor.runtime.typescript.process import lost
from executor.runtime.typescript.steps import Reader, Violation, failure_of, largest_reply

if TYPE_CHECKING:
    from executor.runtime.deno.process import DenoProcess
    from executor.runtime.deno.runtime import DenoRuntime

_LARGE_CODE = 32_768
_NO_BUFFER = "RangeError: Array buffer allocation failed"


class DenoSandbox:
    """Answers may be sent ahead; each gets its own step, in order. The first step must have come back before."""

    def __init__(self, runtime: DenoRuntime) -> None:
        self._runtime = runtime
        self._process: DenoProcess | None = None
        self._reader: Reader | None = None
        self._ended = self._closed = False

    async def start(self, program: Program) -> Step:
        if self._closed:
            raise lost("the sandbox is closed", innocent=True)
        process = self._process = await self._runtime.take(program.limits.memory_bytes)
        if self._closed:  # while it waited
            process.end()
            raise lost("the sandbox is closed", innocent=True)
        self._reader = Reader(program.limits, advice)
        process.limit(program.limits, largest_reply(program.limits))
        code = program.code.encode("utf-8", "replace")
        source = plain(code) if len(code) <= _LARGE_CODE else None
        if source is not None:
            spoken = await self._ask(START, _started(program, source, attempt=True))
            if isinstance(spoken, Step) or spoken.kind != TYPED:
                return self._read(spoken)
        blanked = await self._runtime.blank(code)
        if blanked.fault is not None:
            self._ended = True
            return Step(failure=failure_of(blanked.fault))
        source = frames.decode_source(blanked.output)
        return self._read(await self._ask(RUN, _started(program, source, attempt=False)))

    async def answer(self, answer: Answer) -> Step:
        if self._reader is None:
            raise ValueError("the sandbox has not been started")
        text = answer.value if answer.value is not None else answer.error
        if text is None:
            raise ValueError("an answer needs a value or an error")
        if self._ended:
            return Step()
        head = {"clock": answer.clock_ms, "seq": answer.seq, "succeeded": answer.value is not None}
        return self._read(await self._ask(ANSWER, orjson.dumps(head) + b"\n" + text.encode("utf-8", "replace")))

    async def _ask(self, kind: int, text: bytes) -> Spoken | Step:
        """A program that went over a limit took its process with it."""
        if self._closed or self._process is None:
            raise lost("the sandbox is closed", innocent=True)
        try:
            return await self._process.ask(kind, text)
        except Overrun as overrun:
            if self._ended:
                return Step()
            self._ended = True
            return Step(failure=overrun.failure)

    def _read(self, spoken: Spoken | Step) -> Step:
        if isinstance(spoken, Step):
            return spoken
        if self._process is None or self._reader is None:
            raise lost("the sandbox is closed", innocent=True)
        try:
            if spoken.kind != STEP:
                raise Violation("a reply of the wrong kind")
            step = self._reader.read(Reply(frames.STEP, spoken.cpu_us, None, spoken.output))
        except Violation as error:
            raise self._process.broke(str(error)) from error
        step = self._judged(step)
        self._ended = self._ended or step.ended
        return step

    def _judged(self, step: Step) -> Step:
        if step.failure is not None and step.failure.message == _NO_BUFFER:
            return replace(step, failure=memory_limit())
        if not step.ended and self._process is not None and self._process.is_over_time:
            return replace(step, failure=cpu_limit(self._process.limits.cpu_ms))
        return step

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._runtime.release(self._process)


def _started(program: Program, source: Source, *, attempt: bool) -> bytes:
    limits = program.limits
    settings = {
        "seed": [int.from_bytes(program.seed[at : at + 4], "little") for at in range(0, 16, 4)],
        "calls": limits.calls,
        "output": limits.output_bytes,
        "logs": limits.log_bytes,
        "offset": source.offset,
        "callable": source.callable,
        "end": source.end,
        "stray": source.stray,
        "inserted": source.inserted,
    }
    head = {"clock": program.clock_ms, "settings": orjson.dumps(settings).decode(), "attempt": attempt}
    return orjson.dumps(head) + b"\n" + source.code
