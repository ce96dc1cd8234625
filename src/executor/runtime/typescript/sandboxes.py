"""A TypeScript program in its place: started as it is if that is JavaScript, else once its types are taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.runtime.placed import PlacedSandbox
from executor.runtime.sandbox import Program, Step
from executor.runtime.typescript import frames
from executor.runtime.typescript.frames import Start
from executor.runtime.typescript.hints import advice
from executor.runtime.typescript.lane import LARGE_CODE
from executor.runtime.typescript.plain import plain
from executor.runtime.typescript.process import Place
from executor.runtime.typescript.steps import failure_of

if TYPE_CHECKING:
    from executor.runtime.typescript.runtime import TypeScriptRuntime


class TypeScriptSandbox(PlacedSandbox):
    def __init__(self, runtime: TypeScriptRuntime, place: Place) -> None:
        super().__init__(runtime, place)
        self._typescript = runtime

    async def _first_step(self, program: Program) -> Step:
        limits = program.limits
        self._expect(limits, advice)
        bounds = (limits.memory_bytes, limits.cpu_ms, limits.calls, limits.output_bytes, limits.log_bytes)
        code = program.code.encode("utf-8", "replace")
        kind, source = frames.START, plain(code) if len(code) <= LARGE_CODE else None
        if source is not None:
            start = Start(program.seed, program.clock_ms, *bounds, True, source)
            reply = await self._ask(frames.encode_start(start))
            if reply.kind != frames.TYPED:
                return self._read(reply)
            kind = frames.RUN
        blanked = await self._typescript.blank(code)
        if blanked.fault is not None:
            self._ended = True
            return Step(failure=failure_of(blanked.fault))
        start = Start(program.seed, program.clock_ms, *bounds, False, frames.decode_source(blanked.output))
        return self._read(await self._ask(frames.encode_start(start, kind)))
