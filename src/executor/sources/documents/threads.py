"""Documents are read in two threads of their own, so that nothing else ever waits behind one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from executor.errors import SourceUnreachable
from executor.network.addresses import display_url
from executor.sources.documents.cancellation import Abandoned, Stopped, never

__all__ = ["Abandoned", "Loading", "Stopped", "in_time", "never"]

THREADS = 2
T = TypeVar("T")


class Loading:
    """The threads are daemons: a process that ends does not wait for a document no one will use."""

    def __init__(self, threads: int = THREADS) -> None:
        self._free = asyncio.Semaphore(threads)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """One of the places, for work that has a process of its own."""
        async with self._free:
            yield

    async def run(self, work: Callable[[Stopped], T]) -> T:
        """`work` gets a function that says when everyone has left; it should look now and then, and give up."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        stop = threading.Event()

        def finish(result: T | None, error: BaseException | None) -> None:
            self._free.release()
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]

        def body() -> None:
            result, error = None, None
            try:
                result = work(stop.is_set)
            except BaseException as raised:  # noqa: BLE001 - whatever it is, it belongs to the one who waits
                error = raised
            with suppress(RuntimeError):  # the loop is closed: no one waits
                loop.call_soon_threadsafe(finish, result, error)

        threading.Thread(target=body, name="document", daemon=True).start()
        try:
            return await answer
        finally:
            stop.set()


@asynccontextmanager
async def in_time(seconds: float, location: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise SourceUnreachable(
            f"{display_url(location) or 'the document'} did not answer, or could not be read, "
            f"within {seconds:g} seconds",
            hint="check that the service is up and that its document is not too large, then try again",
            reason="timeout",
            sent=True,
        ) from error
