"""One program in one place of a worker: steps out of frames, and the way to a place where it may continue."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from executor.model.execution import Limits
from executor.runtime.protocol import Answer, Program, Step
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Answered, Reply
from executor.runtime.worker.pool import WorkerPool
from executor.runtime.worker.process import Evicted, Place, sandbox_lost
from executor.runtime.worker.steps import Reader, Violation, largest_reply


class PlacedSandbox(ABC):
    """Answers may be given ahead; each gets its own reply, in order. The first step must have come back before."""

    def __init__(self, runtime: WorkerPool, place: Place) -> None:
        self._runtime, self._place = runtime, place
        self._program: Program | None = None
        self._reader: Reader | None = None
        self._ended = self._closed = False
        self._holds = True  # the place

    async def start(self, program: Program) -> Step:
        self._program = program
        if self._runtime.turns.is_known(program):
            await self._wait_as_hog(clean=True)
        try:
            return await self._first_step(program)
        except Evicted:
            self._runtime.turns.remember(program)
            await self._wait_as_hog(clean=False)
            return await self._first_step(program)

    async def _wait_as_hog(self, *, clean: bool) -> None:
        if self._closed:
            raise sandbox_lost("the sandbox is closed", innocent=True)
        self._holds = False
        self._runtime.release(self._place, clean=clean)
        place = await self._runtime.hog_place()
        if self._closed:
            self._runtime.release(place, clean=True)
            raise sandbox_lost("the sandbox is closed", innocent=True)
        self._place, self._holds = place, True
        place.is_settled = True

    @abstractmethod
    async def _first_step(self, program: Program) -> Step: ...

    def _expect(self, limits: Limits, advise: Callable[[str], str] = lambda message: "") -> None:
        """Of a program with these limits, in the place it has now."""
        self._reader = Reader(limits, advise)
        self._place.stream.largest = largest_reply(limits)
        self._runtime.watch(self._place, limits.cpu_ms)

    async def answer(self, answer: Answer) -> Step:
        return await self._step(self._request(self._encode(answer)))

    async def answer_all(self, answers: Sequence[Answer]) -> list[Step | Exception]:
        requests = [self._encode(answer) for answer in answers]
        if self._closed:
            raise sandbox_lost("the sandbox is closed", innocent=True)
        steps: list[Step | Exception] = []
        for coming in self._place.request_all(requests):
            try:
                steps.append(await self._step(coming))
            except Exception as error:  # noqa: BLE001 - each is raised by the caller, when it gets there
                steps.append(error)
        return steps

    def _encode(self, answer: Answer) -> bytes:
        if self._reader is None:
            raise ValueError("the sandbox has not been started")
        text = answer.value if answer.value is not None else answer.error
        if text is None:
            raise ValueError("an answer needs a value or an error")
        data = text.encode("utf-8", "replace")
        return frames.encode_answer(Answered(answer.clock_ms, answer.seq, answer.value is not None, data))

    async def _step(self, coming: asyncio.Future[bytes]) -> Step:
        """Of an answer that is on its way."""
        try:
            return self._read(self._decode(await coming))
        except Evicted:
            if self._program is not None:
                self._runtime.turns.remember(self._program)
            await self.close()
            raise

    async def _ask(self, frame: bytes) -> Reply:
        return self._decode(await self._request(frame))

    def _request(self, frame: bytes) -> asyncio.Future[bytes]:
        if self._closed:
            raise sandbox_lost("the sandbox is closed", innocent=True)
        if frame[frames.LENGTH.size] == frames.START:
            self._place.programs += 1
        return self._place.request(frame)

    def _decode(self, body: bytes) -> Reply:
        try:
            return frames.decode_reply(body)
        except (ValueError, frames.MALFORMED) as error:
            raise self._broken(error) from error

    def _read(self, reply: Reply) -> Step:
        try:
            if reply.kind != frames.STEP or self._reader is None:
                raise Violation("a reply of the wrong kind")
            step = self._reader.read(reply)
        except Violation as error:
            raise self._broken(error) from error
        self._ended = self._ended or step.has_ended
        return step

    def _broken(self, error: Exception) -> Exception:
        self._place.worker.broken(f"it broke the protocol: {error}", self._place)
        return sandbox_lost("the worker process broke the protocol", innocent=False)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._holds:
            clean = (self._ended and not self._place.waiting) or self._reader is None
            self._runtime.release(self._place, clean=clean)
