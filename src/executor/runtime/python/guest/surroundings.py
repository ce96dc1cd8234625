"""What surrounds a program: sleeping, reading, warnings and logging, over the host instead of an operating system."""

from __future__ import annotations

import _csv
import builtins
import csv
import io
import logging
import os
import random
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.thread import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import loop
from console import WARN

if TYPE_CHECKING:
    from host import Host

_hosts: list[Host] = []
_MOST_FIELD = 2**31 - 1  # of a CSV, where programs say `sys.maxsize`
_seed = random.seed


def prepare() -> None:
    """When the image is built."""
    loop.adopt()
    time.sleep = lambda seconds: _hosts[-1].sleep(seconds)
    builtins.input = _no_input
    builtins.exit = builtins.quit = sys.exit
    sys.breakpointhook = lambda *_, **__: warnings.warn("breakpoint() does nothing here", stacklevel=2)
    time.tzset = lambda: None  # there is one time zone
    time.process_time = time.thread_time = time.perf_counter
    time.process_time_ns = time.thread_time_ns = time.perf_counter_ns
    csv.field_size_limit = lambda *most: _csv.field_size_limit(*(min(one, _MOST_FIELD) for one in most))
    warnings.showwarning = _show_warning
    logging.raiseExceptions = False
    ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]
    threading.Condition.wait = _wait  # type: ignore[method-assign]
    socket.socket.__init__ = _no_network  # type: ignore[method-assign]
    for name in ("create_connection", "create_server", "getaddrinfo", "gethostbyname", "socketpair"):
        setattr(socket, name, _no_network)
    for name in list(os.environ):
        del os.environ[name]


def withhold_seed() -> None:
    """When the image is complete. Before a program begins, `componentize-py` seeds `random` with 2,496 random bytes,
    which is dear and of no use: `enter` seeds it again."""
    random.seed = lambda *_: None


def enter(host: Host, seed: bytes) -> None:
    _hosts[:] = [host]
    sys.stdin, sys.stdout, sys.stderr = Input(), host.console.stdout, host.console.stderr
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    random.seed = _seed
    random.seed(seed)
    sys.argv[:] = ["main.py"]


def _submit(self: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
    """There are no threads: it runs at once."""
    future: Future[Any] = Future()
    try:
        future.set_result(work(*args, **options))
    except Exception as error:  # noqa: BLE001 - it is for the code that takes the result
        future.set_exception(error)
    return future


def _wait(self: threading.Condition, timeout: float | None = None) -> bool:
    """There are no threads that could notify: what waits, waits in vain."""
    if not self._is_owned():  # type: ignore[attr-defined]
        raise RuntimeError("cannot wait on un-acquired lock")
    if timeout is None:
        raise loop.Deadlock("the code waits for something that never comes")
    _hosts[-1].sleep(timeout)
    return False


def _no_network(*_: Any, **__: Any) -> Any:
    raise OSError("there is no network here")


def _no_input(prompt: object = "", /) -> str:
    raise EOFError("there is no one to answer input()")


class Input(io.TextIOBase):
    """`sys.stdin`."""

    def read(self, size: int | None = -1, /) -> str:
        return _no_input()

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        return _no_input()

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    @property
    def buffer(self) -> Input:
        return self


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    if _hosts:
        _hosts[-1].console.line(WARN, f"{filename}:{lineno}: {category.__name__}: {message}")
