"""Where the code of modules runs: threads of its own, so that nothing else of the daemon waits for it or ends with it.

Coroutines run in a loop of their own: one that blocks holds up other coroutines of modules, and no one else. A thread
can't be killed; when its time is up an exception is raised in it, which ends a loop of Python, though neither a call
into C nor code that catches everything.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Generic, TypeVar

BLOCKED_SECONDS = 5.0
T = TypeVar("T")


class Overdue(BaseException):
    """Raised in a thread whose time is up; `except Exception` does not hold it up."""


class Late(Exception):
    """The work did not end in time."""


class Ended(Exception):
    """Code tried to end the process (`sys.exit`), or its own task."""


class Running(Generic[T]):
    """Work in a thread. `on_end` is called there when it has really ended, also if everyone has left."""

    def __init__(self, work: Callable[[Running[T]], T], on_end: Callable[[], None]) -> None:
        self.awaited: list[Future[Any]] = []
        # What was raised travels as a value: futures turn some errors into others, and a cancellation into our own.
        self._answer: Future[tuple[T, Exception | None]] = Future()
        self._work, self._on_end = work, on_end
        self._context = copy_context()
        self._thread = threading.Thread(target=self._run, name="module", daemon=True)
        self._thread.start()

    async def result(self, seconds: float) -> T:
        """Raises Late, or what the work raises; `Ended` in place of what would end the daemon."""
        try:
            async with asyncio.timeout(seconds):
                result, error = await asyncio.shield(asyncio.wrap_future(self._answer))
        except TimeoutError as late:
            raise Late from late
        finally:
            if not self._answer.done():
                self._give_up()
        if error is not None:
            raise error
        return result

    def _give_up(self) -> None:
        if not self.awaited:
            interrupt(self._thread)
        for awaited in self.awaited:
            awaited.cancel()

    def _run(self) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = self._context.run(self._work, self)
        except CancelledError:
            error = Ended("CancelledError")
        except Exception as raised:  # noqa: BLE001 - it belongs to the caller that waits
            error = raised
        except BaseException as raised:  # noqa: BLE001 - in the daemon's own task it would end the daemon
            error = Ended(f"{type(raised).__name__} {raised}".strip()[:2_000])
        finally:
            self._on_end()
        with suppress(InvalidStateError):  # no one waits now
            self._answer.set_result((result, error))


class Coroutines:
    """A loop in a thread, made when the first coroutine needs it, and again when one of them blocks it for ever."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def wait(self, result: Awaitable[T], running: Running[Any]) -> T:
        """From the thread of `running`: waits there for what a coroutine returns, or until its time is up."""
        loop = self._open()
        future = asyncio.run_coroutine_threadsafe(contain_exit(result), loop)
        running.awaited.append(future)
        try:
            return future.result()
        except BaseException:
            if not answers(loop):
                self._abandon(loop)
            raise

    def close(self) -> None:
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _open(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=serve, args=(self._loop,), name="module loop", daemon=True)
                self._thread.start()
            return self._loop

    def _abandon(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if self._loop is loop and self._thread is not None:
                interrupt(self._thread)
                self._loop = None


def serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        with suppress(Overdue):
            loop.run_forever()
    finally:
        loop.close()


def answers(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether anything else could still run in it."""
    turn = threading.Event()
    with suppress(RuntimeError):  # it is closed
        loop.call_soon_threadsafe(turn.set)
        return turn.wait(BLOCKED_SECONDS)
    return True


def interrupt(thread: threading.Thread) -> None:
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Overdue))


async def contain_exit(result: Awaitable[T]) -> T:
    """`sys.exit` in a task would end its loop."""
    try:
        return await result
    except (SystemExit, KeyboardInterrupt) as error:
        raise Ended(f"{type(error).__name__} {error}".strip()[:2_000]) from error
