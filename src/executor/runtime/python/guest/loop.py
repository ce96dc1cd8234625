"""The event loop. Waiting is a step: everything that can run has run, and the next answer comes from the host.

asyncio's own tasks, locks, queues and timeouts work on it unchanged. It may be entered again from code that is not
asynchronous (`asyncio.run` inside a function), since waiting keeps the stack.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
from asyncio import events, tasks
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from console import ERROR
from host import Ended, Host, milliseconds

# What is not available here, and the calls of a loop that would need it.
_LACKING = {
    "there is no network here": (
        "create_connection", "create_server", "create_datagram_endpoint", "create_unix_connection",
        "create_unix_server", "getaddrinfo", "getnameinfo", "sock_connect", "sock_recv", "sock_sendall",
    ),
    "there are no processes here": ("subprocess_exec", "subprocess_shell"),
    "there are no signals here": ("add_signal_handler", "remove_signal_handler"),
    "there are no files here": ("connect_read_pipe", "connect_write_pipe", "add_reader", "add_writer", "sendfile"),
}  # fmt: skip


class Deadlock(RuntimeError):
    """The code waits for something that nothing will bring about."""

    __module__ = "builtins"  # shown without a module


class Loop(asyncio.AbstractEventLoop):
    """`deliver` gives a call its answer. Of all timers the host gets only the next."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.deliver: Callable[[int, bool, str], None] = lambda seq, succeeded, text: None
        self._ready: deque[events.Handle] = deque()
        self._timers: list[events.TimerHandle] = []
        self._pending: dict[int, float] = {}  # timers of the host: when each is due
        self._on_error: Any = None
        self._new_task: Any = None

    # -- running -----------------------------------------------------------------------------------------------------

    def run_until_complete(self, future: Any) -> Any:
        if not asyncio.isfuture(future):
            future = self.create_task(future)
        outer = tasks._swap_current_task(self, None)  # type: ignore[attr-defined]
        try:
            while not future.done():
                self._turn()
        finally:
            tasks._swap_current_task(self, outer)  # type: ignore[attr-defined]
        return future.result()

    def _turn(self) -> None:
        if self._ready:
            for _ in range(len(self._ready)):
                if self._ready:
                    self._run(self._ready.popleft())
        else:
            self._wait()

    def _run(self, handle: events.Handle) -> None:
        if handle._cancelled:
            return
        if self._host.end is not None:
            raise Ended
        handle._run()

    def _wait(self) -> None:
        self._ask_for_timer()
        if self._host.is_idle:
            raise Deadlock("the code waits for something that never comes")
        answer = self._host.wait()
        due = self._pending.pop(answer.seq, None)
        if due is None:
            self.deliver(answer.seq, answer.succeeded, answer.text)
        self._fire(max(self.time(), due or 0.0))

    def _ask_for_timer(self) -> None:
        while self._timers and self._timers[0]._cancelled:
            heapq.heappop(self._timers)
        if self._timers and min(self._pending.values(), default=float("inf")) > self._timers[0]._when:
            when = self._timers[0]._when
            self._pending[self._host.propose_timer(milliseconds(when - self.time()))] = when

    def _fire(self, now: float) -> None:
        while self._timers and (self._timers[0]._cancelled or self._timers[0]._when <= now):
            handle = heapq.heappop(self._timers)
            if not handle._cancelled:
                self._ready.append(handle)

    # -- what asyncio asks of a loop ---------------------------------------------------------------------------------

    def time(self) -> float:
        return (self._host.now_ms - self._host.began_ms) / 1000

    def call_soon(self, callback: Any, *args: Any, context: contextvars.Context | None = None) -> events.Handle:
        handle = events.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(
        self, delay: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> events.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> events.TimerHandle:
        handle = events.TimerHandle(when, callback, args, self, context)
        if milliseconds(when - self.time()) < 1:
            self._ready.append(handle)
        else:
            heapq.heappush(self._timers, handle)
        return handle

    def _timer_handle_cancelled(self, handle: events.TimerHandle) -> None:
        pass

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Takes a call too, which is on its way already."""
        if not asyncio.iscoroutine(coro):
            if not hasattr(coro, "__await__"):
                raise TypeError(f"a coroutine was expected, got {coro!r}")
            coro = _await(coro)
        return (self._new_task or _new_task)(self, coro, **options)

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """There are no threads: it runs at once."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except StopIteration as error:
            future.set_exception(RuntimeError(f"{type(error).__name__} raised"))
        except Exception as error:  # noqa: BLE001 - it is for the code that awaits the future
            future.set_exception(error)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._on_error is None:
            self.default_exception_handler(context)
            return
        try:
            self._on_error(self, context)
        except Exception as error:  # noqa: BLE001 - of the code's own handler
            self.default_exception_handler({"message": "the exception handler failed", "exception": error})

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = f"{context.get('message', 'error')}: {type(error).__name__}: {error}" if error else context["message"]
        self._host.console.line(ERROR, told)

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        pass

    @property
    def has_ended(self) -> bool:
        return self._host.end is not None

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def set_exception_handler(self, handler: Any) -> None:
        self._on_error = handler

    def get_exception_handler(self) -> Any:
        return self._on_error

    def set_task_factory(self, factory: Any) -> None:
        self._new_task = factory

    def get_task_factory(self) -> Any:
        return self._new_task

    def cancel_tasks(self) -> None:
        """All that are left, as `asyncio.run` does it at its end."""
        left = list(asyncio.all_tasks(self))
        for task in left:
            task.cancel()
        if left:
            self.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    def _asyncgen_firstiter_hook(self, generator: Any) -> None:
        pass

    async def shutdown_asyncgens(self) -> None:
        pass

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        pass

    def run_forever(self) -> None:
        raise RuntimeError("the loop ends when the program has its result: await what you need")


def _new_task(loop: Loop, coro: Any, **options: Any) -> asyncio.Task[Any]:
    return asyncio.Task(coro, loop=loop, **options)


async def _await(awaitable: Any) -> Any:
    return await awaitable


class Runner:
    """`asyncio.Runner` over the one loop there is."""

    def __init__(self, **_: Any) -> None:
        pass

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, coro: Coroutine[Any, Any, Any], **_: Any) -> Any:
        return run(coro)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def close(self) -> None:
        pass


def run(main: Any, **_: Any) -> Any:
    """`asyncio.run`, also where a loop runs already."""
    loop = events._get_running_loop()
    if not hasattr(main, "__await__"):
        raise ValueError(f"a coroutine was expected, got {main!r}")
    is_first = not asyncio.all_tasks(loop)
    try:
        return loop.run_until_complete(main if asyncio.isfuture(main) else loop.create_task(main))
    finally:
        if is_first and not loop.has_ended:
            loop.cancel_tasks()


def adopt() -> None:
    """Makes asyncio use the one loop there is, wherever it would make another."""
    asyncio.run = asyncio.runners.run = run
    asyncio.Runner = asyncio.runners.Runner = Runner  # type: ignore[misc,assignment]
    for module in (asyncio, events):
        module.new_event_loop = module.get_event_loop = events._get_running_loop
        module.set_event_loop = lambda loop: None


def _refuse(why: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **options: Any) -> Any:
        raise NotImplementedError(why)

    return refuse


for _why, _names in _LACKING.items():
    for _name in _names:
        setattr(Loop, _name, _refuse(_why))
