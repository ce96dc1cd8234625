"""The runs that are live on a sandbox host, on the daemon's side: who may speak for them, and what was said.

Answers and steps are numbered: step 0 is what came of the program, step n of answer n. A repeated step is
passed over, an answer that did not arrive is repeated; so a request may be sent again at any time.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from typing import Any

from executor.errors import SandboxLost, Unauthorized
from executor.runtime.protocol import Answer, Program, Step
from executor.runtime.remote import messages
from executor.runtime.worker.frames import STEP, Reply
from executor.runtime.worker.process import sandbox_lost
from executor.runtime.worker.steps import Reader, Violation, largest_reply

PREFIX, SUFFIX = "/internal/runs/", "/tool-call"
POLL_SECONDS = 20.0
_TOKEN = "exr_"  # noqa: S105 - what a token begins with
_SMALL_BODY = 64 * 1024
_MOST_STEPS = 10_000
_NOBODY = hashlib.sha256(secrets.token_bytes(32)).digest()


class LiveRun:
    """`id` is new for every sandbox, not the execution's: one that was given up loses its name."""

    def __init__(self, digest: bytes) -> None:
        self.id = f"run_{secrets.token_hex(16)}"
        self.digest = digest
        self.error: SandboxLost | None = None
        self._program: Program | None = None
        self._reader: Reader | None = None
        self._answers: dict[int, Answer] = {}
        self._steps: dict[int, asyncio.Future[Step]] = {}
        self._next_answer = self._next_step = 0  # the number of the next answer, and of the next step
        self._news = asyncio.Event()
        self.has_ended = False

    @property
    def largest_body(self) -> int:
        """A step's own bound, and as much again for how JSON writes it."""
        return 2 * largest_reply(self._program.limits) if self._program is not None else _SMALL_BODY

    # -- the engine's side ---------------------------------------------------------------------------------------------

    async def start(self, program: Program) -> Step:
        self._program, self._reader = program, Reader(program.limits)
        return await self._expect()

    async def answer(self, answer: Answer) -> Step:
        if self.has_ended:
            return Step()
        self._answers[self._next_answer] = answer
        return await self._expect()

    async def _expect(self) -> Step:
        if self.error is not None:
            raise self.error
        future: asyncio.Future[Step] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # a caller may have left
        self._steps[self._next_answer] = future
        self._next_answer += 1
        self._news.set()
        return await future

    def fail(self, error: SandboxLost) -> None:
        if self.error is not None:
            return
        self.error = error
        self._news.set()
        for future in self._steps.values():
            if not future.done():
                future.set_exception(error)

    # -- the host's side -----------------------------------------------------------------------------------------------

    async def exchange(self, body: dict[str, Any]) -> dict[str, Any]:
        """Takes what the host says, then waits for an answer to it; nothing after a while, so that it comes back."""
        try:
            self._take(body)
        except (Violation, KeyError, TypeError, ValueError, AttributeError) as error:
            self.fail(sandbox_lost(f"the sandbox host broke the protocol: {error}", innocent=False))
        if not self._has_news():
            self._news.clear()
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                return {}
        return self._tidings()

    def _take(self, body: dict[str, Any]) -> None:
        steps = body.get("steps", [])
        if not isinstance(steps, list) or len(steps) > _MOST_STEPS:
            raise Violation("no list of steps")
        for given in steps:
            self._take_step(given)
        if "lost" in body and self.error is None:
            why = body["lost"]
            self.fail(
                sandbox_lost(f"the sandbox host lost it: {str(why['message'])[:500]}", innocent=bool(why["innocent"]))
            )

    def _take_step(self, given: dict[str, Any]) -> None:
        number, cpu_us, output = given["number"], given["cpuUs"], given["output"]
        if not isinstance(number, int) or not isinstance(cpu_us, int) or not isinstance(output, str):
            raise Violation("a step of the wrong shape")
        if number < self._next_step:
            return
        if number > self._next_step or number not in self._steps or self._reader is None:
            raise Violation(f"received step {number} instead of {self._next_step}")
        step = self._reader.read(Reply(STEP, max(0, cpu_us), None, output.encode()))
        self._next_step += 1
        self._answers.pop(number, None)
        _resolve(self._steps.pop(number), step)
        if step.has_ended:
            self.has_ended = True
            while self._steps:
                _resolve(self._steps.popitem()[1], Step())

    def _has_news(self) -> bool:
        return self.error is not None or self.has_ended or any(number >= self._next_step for number in self._steps)

    def _tidings(self) -> dict[str, Any]:
        if self.error is not None or self.has_ended:
            return {"ended": True}
        if self._next_step == 0 and self._program is not None:
            return {"program": messages.encode_program(self._program)}
        due = sorted(number for number in self._answers if number >= self._next_step)
        return {"answers": [messages.encode_answer(number, self._answers[number]) for number in due]}


class LiveRuns:
    """By id. Tokens are kept as digests only, and are gone with their run."""

    def __init__(self) -> None:
        self._runs: dict[str, LiveRun] = {}

    def begin(self) -> tuple[LiveRun, str]:
        token = _TOKEN + secrets.token_urlsafe(32)
        run = LiveRun(_digest(token))
        self._runs[run.id] = run
        return run, token

    def end(self, run: LiveRun) -> None:
        self._runs.pop(run.id, None)
        run.fail(sandbox_lost("the sandbox is closed", innocent=True))

    def __len__(self) -> int:
        return len(self._runs)

    def authenticate(self, path: str, header: str | None) -> LiveRun:
        """The run that an address and a token both name. A wrong token and a missing run look the same."""
        name = path.removeprefix(PREFIX).removesuffix(SUFFIX) if path.endswith(SUFFIX) else ""
        run = self._runs.get(name)
        scheme, _, token = (header or "").partition(" ")
        presented = _digest(token.strip())
        known = run.digest if run is not None else _NOBODY
        if not hmac.compare_digest(presented, known) or scheme.lower() != "bearer" or run is None:
            raise Unauthorized("there is no live run with this token", hint="only a sandbox host has one, for one run")
        return run


def _resolve(future: asyncio.Future[Step], step: Step) -> None:
    if not future.done():
        future.set_result(step)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
