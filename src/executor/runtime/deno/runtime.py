"""`DenoRuntime`: a process for each execution, and one more in reserve, started already."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from executor.errors import Busy, ExecutorError, SandboxLost
from executor.runtime.deno import binary
from executor.runtime.deno.process import (
    ANSWER,
    RUN,
    START,
    STEP,
    TYPED,
    DenoProcess,
    Overrun,
    Spoken,
    cpu_limit,
    memory_limit,
)
from executor.runtime.javascript.blank_queue import LARGE_CODE, Lane
from executor.runtime.javascript.hints import advice
from executor.runtime.javascript.plain_source import plain
from executor.runtime.protocol import Answer, Program, Step
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Reply, Source
from executor.runtime.worker.process import sandbox_lost
from executor.runtime.worker.seal import Layer
from executor.runtime.worker.steps import Reader, Violation, failure_of, largest_reply

if TYPE_CHECKING:
    from executor.runtime.deno.process import DenoProcess


# One program's sandbox: a process of its own, taken when the program is known and ended with it.
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
            raise sandbox_lost("the sandbox is closed", innocent=True)
        process = self._process = await self._runtime.take(program.limits.memory_bytes)
        if self._closed:  # while it waited
            process.end()
            raise sandbox_lost("the sandbox is closed", innocent=True)
        self._reader = Reader(program.limits, advice)
        process.limit(program.limits, largest_reply(program.limits))
        code = program.code.encode("utf-8", "replace")
        source = plain(code) if len(code) <= _LARGE_CODE else None
        if source is not None:
            spoken = await self._ask(START, _start_message(program, source, attempt=True))
            if isinstance(spoken, Step) or spoken.kind != TYPED:
                return self._read(spoken)
        blanked = await self._runtime.blank(code)
        if blanked.fault is not None:
            self._ended = True
            return Step(failure=failure_of(blanked.fault))
        source = frames.decode_source(blanked.output)
        return self._read(await self._ask(RUN, _start_message(program, source, attempt=False)))

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
            raise sandbox_lost("the sandbox is closed", innocent=True)
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
            raise sandbox_lost("the sandbox is closed", innocent=True)
        try:
            if spoken.kind != STEP:
                raise Violation("a reply of the wrong kind")
            step = self._reader.read(Reply(frames.STEP, spoken.cpu_us, None, spoken.output))
        except Violation as error:
            raise self._process.broke(str(error)) from error
        step = self._judge(step)
        self._ended = self._ended or step.has_ended
        return step

    def _judge(self, step: Step) -> Step:
        if step.failure is not None and step.failure.message == _NO_BUFFER:
            return replace(step, failure=memory_limit())
        if not step.has_ended and self._process is not None and self._process.is_over_time:
            return replace(step, failure=cpu_limit(self._process.limits.cpu_ms))
        return step

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._runtime.release(self._process)


def _start_message(program: Program, source: Source, *, attempt: bool) -> bytes:
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


_USUAL_MEMORY = 64 << 20
_TRIES = 3


class DenoRuntime:
    """At most `processes` at a time. `memory_bytes` is what most programs may use: the reserve is started for it."""

    languages: tuple[str, ...] = ("typescript",)

    def __init__(self, *, processes: int, memory_bytes: int = _USUAL_MEMORY) -> None:
        self._places = asyncio.Semaphore(processes)
        self._memory_bytes = memory_bytes
        self._binary = binary.find()
        self._folder = Path(tempfile.mkdtemp(prefix="executor-deno-"))  # empty, and stays so: it can't be written
        self._lane, self._large_lane = Lane(resident=False), Lane(resident=False)
        self._reserve: asyncio.Task[DenoProcess] | None = None
        self._live: set[DenoProcess] = set()
        self._closing = False
        self.layers: tuple[Layer, ...] = ()

    async def start(self) -> None:
        """Returns once the first process is ready; an installation that can't start one says so here."""
        self._refill()
        try:
            if self._reserve is not None:
                await asyncio.shield(self._reserve)
        except SandboxLost as error:
            await self.close()
            raise Busy(f"no deno process can be started: {error.message}", hint="run `executor doctor`") from error

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._live if process.is_usable]

    async def open(self) -> DenoSandbox:
        if self._closing:
            raise sandbox_lost("the runtime is closed", innocent=True)
        await self._places.acquire()
        return DenoSandbox(self)

    async def take(self, memory_bytes: int) -> DenoProcess:
        """The one in reserve if it was started for this much memory, else a new one."""
        if memory_bytes != self._memory_bytes:
            return await self._spawn(memory_bytes)
        for _ in range(_TRIES):
            self._refill()
            reserve, self._reserve = self._reserve, None
            if reserve is None:
                break
            process = await reserve
            self._refill()
            if process.is_usable:
                return process
            await process.wait()
        raise sandbox_lost("no deno process could be started", innocent=True)

    def _refill(self) -> None:
        if not self._closing and self._reserve is None:
            self._reserve = asyncio.get_running_loop().create_task(self._spawn(self._memory_bytes))
            self._reserve.add_done_callback(self._note)

    def _note(self, task: asyncio.Task[DenoProcess]) -> None:
        """One that failed is tried again by the next who needs it."""
        if (task.cancelled() or task.exception() is not None) and self._reserve is task:
            self._reserve = None

    async def _spawn(self, memory_bytes: int) -> DenoProcess:
        process = DenoProcess(memory_bytes)
        self._live.add(process)
        try:
            await process.spawn(self._binary, self._folder)
            await process.ready()
        except OSError as error:
            self._drop(process)
            raise sandbox_lost(f"the deno process could not be started: {error}", innocent=True) from error
        except (ExecutorError, asyncio.CancelledError):
            self._drop(process)
            raise
        self.layers = process.layers
        return process

    async def blank(self, code: bytes) -> Reply:
        return await (self._lane if len(code) <= LARGE_CODE else self._large_lane).blank(code)

    def release(self, process: DenoProcess | None) -> None:
        self._places.release()
        if process is not None:
            self._drop(process)

    def _drop(self, process: DenoProcess) -> None:
        process.end()
        task = asyncio.get_running_loop().create_task(process.wait())
        task.add_done_callback(lambda _: self._live.discard(process))

    async def close(self) -> None:
        self._closing = True
        if self._reserve is not None:
            self._reserve.cancel()
            await asyncio.gather(self._reserve, return_exceptions=True)
        live = list(self._live)
        for process in live:
            process.end()
        await asyncio.gather(*(process.wait() for process in live), self._lane.close(), self._large_lane.close())
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
