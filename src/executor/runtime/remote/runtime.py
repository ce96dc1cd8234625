"""`RemoteRuntime`: reserves places on a sandbox host, and gives up those that it no longer hears of.

The request that reserves a place stays open for as long as the run lives: the host writes a line every few seconds.
When it breaks or falls silent the sandbox is lost, and so is the token of its run. A host that comes back later finds
no one to talk to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from executor.errors import RemoteRefused
from executor.runtime.protocol import Answer, Program, Step
from executor.runtime.remote import address
from executor.runtime.remote.live_runs import LiveRun, LiveRuns
from executor.runtime.worker.process import sandbox_lost

BEAT_SECONDS = 3.0
SILENCE_SECONDS = 4 * BEAT_SECONDS
CONNECT_SECONDS = 5.0
_FIRST_BACKOFF, _LAST_BACKOFF = 0.1, 3.0
_LARGEST_REFUSAL = 65536
_MOST_SAID = 1_000_000  # in the days that a run may take, a byte every few seconds
_BUSY = 503

logger = logging.getLogger(__name__)


class RemoteRuntime:
    """`callback_url` is the daemon's address as the host sees it."""

    languages: tuple[str, ...] = ("typescript", "python")

    def __init__(self, *, url: str, token: str, callback_url: str, runs: LiveRuns) -> None:
        self._url = address.check_url(url, "remote_url")
        self._callback_url = address.check_url(callback_url, "remote_callback_url")
        self._runs = runs
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}"}, timeout=timeout, connector=aiohttp.TCPConnector(limit=0)
        )
        self._open: set[RemoteSandbox] = set()
        self._closing = False

    async def open(self) -> RemoteSandbox:
        """Waits for the host too: an execution whose host is away continues when it is back, or elsewhere."""
        backoff, reported = _FIRST_BACKOFF, False
        while True:
            if self._closing:
                raise sandbox_lost("the runtime is closed", innocent=True)
            try:
                return await self._reserve()
            except (aiohttp.ClientError, OSError) as error:  # a timeout is an OSError
                if not reported:
                    logger.warning("the sandbox host %s does not answer: %s", self._url, error)
                    reported = True
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, _LAST_BACKOFF)

    async def _reserve(self) -> RemoteSandbox:
        run, token = self._runs.begin()
        try:
            response = await self._session.post(
                f"{self._url}/runs",
                json={"run": run.id, "token": token, "callback": self._callback_url},
                allow_redirects=False,
            )
            try:
                await self._wait_for_place(response)
            except BaseException:
                response.close()
                raise
        except BaseException:
            self._runs.end(run)
            raise
        sandbox = RemoteSandbox(self, run, response)
        self._open.add(sandbox)
        return sandbox

    async def _wait_for_place(self, response: aiohttp.ClientResponse) -> None:
        """The host writes empty lines until it has a free place, then one that says so."""
        if response.status == _BUSY:
            raise aiohttp.ClientPayloadError("the host is stopping")
        if response.status != 200:
            said = (await response.content.read(_LARGEST_REFUSAL)).decode("utf-8", "replace")
            hint = "check remote_url, and that remote_token_file contains the token of that host"
            raise RemoteRefused(f"the sandbox host refused with {response.status}: {said[:200]}", hint=hint)
        async for line in lines_of(response):
            if line == b"ready\n":
                return
        raise aiohttp.ClientPayloadError("the host ended the run before it began")

    def release(self, sandbox: RemoteSandbox) -> None:
        self._open.discard(sandbox)
        self._runs.end(sandbox.run)

    async def close(self) -> None:
        self._closing = True
        await asyncio.gather(*(sandbox.close() for sandbox in list(self._open)))
        await self._session.close()


async def lines_of(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """What the host says beside its run: a line now and then. One that says more is not listened to."""
    size = 0
    try:
        while line := await response.content.readline():
            size += len(line)
            if size > _MOST_SAID:
                raise aiohttp.ClientPayloadError(f"it sent more than {_MOST_SAID:,} bytes beyond its run")
            yield line
    except HttpProcessingError as error:
        raise aiohttp.ClientPayloadError("it sent a line without an end") from error


class RemoteSandbox:
    def __init__(self, runtime: RemoteRuntime, run: LiveRun, response: aiohttp.ClientResponse) -> None:
        self.run = run
        self._runtime = runtime
        self._response = response
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        """Until the host ends the run, or stops answering."""
        why = "it ended the run"
        try:
            async for line in lines_of(self._response):
                if line == b"unreached\n":
                    why = "it can't reach this daemon; check remote_callback_url"
        except (aiohttp.ClientError, OSError) as error:
            why = f"it stopped answering: {type(error).__name__}"
        if not self.run.has_ended:
            logger.warning("the sandbox host is lost: %s", why, extra={"run": self.run.id})
        self.run.fail(sandbox_lost(f"the sandbox host is lost: {why}", innocent=True))

    async def start(self, program: Program) -> Step:
        return await self.run.start(program)

    async def answer(self, answer: Answer) -> Step:
        return await self.run.answer(answer)

    async def close(self) -> None:
        """The token is gone at once; the host notices the broken connection."""
        self._runtime.release(self)
        self._listening.cancel()
        self._response.close()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self._listening, return_exceptions=True)
