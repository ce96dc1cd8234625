"""One run on the sandbox host: gets a program from the daemon, runs it here, sends each step and takes the answers."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import orjson

from executor.errors import ExecutorError, SandboxLost
from executor.model.execution import Failure
from executor.runtime.protocol import Sandbox, Step
from executor.runtime.remote import messages
from executor.runtime.remote.live_runs import POLL_SECONDS, PREFIX, SUFFIX

_SILENCE_SECONDS = POLL_SECONDS + 10.0
_CONNECT_SECONDS = 5.0
PATIENCE_SECONDS = 20.0  # with one message; the daemon has long given the run up then
_FIRST_BACKOFF, _LAST_BACKOFF = 0.05, 2.0
_LARGEST_ANSWER = 128 << 20  # of the daemon, with the results of all calls that wait
_BATCH = 1 << 20  # characters of steps that are sent at once

Open = Callable[[str], Awaitable[Sandbox]]


class Dismissed(Exception):
    """The daemon no longer knows this run: whatever it did here counts for nothing."""


class Unreached(Exception):
    """The daemon can't be reached from here, though it asked for this run."""


class HostRun:
    """`open_sandbox` gives a sandbox for a language. Every message is repeated until the daemon has answered it."""

    def __init__(self, session: aiohttp.ClientSession, run: str, token: str, callback: str, open_sandbox: Open) -> None:
        self._session, self._open = session, open_sandbox
        self._url = f"{callback}{PREFIX}{run}{SUFFIX}"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    async def stay(self) -> None:
        try:
            await self._run()
        except Dismissed:
            return

    async def _run(self) -> None:
        tidings = await self._send({})
        sandbox: Sandbox | None = None
        try:
            while "program" not in tidings:
                tidings = await self._send({})
            program = messages.decode_program(tidings["program"])
            sandbox = await self._open(program.language)
            await self._drive(sandbox, await sandbox.start(program))
        except SandboxLost as error:
            await self._send({"lost": {"message": error.message, "innocent": bool(error.details.get("innocent"))}})
        except ExecutorError as error:
            step = Step(failure=Failure(error.code, error.message, error.hint))
            await self._send({"steps": [messages.encode_step(0, step)]})
        finally:
            if sandbox is not None:
                await sandbox.close()

    async def _drive(self, sandbox: Sandbox, first: Step) -> None:
        number, ended = 0, first.has_ended
        steps = [messages.encode_step(0, first)]
        while True:
            tidings = await self._send({"steps": steps})
            if ended:
                return
            steps = []
            for given in tidings.get("answers", []):
                of, answer = messages.decode_answer(given)
                if of != number + 1:
                    continue  # a repetition
                step = await sandbox.answer(answer)
                number, ended = of, ended or step.has_ended
                steps.append(messages.encode_step(number, step))
                if sum(len(one["output"]) for one in steps) > _BATCH:
                    break  # the rest comes again

    async def _send(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the daemon has to say to this. It may be out of reach for a while, or stopping."""
        body, backoff = orjson.dumps(message), _FIRST_BACKOFF
        last = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            try:
                tidings = await self._post(body)
            except (aiohttp.ClientError, OSError) as error:
                if asyncio.get_running_loop().time() > last:
                    raise Unreached(f"{type(error).__name__}: {error}") from error
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, _LAST_BACKOFF)
                continue
            if tidings.get("ended"):
                raise Dismissed
            return tidings

    async def _post(self, body: bytes) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENCE_SECONDS)
        async with self._session.post(
            self._url, data=io.BytesIO(body), headers=self._headers, timeout=timeout, allow_redirects=False
        ) as response:
            if response.status >= 500:
                raise aiohttp.ClientPayloadError(f"the daemon answered {response.status}")
            if response.status != 200:
                raise Dismissed
            return messages.loads(await whole(response))


async def whole(response: aiohttp.ClientResponse) -> bytes:
    """A daemon says no more at once than an execution may hold."""
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _LARGEST_ANSWER:
            raise Dismissed
    return b"".join(parts)
